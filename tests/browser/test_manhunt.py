"""The pages of manhunt in a real browser: a search goes on before one's eyes, and a mail's page answers it.

Needs the Python package playwright, and Chromium as Debian installs it (apt-get install chromium-headless-shell).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples_shared.testing.commandline import CommandLine
from examples_shared.testing.serving import serving
from tests.browser.studio.opened import barriers, sideways

MODULE = "manhunt"
PICTURES = "MANHUNT_PICTURES"
"""A folder for pictures of the pages, for people to look at."""
PATIENCE_MS = 45_000
WIDTHS = (1100, 420)
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>"
Page = Any


@dataclass(frozen=True)
class Demo:
    """`demo`: pages and a worker in one process, on three contacts and one with short waits and a nasty name."""

    url: str
    log: Path
    contact: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("manhunt")
    run = CommandLine(MODULE, f"local:{folder}/manhunt.db")
    run("sample")
    contact = run("contact", "add", f"Ada {NASTY}").out.strip()
    run("method", "add", contact, "email", "ada@example.org", "--order", "1")
    run("method", "add", contact, "sms", "+15551234567", "--order", "2", "--wait", "2")
    run("method", "add", contact, "voice", "+15551234567", "--order", "3", "--wait", "3600")
    with serving(MODULE, run.target, folder / "log", "demo") as url:
        yield Demo(url, folder / "log", contact)


@pytest.fixture
def page(browser: Any, demo: Demo) -> Iterator[Page]:
    """A page that must not say anything on the console, nor load anything from elsewhere."""
    opened = browser.new_page(viewport={"width": 1100, "height": 860}, base_url=demo.url)
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: said.append("a dialog"))
    opened.on("request", lambda request: asked.append(request.url))
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()
    assert [text for text in said if "Failed to load resource" not in text] == []  # a refusal's status
    assert all(address.startswith(demo.url) for address in asked)


def check_fits(page: Page, width: int) -> None:
    """A window that is made as wide shows the whole of the page's width."""
    page.set_viewport_size({"width": width, "height": 860})
    assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, width)


def picture(page: Page, name: str) -> None:
    if PICTURES in os.environ:
        page.screenshot(path=f"{os.environ[PICTURES]}/{name}.png")


def begin_search(page: Page, demo: Demo, about: str) -> None:
    page.goto(f"/contacts/{demo.contact}")
    page.get_by_label("What is it about?").fill(about)
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Begin the search").click()
    # Set by the script's window alone: a reload would lose it.
    page.evaluate("window.notReloaded = true")


def is_same_page(page: Page) -> bool:
    return bool(page.evaluate("window.notReloaded === true"))


def test_attempts_and_the_end_appear_without_reload(page: Page, demo: Demo) -> None:
    begin_search(page, demo, f"the lighthouse is dark {NASTY}")
    assert NASTY in page.locator("h1").inner_text()
    picture(page, "search-opened")
    page.wait_for_selector("[data-step='0'].sent")
    page.wait_for_selector("[data-step='1'].sent")
    assert re.fullmatch(r"in (60|5\d) min \d+ s", page.locator("[data-step='2'].due time").inner_text())
    picture(page, "search-going-on")

    links = re.findall(rf"sms to \S+: .*dark.*\n\s+answer: {demo.url}(/answer/\S+)", demo.log.read_text())
    with page.context.browser.new_page(base_url=demo.url) as mail:
        mail.goto(links[-1])
        picture(mail, "answer")
        mail.get_by_label("A word, if you like").fill("on my way")
        mail.get_by_role("button", name="I am on it").click()
        mail.wait_for_selector("text=Nobody else will be called")
        picture(mail, "answered")

    page.wait_for_selector("[data-part='end'].answered")
    assert "link: on my way" in page.locator("[data-part='end']").inner_text()
    assert page.locator("[data-part='title'] .badge").inner_text() == "answered"
    assert page.locator("[data-step='1'].answered").count() == 1
    assert "not tried" in page.locator("[data-step='2']").inner_text()
    assert page.locator("form.cancel").count() == 0
    assert is_same_page(page)
    picture(page, "search-answered")


def test_a_search_is_called_off_on_its_page(page: Page, demo: Demo) -> None:
    begin_search(page, demo, "a drill")
    page.wait_for_selector("[data-step='0'].sent")
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("Why").fill("it was a drill")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Call it off").click()
    end = page.locator("[data-part='end']").inner_text()
    assert "Cancelled by Grace" in end
    assert "it was a drill" in end


def test_what_is_typed_is_not_lost_while_the_search_goes_on(page: Page, demo: Demo) -> None:
    begin_search(page, demo, "something else")
    page.get_by_label("Your name").fill("Grace")
    page.wait_for_selector("[data-step='1'].sent")
    assert page.get_by_label("Your name").input_value() == "Grace"
    assert is_same_page(page)


def test_from_the_contacts_to_a_search(page: Page, demo: Demo) -> None:
    begin_search(page, demo, "something")
    page.goto("/")
    assert page.locator(".tile").count() == 4
    picture(page, "contacts")
    with page.expect_navigation(wait_until="load"):
        page.locator(".tile", has_text="Ada <script>").click()
    assert page.locator("h1").inner_text() == f"Ada {NASTY}"
    picture(page, "contact")
    with page.expect_navigation(wait_until="load"):
        page.locator(".rows a").first.click()
    assert page.locator("[data-requests='1']").count() == 1


def test_nothing_is_wider_than_the_window(page: Page, demo: Demo) -> None:
    begin_search(page, demo, "x" * 300)
    for path in (page.url, f"{page.url}/plan", "/", f"/contacts/{demo.contact}", f"/contacts/{demo.contact}/searches"):
        page.goto(path)
        for width in WIDTHS:
            check_fits(page, width)
            picture(page, f"width-{width}-{len(path)}")


