"""Graph, documents and work in a real browser: by keys, at each width, for everybody, on the applications' own data."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from examples.manhunt.tests.support import Clock, Outbox, make_world
from goals import Service as Goals
from goals.model import Goal, GoalMembership, Role, User, records
from goals.sample import SINCE, load_sample
from manhunt import Service as Manhunt, manhunt
from manhunt.model import Kind, tasks
from projects.model import rename
from projects.service import Service as Projects
from singletable import Database, connect
from singletable.documents import LocalBlobs
from singletable.graph import Graph
from tests.browser.studio.opened import SCHEMES, at_each_width, opened, studio_of
from tests.studio.views.conftest import BOARD, NASTY, draw_board

DOCUMENT = "/documents/projects/Project"
PAGES = {
    "goals": (
        "/graph/records",
        "/graph/records?node=GOAL-G1",
        "/graph/records?node=GOAL-evil",
        "/graph/records?node=USER-none",
    ),
    "projects": (
        "/documents/projects",
        f"{DOCUMENT}?id=atlas&version=9&since=4&item=shapes/s1&personal=shown",
        f"{DOCUMENT}/history?id=atlas",
        f"{DOCUMENT}/inbox?id=atlas",
        f"{DOCUMENT}/contents?id=atlas",
        f"{DOCUMENT}/restore?id=atlas&version=4",
        f"{DOCUMENT}/collection?id=atlas&version=4&collection=shapes",
    ),
    "manhunt": ("/work/manhunt", "/work/manhunt?consumer=escalation", "/work/manhunt/order?order=none"),
}


@dataclass(frozen=True)
class Served:
    """One application's studio, and the target of its data."""

    address: str
    target: str
    folder: Path


@contextmanager
def serving(module: str, folder: Path, *options: str) -> Generator[Served]:
    """The program, as a user starts it, with the data file of a folder."""
    target = f"local:{folder}/data.db"
    with studio_of(module, target, "--write", *options) as address:
        yield Served(address, target, folder)


def fill_goals(db: Database) -> None:
    db.create_table(records)
    load_sample(Goals(db))
    db.create(Goal(id="evil", title=NASTY))
    edge = GoalMembership(source=Goal.by_id("evil"), target=User.by_id("U1"), role=Role.LEAD, since=SINCE)
    Graph(db).link(edge)


def fill_manhunt(db: Database) -> None:
    db.create_table(manhunt)
    clock, outbox = Clock(), Outbox()
    world = make_world(Manhunt(db), clock, outbox)
    world.open((Kind.EMAIL, 0), (Kind.VOICE, 600))
    world.drain()


@pytest.fixture(scope="module")
def goals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("goals")
    with connect(f"local:{folder}/data.db") as db:
        fill_goals(db)
    with serving("goals.model", folder) as served:
        yield served


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("projects")
    with connect(f"local:{folder}/data.db") as db:
        app = Projects(db, LocalBlobs(folder / "blobs"))
        app.create_table()
        draw_board(app)
    options = ("--blobs", str(folder / "blobs"))
    with serving("projects.model", folder, *options) as served:
        yield served


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("manhunt")
    with connect(f"local:{folder}/data.db") as db:
        fill_manhunt(db)
    with serving("manhunt.deployment", folder) as served:
        yield served


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("application", PAGES)
def test_they_are_accessible_and_fit_their_window(
    browser: Any, application: str, scheme: str, goals: Served, projects: Served, work: Served
) -> None:
    served = {"goals": goals, "projects": projects, "manhunt": work}[application]
    found: list[str] = []
    with opened(browser, served.address, scheme=scheme) as page:
        for path in PAGES[application]:
            found += [f"{path}: {each}" for each in at_each_width(page, path, scheme)]
    assert found == []


def test_a_picture_drawn_anew_keeps_its_focus(browser: Any, goals: Served) -> None:
    """As where a phone is turned: the point that was chosen has the focus, and is the stop of the tabulator."""
    with opened(browser, goals.address) as page:
        page.goto("/graph/records?node=TEAM-T2")
        page.locator(".point.is-centre").focus()
        for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
            page.keyboard.press(key)
        chosen = page.evaluate("document.activeElement.dataset.key")
        picture = page.query_selector("[data-board] svg")
        page.set_viewport_size({"width": 600, "height": 900})
        page.wait_for_function("picture => !picture.isConnected", arg=picture)
        assert page.evaluate("document.activeElement.dataset.key") == chosen
        assert page.locator(".point[tabindex='0']").count() == 1


