"""The goals application in a real browser: from a team to a goal to a person and back, and through the list.

Needs the Python package playwright, and Chromium as Debian installs it (apt-get install chromium-headless-shell).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from examples_shared.testing.serving import serving
from goals import Service, records
from goals.generated import generate
from goals.model import EVERYBODY, Organisation, Team, TeamOrganisation
from singletable import connect
from singletable.graph import Graph

GOALS = 45
Page = Any


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The application on 45 goals with ten edges each; some have subscribers."""
    folder = tmp_path_factory.mktemp("goals")
    target = f"local:{folder}/goals.db"
    with connect(target) as db:
        db.create_table(records)
        for part in generate(GOALS):
            Graph(db).load(part.nodes, part.edges)
        app = Service(db)
        app.create(Organisation(id=EVERYBODY, name="Everybody"))
        Graph(db).link(TeamOrganisation(source=Team.by_id("T0"), target=Organisation.by_id(EVERYBODY), name="Team 0"))
        for number in range(30):
            app.subscribe("G000000", f"U{number}")
    with serving("goals", target, folder / "log", "serve", "--insecure-user", "U0") as address:
        yield address


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Page]:
    """A page that must not say anything on the console, nor load anything from elsewhere."""
    opened = browser.new_page(viewport={"width": 1180, "height": 900}, base_url=url)
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    yield opened
    opened.close()
    assert said == []
    assert all(address.startswith(url) for address in asked)


def round_trips(page: Page) -> int:
    return int(page.locator("[data-round-trips]").get_attribute("data-round-trips"))


def titles(page: Page) -> list[str]:
    found: list[str] = page.locator("article h3").all_inner_texts()
    return found


def follow(page: Page, link: Any) -> None:
    """Click, and wait until the next page is there whole."""
    with page.expect_navigation(wait_until="load"):
        link.click()


def test_from_a_team_to_a_goal_to_a_person_and_back(page: Page) -> None:
    page.goto("/")
    follow(page, page.get_by_role("link", name="Team 0"))
    assert page.title().startswith("Team 0")
    assert round_trips(page) == 4
    card = page.locator("article").first
    assert card.locator("progress").count() == 4
    assert card.locator(".avatar").count() >= 2 + 3 + 3
    title = card.locator("h3").inner_text()

    follow(page, card.locator("h3 a"))
    assert page.locator("h1").inner_text() == title
    assert round_trips(page) == 3
    lead = page.locator("aside .person").first
    name = lead.locator(".name").inner_text()

    follow(page, lead)
    assert page.locator("h1").inner_text() == name
    assert round_trips(page) == 3
    follow(page, page.get_by_role("link", name="Leads", exact=True))
    assert title in titles(page)

    page.go_back()
    page.go_back()
    assert page.locator("h1").inner_text() == title
    page.go_back()
    assert page.locator("h1").inner_text() == "Team 0"
    follow(page, page.locator(".brand"))
    assert page.locator("h1").inner_text() == "Teams"


def test_through_the_pages_of_a_list(page: Page) -> None:
    page.goto("/teams/T0")
    first = titles(page)
    follow(page, page.get_by_role("link", name="More goals"))
    second = titles(page)
    follow(page, page.get_by_role("link", name="More goals"))
    third = titles(page)
    assert (len(first), len(second), len(third)) == (20, 20, 5)
    assert len({*first, *second, *third}) == GOALS
    assert page.get_by_role("link", name="More goals").count() == 0
    page.go_back()
    assert titles(page) == second
    follow(page, page.get_by_role("link", name="First page"))
    assert titles(page) == first


def test_subscribers_by_pages(page: Page) -> None:
    page.goto("/goals/G000000")
    follow(page, page.get_by_role("link", name="Subscribers"))
    seen: list[str] = page.locator("#subscribers .name").all_inner_texts()
    while page.get_by_role("link", name="More subscribers").count():
        follow(page, page.get_by_role("link", name="More subscribers"))
        assert re.search(r"after=", page.url)
        assert round_trips(page) == 2
        seen += page.locator("#subscribers .name").all_inner_texts()
    assert sorted(seen) == sorted(f"User {number}" for number in range(30))


def test_finding_what_is_there_and_what_is_not(page: Page) -> None:
    page.goto("/")
    page.get_by_label("What to find").select_option("users")
    page.get_by_label("Its id").fill("U7")
    follow(page, page.get_by_role("button", name="Go"))
    assert page.locator("h1").inner_text() == "User 7"
    answer = page.request.get("/users/nobody")
    assert answer.status == 404
    page.set_content(answer.text())
    assert page.get_by_role("link", name="All teams").count() == 1


def test_nothing_is_wider_than_the_window(page: Page) -> None:
    for path in ("/", "/teams/T0", "/users/U0", "/goals/G000000"):
        page.goto(path)
        for width in (1180, 420):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