# --- incidents --------------------------------------------------------------------------------------------------------
def test_from_a_new_policy_to_a_resolved_incident_by_keyboard_and_mouse(page: Page, demo: Demo) -> None:
    page.goto("/rotas")
    page.get_by_label("Name").fill("Weekends")
    page.locator("[name=add-1]").fill("Grace Hopper")
    page.get_by_label("A turn").fill("1d")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Add").press("Enter")
    assert page.locator(".day").count() == 28
    assert page.locator(".today").inner_text().endswith("Grace Hopper")
    picture(page, "rota")

    page.goto("/policies/new")
    page.get_by_label("Name").fill("The lights are dim")
    assert page.locator("#choices option").count() == 6, "four contacts and two rotas are offered"
    page.locator("[name=add-0-1]").fill("Weekends")
    page.locator("[name=add-1-1]").fill(f"Ada {NASTY}")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Save").click()
    picture(page, "policy")

    page.goto("/incidents")
    page.get_by_label("What is wrong?").fill(f"the lamp flickers {NASTY}")
    page.get_by_label("Policy").fill("The lights are dim")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Hunt for somebody").click()
    page.evaluate("window.notReloaded = true")
    page.wait_for_selector("text=2 of 4 methods tried")
    assert "on call in Weekends" in page.locator("[data-part='searches']").inner_text()
    picture(page, "incident-hunting")

    incident = page.url
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("For 30m, 8h").fill("a while")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Snooze").click()
    for _ in range(2):  # the script looks again, and takes nothing away
        page.wait_for_event("requestfinished", lambda request: request.url == f"{incident}?live=1")
    assert "'a while' is not a length of time" in page.get_by_role("alert").inner_text()
    assert [page.get_by_label(label).input_value() for label in ("Your name", "For 30m, 8h")] == ["Grace", "a while"]
    picture(page, "incident-refused")
    page.goto(incident)
    page.evaluate("window.notReloaded = true")

    mail = re.findall(rf"sms to \S+: .*flickers.*\n\s+answer: {demo.url}(/answer/\S+)", demo.log.read_text())[-1]
    with page.context.browser.new_page(base_url=demo.url) as phone:
        phone.goto(mail)
        phone.get_by_role("button", name="I am on it").click()
        phone.wait_for_selector("text=Nobody else will be called")
    page.wait_for_selector("[data-reaction='acknowledged']")
    assert page.locator("[data-part='title'] .badge").inner_text() == "acknowledged"
    assert is_same_page(page)

    page.get_by_label("Your name").fill("Grace")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Resolve").click()
    assert "Resolved by Grace" in page.locator("[data-part='title']").inner_text()
    assert page.locator("[data-part='actions']").count() == 0
    picture(page, "incident-resolved")


def test_two_tabs_of_one_policy(page: Page, demo: Demo) -> None:
    """The later save is refused in the page, with what was changed and what was typed; saved again, both are there."""
    page.goto("/policies/new")
    page.get_by_label("Name").fill("Tabs")
    page.locator("[name=add-0-1]").fill("Grace Hopper")
    page.locator("[name=add-0-2]").fill("Ada Lovelace")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Save").click()
    with page.context.browser.new_page(base_url=demo.url) as other:
        other.goto(page.url)
        page.get_by_label("Ada Lovelace").uncheck()
        with page.expect_navigation(wait_until="load"):
            page.get_by_role("button", name="Save").click()
        other.get_by_label("How often all begins again").fill("3")
        with other.expect_navigation(wait_until="load"):
            other.get_by_role("button", name="Save").click()
        assert "stage 1 is 'Grace Hopper', was 'Grace Hopper, Ada Lovelace'" in other.get_by_role("alert").inner_text()
        assert other.get_by_label("How often all begins again").input_value() == "3"
        assert other.get_by_label("Ada Lovelace").count() == 0
        picture(other, "policy-changed-meanwhile")
        with other.expect_navigation(wait_until="load"):
            other.get_by_role("button", name="Save").click()
        assert other.get_by_role("alert").count() == 0
    page.reload()
    assert page.get_by_label("How often all begins again").input_value() == "3"
    assert page.locator("[name=stage-0]").count() == 1


def test_a_contact_gets_a_method_and_quiet_hours(page: Page, demo: Demo) -> None:
    page.goto("/")
    page.get_by_label("Add a contact").fill("Barbara Liskov")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Add").click()
    page.locator("summary", has_text="Add a method").press("Enter")
    page.get_by_label("To", exact=True).first.fill("barbara@example.org")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Add", exact=True).click()
    assert "barbara@example.org" in page.locator("details.method").inner_text()
    page.locator("summary", has_text="Change").click()
    page.get_by_label("From", exact=True).fill("22:00")
    page.get_by_placeholder("07:00").fill("07:00")
    with page.expect_navigation(wait_until="load"):
        page.locator("form[action$='quiet-hours'] button").click()
    assert page.get_by_text("22:00 to 07:00, UTC").count() == 1
    page.locator("summary", has_text="Rename or delete").click()
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("button", name="Delete this contact").click()
    assert page.locator(".tile", has_text="Barbara").count() == 0


def test_the_new_pages_are_no_wider_than_the_window(page: Page, demo: Demo) -> None:
    paths = ["/incidents", "/policies", "/policies/new", "/rotas", "/table"]
    for listed in ("/rotas", "/policies"):
        page.goto(listed)
        paths.append(page.locator(".tile").first.get_attribute("href"))
    for path in paths:
        page.goto(path)
        for width in WIDTHS:
            check_fits(page, width)
            picture(page, f"new-{width}{path[:12].replace('/', '-')}")
        assert sideways(page) + barriers(page) == [], path
