"""The pages of organisations in a real browser: from signing in and inviting to asking who may, and the trail.

Needs the Python package playwright, and Chromium as Debian installs it (apt-get install chromium-headless-shell).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.organisations.tests.files import FOLDER
from examples_shared.testing.serving import serving
from organisations import Service, organisations
from organisations.github_file import read
from organisations.groups import Group
from organisations.import_github import import_file
from organisations.principal import SessionTokens
from singletable import Database, connect
from tests.browser.studio.opened import barriers, sideways

PICTURES = "ORGANISATIONS_PICTURES"
"""A folder for pictures of the pages, for people to look at."""
PATIENCE_MS = 45_000
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>"
SECRET = "a secret of the tests, long enough to sign"
FILE = FOLDER / "kubernetes.yaml"
Page = Any


@dataclass(frozen=True)
class Served:
    """The application over a data file, with an organisation to look at."""

    url: str
    org: str

    def token(self, email: str) -> str:
        return SessionTokens([SECRET]).issue(email)


def fill(db: Database) -> str:
    app = Service(db)
    for name in ("ada", "grace", "linus"):
        app.put_user(f"{name}@example.org", first_name=name.title())
    org = app.create_organisation(f"Acme {NASTY}", owner="ada@example.org").organisation_id
    app.put_service(org, "api", f"API {NASTY}")
    app.invite(org, "grace@example.org", [Group("pilots", "api")])
    app.accept(org, "grace@example.org")
    return org


def import_big(db: Database) -> str:
    import_file(db, read(FILE.read_text(), FILE.stem), datetime.now(timezone.utc), lambda done, total: None)
    return FILE.stem


@contextmanager
def serving_what(fill: Callable[[Database], str], folder: Path, *options: str) -> Generator[Served, None, None]:
    target = f"local:{folder}/orgs.db"
    with connect(target) as db:
        db.create_table(organisations)
        org = fill(db)
    with serving("organisations", target, folder / "log", "serve", "--secret", SECRET, *options) as url:
        yield Served(url, org)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`serve` with its worker, and a small organisation."""
    with serving_what(fill, tmp_path_factory.mktemp("organisations")) as made:
        yield made


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The biggest of the real organisations; without a worker, who would go through all of its changes."""
    if not FILE.exists():
        pytest.skip("the folder of real organisation files is not here")
    with serving_what(import_big, tmp_path_factory.mktemp("kubernetes"), "--no-work") as made:
        yield made


Open = Callable[[Served], Page]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Pages of profiles of their own, which must not say anything on the console, nor load anything from elsewhere."""
    said: list[str] = []
    foreign: list[str] = []
    opened: list[Any] = []

    def new(site: Served) -> Page:
        page = browser.new_page(viewport={"width": 1200, "height": 900}, base_url=site.url)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append("a dialog"))
        page.on("request", lambda request: foreign.extend([] if request.url.startswith(site.url) else [request.url]))
        page.set_default_timeout(PATIENCE_MS)
        opened.append(page)
        return page

    yield new
    for page in opened:
        page.close()
    assert [text for text in said if "Failed to load resource" not in text] == []
    assert foreign == []


def sign_in(page: Page, token: str) -> None:
    page.goto("/")
    page.get_by_label("Token").fill(token)
    press(page, "Sign in")


def press(page: Page, name: str) -> None:
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name=name, exact=True).click()


def picture(page: Page, name: str) -> None:
    if PICTURES in os.environ:
        page.screenshot(path=f"{os.environ[PICTURES]}/{name}.png", full_page=True)


def test_from_an_invitation_to_who_may_and_the_trail(open_page: Open, served: Served) -> None:
    ada, linus = open_page(served), open_page(served)
    sign_in(ada, served.token("ada@example.org"))
    picture(ada, "start")
    with ada.expect_navigation(wait_until="load"):
        ada.locator(".tile", has_text="Acme").click()
    assert NASTY in ada.locator("h1").inner_text()
    picture(ada, "people")
    ada.get_by_role("link", name="Invitations").click()
    ada.get_by_label("Address").fill("linus@example.org")
    ada.get_by_label("Group to offer").fill(f"crew {NASTY}")
    press(ada, "Invite")
    assert "linus@example.org" in ada.locator(".invitation").inner_text()

    sign_in(linus, served.token("linus@example.org"))
    assert "ada@example.org invited you" in linus.locator(".invitation").inner_text()
    picture(linus, "invited")
    press(linus, "Accept")
    assert linus.get_by_role("link", name="Trail").count() == 0
    assert linus.get_by_role("link", name="Invitations").count() == 0

    ada.goto(f"/o/{served.org}/person?who=linus@example.org")
    ada.get_by_label("Service").select_option("api")
    ada.get_by_label("Group").fill("pilots")
    press(ada, "Give")
    assert "by ada@example.org" in ada.locator("table").inner_text()
    picture(ada, "person")
    ada.goto(f"/o/{served.org}/who-may?service=api")
    assert ada.locator(".people li").count() == 2
    picture(ada, "who-may")

    linus.get_by_title("Your groups here").click()
    assert "pilots" in linus.locator("table").inner_text()
    linus.get_by_role("link", name="May …?").click()
    linus.get_by_placeholder("an address").fill("linus@example.org")
    linus.get_by_placeholder("none: the organisation").fill("api")
    press(linus, "Ask")
    assert linus.locator("[data-answer='yes']").count() == 1
    assert "given by ada@example.org" in linus.locator(".answer").inner_text()
    picture(linus, "may")
    ada.goto(f"/o/{served.org}/person?who=linus@example.org")
    press(ada, f"Take away pilots of API {NASTY}")
    linus.reload()
    assert linus.locator("[data-answer='no']").count() == 1

    ada.goto(f"/o/{served.org}/trail")
    until = time.monotonic() + 30
    while "changed groups" not in ada.locator("main").inner_text() and time.monotonic() < until:
        ada.reload()
    trail = ada.locator(".trail").inner_text()
    assert "ada@example.org invited: linus@example.org" in trail
    assert f"+ crew {NASTY}" in trail
    picture(ada, "trail")