def test_a_neighbour_is_shown_with_its_neighbours_by_keys(browser: Any, goals: Served) -> None:
    with opened(browser, goals.address) as page:
        page.goto("/graph/records?node=TEAM-T2")
        picture = page.locator("[data-board] svg")
        before = picture.locator(".point").count()
        page.locator(".point.is-centre").focus()
        for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
            page.keyboard.press(key)
            if page.evaluate("document.activeElement.dataset.key") != "TEAM-T2":
                break
        chosen = page.evaluate("document.activeElement.dataset.key")
        assert chosen != "TEAM-T2"
        page.keyboard.press("Enter")
        button = page.get_by_role("button", name="Show its neighbours")
        said = int("".join(each for each in button.inner_text() if each.isdigit()))
        assert button.evaluate("each => each === document.activeElement")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.dataset.key") == chosen
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.locator("[data-status]", has_text="requests").wait_for()
        assert f"by {said} requests" in page.locator("[data-status]").inner_text()
        assert picture.locator(".point").count() > before
        assert page.locator("[data-expanded] tbody tr").count() > 0
        page.get_by_role("link", name="Open", exact=True).press("Enter")
        page.wait_for_url(f"**node={chosen}*")


def test_without_a_script_a_node_is_its_tables(browser: Any, goals: Served) -> None:
    with opened(browser, goals.address, scripts=False) as page:
        page.goto("/graph/records?node=GOAL-G1")
        assert not page.locator("[data-picture]").is_visible()
        edges = page.get_by_role("region", name="Table: Edges from the node")
        assert edges.get_by_role("row").count() == 15
        page.get_by_role("link", name="Two lamps are lit before the winter").first.click()
        assert page.get_by_role("heading", level=1).inner_text() == "Two lamps are lit before the winter"


def test_hostile_text_is_text_in_the_picture_too(browser: Any, goals: Served) -> None:
    with opened(browser, goals.address) as page:
        page.goto("/graph/records?node=USER-U1")
        label = page.locator('.point[data-key="GOAL-evil"] text')
        assert label.text_content().startswith("<script>alert(1)")
        page.locator('.point[data-key="GOAL-evil"]').click()
        told = page.locator("[data-panel]").inner_text()
        assert "<script>alert(1)</script>⟨U+202E⟩evil␛[31m" in told
        page.get_by_role("button", name="Show its neighbours").click()
        page.locator("[data-status]", has_text="requests").wait_for()
        assert "⟨U+202E⟩" in page.locator("[data-expanded]").inner_text()


def test_the_slider_goes_through_versions_by_keys(browser: Any, projects: Served) -> None:
    with opened(browser, projects.address) as page:
        page.goto(f"{DOCUMENT}?id=atlas&version=5")
        page.get_by_label("Shown").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.locator('output[for="version"]').inner_text() == "version 7"
        page.wait_for_url("**version=7*")
        assert page.get_by_role("heading", name="From version 4 to 7").is_visible()


def test_a_version_is_restored_by_keys_and_never_over_another(browser: Any, projects: Served) -> None:
    blobs = LocalBlobs(projects.folder / "blobs")
    with opened(browser, projects.address) as page, connect(projects.target) as db:
        page.goto(f"{DOCUMENT}?id=atlas-2&version=0")
        page.goto(f"{DOCUMENT}/restore?id={BOARD}&version=4")
        Projects(db, blobs).boards.apply(BOARD, [rename(name="meanwhile").by("zoe", 1)])
        restore = page.get_by_role("button", name="Restore version 4 over 9")
        restore.focus()
        with page.expect_response("**/restore*") as refused:
            page.keyboard.press("Enter")
        assert refused.value.status == 409
        page.get_by_role("alert").wait_for()
        assert "Nothing was restored." in page.get_by_role("alert").inner_text()
        assert Projects(db, blobs).boards.head(BOARD).name == "meanwhile"
        page.get_by_role("button", name="Restore version 4 over").press("Enter")
        page.wait_for_url("**since=*")
        assert Projects(db, blobs).boards.head(BOARD).name == "Atlas"


def test_the_live_page_shows_what_comes_and_says_what_it_takes(browser: Any, work: Served) -> None:
    with opened(browser, work.address) as page, connect(work.target) as db:
        page.goto("/work/manhunt")
        toggle = page.get_by_role("button", name="Live", exact=True)
        page.get_by_label("Seconds between two readings").select_option("2")
        toggle.focus()
        page.keyboard.press("Enter")
        told = page.locator("[data-told]")
        page.locator("[data-told]", has_text="so far").wait_for()
        with db.transaction() as tx:
            call = tasks.task(name="browser")(_nothing)
            tx.add(tasks.after(timedelta(hours=1), call(), key="of-the-browser"))
        page.get_by_role("link", name="of-the-browser").wait_for()
        assert "for each reading" in told.inner_text()
        assert toggle.get_attribute("aria-pressed") == "true"
        assert toggle.evaluate("each => each === document.activeElement")
        page.keyboard.press("Enter")
        assert told.inner_text() == "It is off."


def _nothing() -> None:
    raise AssertionError("no worker runs")