def test_a_refusal_says_why_and_members_are_not_owners(open_page: Open, served: Served) -> None:
    grace = open_page(served)
    sign_in(grace, served.token("grace@example.org"))
    grace.goto(f"/o/{served.org}")
    assert grace.get_by_role("button", name="Delete the organisation").count() == 0
    assert grace.goto(f"/o/{served.org}/trail").status == 403
    assert "owners and admins see what happened" in grace.locator("[role=alert]").inner_text()
    picture(grace, "refused")
    assert grace.goto("/o/nowhere").status == 404
    grace.goto("/")
    press(grace, "Sign out")
    assert grace.goto(f"/o/{served.org}").status == 401


def test_a_form_of_another_site_is_refused(served: Served) -> None:
    cookies = {"organisations": served.token("ada@example.org")}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = httpx.post(f"{served.url}/o/{served.org}/leave", cookies=cookies, headers=headers)
        assert answer.status_code == 403
    page = httpx.get(f"{served.url}/", cookies=cookies)
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert httpx.get(f"{served.url}/users/ada@example.org", cookies=cookies).status_code == 401


def test_an_organisation_is_deleted_before_ones_eyes(open_page: Open, served: Served) -> None:
    ada = open_page(served)
    sign_in(ada, served.token("ada@example.org"))
    ada.get_by_label("Its name").fill("Short-lived")
    press(ada, "Create")
    ada.get_by_label("Type its name").fill("Wrong")
    press(ada, "Delete the organisation")
    assert "type its name as it is" in ada.locator("[role=alert]").inner_text()
    ada.go_back()
    ada.get_by_label("Type its name").fill("Short-lived")
    press(ada, "Delete the organisation")
    ada.wait_for_selector("[data-finished='yes']")
    picture(ada, "deleted")
    ada.goto("/")
    assert "Short-lived" not in ada.locator("main").inner_text()


def test_1276_people_are_a_matrix_that_can_be_read(open_page: Open, kubernetes: Served) -> None:
    page = open_page(kubernetes)
    sign_in(page, kubernetes.token("thockin"))
    page.goto("/o/kubernetes")
    assert page.locator("tbody tr").count() == 40
    assert float(page.locator("[data-read-units]").get_attribute("data-read-units")) < 30
    picture(page, "matrix")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("link", name="More").click()
    assert page.locator("tbody tr").count() == 40
    page.goto("/o/kubernetes")
    page.get_by_label("Addresses that begin with").fill("thock")
    press(page, "Find")
    (name,) = page.locator("tbody th").all_inner_texts()
    assert name.split()[0] == "thockin"
    page.goto("/o/kubernetes/person?who=thockin")
    picture(page, "thockin")
    page.goto("/o/kubernetes/services")
    picture(page, "services")
    with page.expect_navigation(wait_until="load"):
        page.locator(".tile", has_text=re.compile("^test-infra")).click()
    assert page.locator(".people li").count() > 1
    picture(page, "test-infra")


def test_nothing_is_wider_than_the_window(open_page: Open, request: pytest.FixtureRequest) -> None:
    site: Served = request.getfixturevalue("kubernetes" if FILE.exists() else "served")
    who = "thockin" if FILE.exists() else "ada@example.org"
    page = open_page(site)
    sign_in(page, site.token(who))
    for path in ("", "/services", "/who-may", "/may", f"/person?who={who}", "/invitations", "/trail"):
        page.goto(f"/o/{site.org}{path}")
        for width in (1200, 390):
            page.set_viewport_size({"width": width, "height": 860})
            picture(page, f"width-{width}{re.sub('[^a-z]', '-', path)}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
        assert sideways(page) + barriers(page) == [], path


def test_the_keyboard_is_enough(open_page: Open, served: Served) -> None:
    page = open_page(served)
    sign_in(page, served.token("ada@example.org"))
    page.goto(f"/o/{served.org}/may")
    page.get_by_placeholder("an address").focus()
    page.keyboard.type("grace@example.org")
    page.keyboard.press("Tab")
    page.keyboard.type("api")
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press("Enter")
    assert page.locator("[data-answer='yes']").count() == 1
