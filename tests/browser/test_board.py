"""The board in real browsers, with a real server: two people at once, offline, back in its history, and under attack.

Needs the Python package playwright, Chromium as Debian installs it (apt-get install chromium), and `npm ci`.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.projects.board.npm import missing
from examples.projects.model import Project, projects
from singletable import connect
from singletable.documents import Documents, LocalBlobs
from singletable.records import Finding
from tests.browser.board_page import BoardPage, seen_of
from tests.e2e.projects_board.replicache import NodeClient, replicache_client, waiting
from tests.e2e.projects_board.serving import Server, served, until

playwright = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AT_ONCE_SECONDS = 1.0
RUN = "window.hacked=1;alert(1)"
PAYLOADS = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror='{RUN}'>",
    f'"><svg onload="{RUN}">',
    f"javascript:{RUN}",
    f"</span></div></foreignObject></svg><script>{RUN}</script>",
    f"'-{RUN}-'",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "translate(0 0)' onclick='window.hacked=1",
    "<style>*{display:none}</style>",
    "<!--<template><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "\u202egnp.exe\u0000\u2028",
]
OURS = {
    *("a", "aside", "b", "button", "div", "ellipse", "foreignObject", "form", "g", "h2", "header", "img", "input"),
    *("label", "li", "main", "p", "path", "rect", "section", "span", "svg", "textarea", "ul"),
}
"""What a board is made of."""
Open = Callable[..., BoardPage]

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not there: apt-get install chromium"),
    pytest.mark.skipif(bool(missing()) or shutil.which("node") is None, reason="Node or its packages: npm ci"),
    # One process has the server and the browser: with pytest-xdist too.
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that leave it running."""
    with served(tmp_path_factory.mktemp("board")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def open_board(browser: Any) -> Iterator[Open]:
    """Opens a project in a browser profile of its own. No page may have failed, been stopped, or asked elsewhere."""
    opened: list[BoardPage] = []
    with ExitStack() as contexts:

        def open_one(server: Server, project: str, **options: Any) -> BoardPage:
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
            contexts.callback(context.close)
            board = BoardPage(context.new_page(), server.url)
            board.open(f"{server.url}/projects/{project}")
            opened.append(board)
            return board

        yield open_one
        for board in opened:
            assert board.errors == []
            assert board.violations == []
            assert board.elsewhere == []


def head_of(server: Server, project: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{server.url}/api/projects/{project}").raise_for_status().json()
    return found


def put(server: Server, project: str, *mutations: tuple[str, dict[str, Any]]) -> None:
    """Mutations by a real client, until the server has confirmed them."""
    with replicache_client(server.url, project) as client:
        for name, args in mutations:
            client.mutate(name, **args)
        until(lambda: waiting(client) == 0)


# --- two people at once -----------------------------------------------------------------------------------------------
def test_an_edit_is_seen_in_the_other_browser_at_once(server: Server, open_board: Open) -> None:
    one, other = open_board(server, "live"), open_board(server, "live")
    shape = one.add("note")
    took = [until(lambda: shape in other.ids)]
    one.write(shape, "Call the bank")
    took.append(until(lambda: other.seen["shapes"][shape]["text"] == "Call the bank"))
    other.drag(shape, 120, 60)
    took.append(until(lambda: one.seen == other.seen))
    other.colour(shape, "green")
    took.append(until(lambda: one.seen["shapes"][shape]["colour"] == "green"))
    one.deselect()
    other.deselect()
    other.comment("Done.")
    took.append(until(lambda: list(one.seen["comments"].values()) == ["Done."]))
    one.rename("Money")
    took.append(until(lambda: other.seen["name"] == "Money"))
    one.remove(shape)
    took.append(until(lambda: other.ids == []))
    assert max(took) < AT_ONCE_SECONDS, took
    one.wait_until("saved")
    assert one.seen == other.seen == seen_of(head_of(server, "live"))


def test_two_tabs_of_one_browser(server: Server, open_board: Open) -> None:
    """They share what the browser keeps, and are two clients of one group."""
    one = open_board(server, "tabs")
    other = BoardPage(one.page.context.new_page(), server.url)
    other.open(f"{server.url}/projects/tabs")
    shapes = [one.add("rect"), other.add("note")]
    until(lambda: one.ids == other.ids == sorted(shapes))
    one.remove(shapes[1])
    until(lambda: one.ids == other.ids == shapes[:1])
    for board in (one, other):
        board.deselect()
        board.wait_until("saved")
    assert one.seen == other.seen == seen_of(head_of(server, "tabs"))
    assert [*other.errors, *other.violations] == []


def test_what_both_did_offline_is_rebased_and_kept(server: Server, open_board: Open) -> None:
    """The server sees one's edits first, so the other's are run again on top of them."""
    one, other = open_board(server, "offline"), open_board(server, "offline")
    shape = one.add("rect")
    until(lambda: shape in other.ids)
    for board in (one, other):
        board.page.context.set_offline(True)
        board.wait_until("offline")
    one.write(shape, "by one")
    theirs = other.add("ellipse")
    other.nudge(shape, "ArrowRight")
    one.rename("One’s")
    other.rename("Other’s")
    assert other.seen["shapes"][shape]["text"] == ""
    until(lambda: "3 edits kept here" in other.page.locator("#status").inner_text())
    x = other.seen["shapes"][shape]["x"]
    one.page.context.set_offline(False)
    one.wait_until("saved")
    other.page.context.set_offline(False)
    other.wait_until("saved")
    until(lambda: one.seen == other.seen)
    assert one.ids == [shape, theirs]
    assert one.seen["shapes"][shape] | {"text": "by one", "x": x} == one.seen["shapes"][shape]
    assert one.seen["name"] == "Other’s"
    assert one.seen == seen_of(head_of(server, "offline"))


IS_KEPT = """async () => {
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
    const files = loaded.filter((url) => url.includes('/static/'));
    const kept = await Promise.all([location.href, ...files].map((url) => caches.match(url)));
    return kept.every((one) => one !== undefined);
}"""


def test_a_board_opens_and_keeps_edits_while_the_server_is_away(tmp_path: Path, open_board: Open) -> None:
    with served(tmp_path) as own:
        board = open_board(own, "away")
        board.page.wait_for_function("navigator.serviceWorker.controller !== null")
        until(lambda: board.page.evaluate(IS_KEPT))  # the worker keeps what was loaded before it was there
        own.kill()
        board.wait_until("offline")
        shape = board.add("note")
        board.write(shape, "written offline")
        board.page.wait_for_timeout(1500)  # Replicache writes edits down when the page has nothing else to do
        board.page.reload()
        board.wait_for_shape(shape)
        assert board.seen["shapes"][shape]["text"] == "written offline"
        own.start()
        board.wait_until("saved")
        until(lambda: shape in head_of(own, "away")["shapes"])
        assert board.seen == seen_of(head_of(own, "away"))


def test_a_page_begins_anew_when_the_database_was_put_back(tmp_path: Path, open_board: Open) -> None:
    """Its cookie is above the head then, which no pull would ever bring forward."""
    kept = tmp_path / "kept.db"
    with served(tmp_path) as own:
        put(own, "back", ("put_shape", {"id": "s1", "shape": note(300, "kept")}))
        own.stop()
        shutil.copy(tmp_path / "projects.db", kept)
        own.start()
        for n in (2, 3):
            put(own, "back", ("put_shape", {"id": f"s{n}", "shape": note(100 * n, "lost")}))
        board = open_board(own, "back")
        board.wait_for_shape("s3")
        own.kill()
        board.wait_until("offline")
        for file in tmp_path.glob("projects.db*"):
            file.unlink()
        shutil.copy(kept, tmp_path / "projects.db")
        own.start()
        board.shape("s3").wait_for(state="detached")
        board.wait_for_shape("s1")
        board.wait_until("saved")
        assert board.ids == ["s1"]
        board.write("s1", "after")
        until(lambda: head_of(own, "back")["shapes"]["s1"]["text"] == "after")


# --- where things lie -------------------------------------------------------------------------------------------------
NARROW = {"viewport": {"width": 360, "height": 740}}
IN_SIGHT = """() => {
  const frame = document.querySelector('.frame').getBoundingClientRect();
  return [...document.querySelectorAll('.shape')].filter((shape) => {
    const box = shape.getBoundingClientRect();
    return box.left >= frame.left && box.left < frame.right && box.top >= frame.top && box.top < frame.bottom;
  }).map((shape) => shape.dataset.id);
}"""


def test_a_narrow_page_opens_where_something_lies(server: Server, open_board: Open) -> None:
    put(server, "far", *(("put_shape", {"id": id, "shape": note(x, id)}) for id, x in (("b", 1400), ("a", 900))))
    board = open_board(server, "far", **NARROW)
    board.wait_for_shape("a")
    until(lambda: board.page.evaluate(IN_SIGHT) == ["a"])
    board.page.evaluate("document.querySelector('.frame').scrollTo(1400, 0)")
    put(server, "far", ("move_shape", {"id": "a", "x": 800, "y": 40}))
    until(lambda: board.seen["shapes"]["a"]["x"] == 800)
    assert board.page.evaluate(IN_SIGHT) == ["b"], "a person's own scrolling stays"


@pytest.mark.parametrize("options", [{}, NARROW])
def test_new_shapes_cover_none_that_are_there(server: Server, open_board: Open, options: dict[str, Any]) -> None:
    project = f"many-{len(options)}"
    board = open_board(server, project, **options)
    made = [board.add(kind) for kind in ("note", "rect", "ellipse", "note", "rect", "note", "ellipse", "note")]
    until(lambda: len(head_of(server, project)["shapes"]) == len(made))
    boxes = [
        (shape["x"], shape["y"], shape["x"] + shape["width"], shape["y"] + shape["height"])
        for shape in head_of(server, project)["shapes"].values()
    ]
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert min(x for x, *_ in boxes) >= 0
    assert made[-1] in board.page.evaluate(IN_SIGHT)


FILLS = """() => Object.fromEntries([...document.querySelectorAll('.shape')].map((group) =>
  [group.dataset.id, getComputedStyle(group.firstChild).fill.match(/\\d+/g).slice(0, 3).map(Number)]))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_colour_by_another_name_is_that_colour(server: Server, open_board: Open, scheme: str) -> None:
    """The model's own example is yellow. A name of no colour, or of a part of every object, is the first colour."""
    said = ["yellow", "Yellow ", "amber", "red", "purple", "slate", "grey", "mud", "constructor", "__proto__"]
    project = f"colours-{scheme}"
    for number, colour in enumerate(said):
        shape = note(10 + number % 5 * 180, colour) | {"colour": colour, "y": 70 + number // 5 * 150}
        put(server, project, ("put_shape", {"id": f"s{number}", "shape": shape}))
    board = open_board(server, project, color_scheme=scheme)
    until(lambda: len(board.ids) == len(said))
    by_id = board.page.evaluate(FILLS)
    fills = {colour: by_id[f"s{number}"] for number, colour in enumerate(said)}
    red, green, blue = fills["yellow"]
    assert min(red, green) - blue > 20, "yellow has red and green, and less blue"
    assert fills["yellow"] == fills["Yellow "] == fills["amber"]
    greys = [fills[name] for name in ("slate", "grey", "mud", "constructor", "__proto__")]
    assert greys == [greys[0]] * len(greys)
    assert len({tuple(fills[name]) for name in ("yellow", "red", "purple", "grey")}) == 4
    board.select("s0")
    assert board.page.locator(".swatch.amber").get_attribute("aria-pressed") == "true"


# --- history ----------------------------------------------------------------------------------------------------------
def note(x: int, text: str) -> dict[str, Any]:
    return {"kind": "note", "colour": "amber", "x": x, "y": 40, "width": 160, "height": 120, "text": text}


def test_the_slider_shows_every_version_and_changes_nothing(server: Server, open_board: Open) -> None:
    put(server, "past", ("put_shape", {"id": "a", "shape": note(0, "")}))
    for version in range(2, 7):
        put(server, "past", ("put_shape", {"id": "a", "shape": note(100 * version, f"version {version}")}))
    board = open_board(server, "past")
    now = board.seen
    board.open_history()
    for version in (6, 2, 5, 3):
        board.go_to(version)
        shown = board.seen["shapes"]["a"]
        assert (shown["x"], shown["text"]) == (100 * version, f"version {version}")
        assert board.page.locator("#version-label").inner_text().startswith(f"Version {version} of 6 ")
    board.select("a")
    board.page.keyboard.press("ArrowRight")
    board.page.keyboard.press("Delete")
    board.drag("a", 50, 50)
    for control in ("#add-note", "#shape-text", "#shape-delete", "#comment-text", ".swatch >> nth=0"):
        assert board.page.locator(control).is_disabled(), control
    board.go_to(0)
    assert board.ids == []
    board.page.get_by_role("button", name="Back to now").click()
    until(lambda: board.seen == now)
    assert head_of(server, "past")["version"] == 6


def test_what_others_do_meanwhile_is_told_and_seen_later(server: Server, open_board: Open) -> None:
    put(server, "told", ("put_shape", {"id": "a", "shape": note(0, "first")}))
    board = open_board(server, "told")
    board.open_history()
    put(server, "told", ("put_shape", {"id": "b", "shape": note(300, "second")}))
    until(lambda: board.page.locator("#version-label").inner_text().startswith("Version 1 of 2 "))
    assert board.ids == ["a"]
    board.go_to(2)
    assert board.ids == ["a", "b"]


def test_what_differs_between_two_versions_is_marked_and_listed(server: Server, open_board: Open) -> None:
    put(server, "differs", ("put_shape", {"id": "kept", "shape": note(0, "kept")}))
    put(server, "differs", ("put_shape", {"id": "moved", "shape": note(200, "moved")}))
    put(server, "differs", ("put_shape", {"id": "gone", "shape": note(400, "gone")}))
    put(server, "differs", ("put_comment", {"id": "c", "comment": {"text": "early", "author": "demo"}}))
    base = head_of(server, "differs")["version"]
    put(
        server,
        "differs",
        ("rename", {"name": "Second"}),
        ("move_shape", {"id": "moved", "x": 260, "y": 40}),
        ("delete_shape", {"id": "gone"}),
        ("put_shape", {"id": "new", "shape": note(600, "new")}),
        ("delete_comment", {"id": "c"}),
    )
    board = open_board(server, "differs")
    board.open_history()
    board.compare(base, head_of(server, "differs")["version"])
    marks = {id: board.shape(id).get_attribute("class") for id in ("kept", "moved", "gone", "new")}
    assert marks == {
        "kept": "shape",
        "moved": "shape changed",
        "gone": "shape removed",
        "new": "shape added",
    }
    assert board.page.locator(".ghost").get_attribute("transform") == "translate(200 40)"
    assert board.page.locator(".comment.removed .said").inner_text() == "early"
    assert board.page.locator("#changes li").all_inner_texts() == [
        "Changed: name\n\n(empty) → Second",
        "Added: Note “new”",
        "Changed: Note “moved”\n\nx 200 → 260",
        "Removed: Note “gone”",
        "Removed: Comment “early”",
    ]
    board.compare(base, base)
    assert board.page.locator("#changes li").all_inner_texts() == ["Nothing differs."]


def test_restore_makes_a_new_version_for_all(server: Server, open_board: Open) -> None:
    put(server, "back", ("put_shape", {"id": "a", "shape": note(0, "good")}), ("rename", {"name": "Good"}))
    good = head_of(server, "back")["version"]
    put(server, "back", ("delete_shape", {"id": "a"}), ("rename", {"name": "Bad"}))
    bad = head_of(server, "back")["version"]
    one, other = open_board(server, "back"), open_board(server, "back")
    one.open_history()
    assert one.page.get_by_role("button", name="Restore").is_disabled()
    one.go_to(good)
    one.page.get_by_role("button", name="Restore").click()
    took = until(lambda: all(board.seen["name"] == "Good" and board.ids == ["a"] for board in (one, other)))
    assert took < AT_ONCE_SECONDS
    one.page.locator("#history").wait_for(state="hidden")
    assert head_of(server, "back")["version"] == bad + 1
    # What was there before is in the history still.
    one.open_history()
    one.go_to(bad)
    assert one.seen["name"] == "Bad"


# --- by keyboard, and in a narrow window ------------------------------------------------------------------------------
def test_the_keyboard_alone_is_enough(server: Server, open_board: Open) -> None:
    board = open_board(server, "keys")
    press = board.page.keyboard.press
    board.page.locator("#add-note").focus()
    press("Enter")
    focused = board.page.locator(".shape:focus")
    focused.wait_for()
    x, y = next((shape["x"], shape["y"]) for shape in board.seen["shapes"].values())
    press("Enter")
    board.page.keyboard.type("Typed")
    press("Escape")
    focused.wait_for()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowUp"):
        press(key)

    def shown() -> tuple[Any, ...]:
        shape = next(iter(board.seen["shapes"].values()))
        return shape["x"], shape["y"], shape["text"]

    until(lambda: shown() == (x + 20, y + 9, "Typed"))
    assert focused.get_attribute("aria-label") == "Note “Typed”"
    press("Delete")
    until(lambda: board.ids == [])
    stops = [board.page.evaluate("document.activeElement.id")]
    for _ in range(12):
        press("Tab")
        stops.append(board.page.evaluate("document.activeElement.id"))
    assert {"name", "history-open", "add-rect", "add-ellipse", "add-note", "comment-text"} <= set(stops)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["/", "/projects/wide", "/sign-in", "/no-such-page"])
def test_nothing_is_wider_than_the_window(server: Server, browser: Any, path: str, width: int) -> None:
    put(server, "wide", ("put_shape", {"id": "far", "shape": note(3000, "far")}), ("rename", {"name": "W" * 200}))
    page = browser.new_page(viewport={"width": width, "height": 800}, base_url=server.url)
    page.goto(path)
    if path == "/projects/wide":
        page.wait_for_selector("body[data-state=saved]")
        page.get_by_role("button", name="History", exact=True).click()
        page.wait_for_selector("#history[data-shown]")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


# --- under attack -----------------------------------------------------------------------------------------------------
def test_values_are_text_and_nothing_else(server: Server, open_board: Open) -> None:
    """Each payload as the name, in every part of a shape and of a comment; on the board, in history and in the list."""
    board = open_board(server, "payloads")
    board.page.on("dialog", lambda dialog: board.errors.append(dialog.message))
    mutations: list[tuple[str, dict[str, Any]]] = []
    for number, payload in enumerate(PAYLOADS):
        shape = dict.fromkeys(("kind", "colour", "x", "y", "width", "height", "text"), payload)
        comment = dict.fromkeys(("text", "author", "shape", "time"), payload)
        mutations.append(("rename", {"name": payload}))
        mutations.append(("put_shape", {"id": f"{number}{payload}", "shape": shape}))
        mutations.append(("put_comment", {"id": f"{number}{payload}", "comment": comment}))
    mutations.append(("rename", {"name": PAYLOADS[0]}))
    put(server, "payloads", *mutations)
    ids = sorted(f"{number}{payload}" for number, payload in enumerate(PAYLOADS))
    until(lambda: sorted(board.ids) == ids)
    check_only_text(board)
    for payload in PAYLOADS:
        assert board.page.locator(".shape .label").get_by_text(payload, exact=True).count() >= 1, payload
        assert board.page.locator(".comment .said").get_by_text(payload, exact=True).count() >= 1, payload
    board.open_history()
    board.compare(0, board.version)
    check_only_text(board)
    board.page.goto(f"{server.url}/")
    assert board.page.locator(".boards b").filter(has_text=PAYLOADS[0]).count() == 1
    assert board.page.evaluate("window.hacked") is None


def test_any_json_is_drawn_somehow(server: Server, open_board: Open) -> None:
    """What is no object is refused, and in nobody's way; any object is drawn."""
    values: list[Any] = [
        None,
        7,
        "text",
        [],
        {},
        {"x": "1", "y": None, "text": 7},
        {"x": 1e308, "y": -1e308, "width": -5},
    ]
    board = open_board(server, "odd")
    odd = [("put_shape", {"id": f"{number}", "shape": value}) for number, value in enumerate(values)]
    comments = [("put_comment", {"id": f"{number}", "comment": value}) for number, value in enumerate(values)]
    put(server, "odd", *odd, *comments, ("put_shape", {"id": "sound", "shape": note(0, "")}))
    board.wait_for_shape("sound")
    assert board.ids == ["4", "5", "6", "sound"]
    assert board.seen["comments"] == {"2": "text", "4": "", "5": "", "6": ""}
    assert outcomes_of(server, "odd") == [15, 7]


def check_only_text(board: BoardPage) -> None:
    """No element that the page itself does not make, and no attribute that could run something or load it."""
    made = set(board.page.evaluate("[...document.querySelectorAll('body *')].map((element) => element.localName)"))
    assert made <= OURS, made - OURS
    names = set(
        board.page.evaluate(
            "[...document.querySelectorAll('main *')].flatMap((element) => element.getAttributeNames())"
        )
    )
    assert not {name for name in names if name.startswith("on") or name in {"style", "href", "src", "srcdoc"}}
    assert board.page.evaluate("window.hacked") is None


def test_a_violation_would_be_seen(server: Server, open_board: Open, browser: Any) -> None:
    """So the others' empty lists say something."""
    page = browser.new_page()
    board = BoardPage(page, server.url)
    board.open(f"{server.url}/projects/strict")
    for attack in (
        "document.body.appendChild(document.createElement('img')).src = 'https://evil.example/'",
        "document.body.setAttribute('onclick', 'window.hacked = 1')",
        "document.body.setAttribute('style', 'display: none')",
        "document.body.innerHTML = '<b>hacked</b>'",
        "fetch('https://evil.example/').catch(() => undefined)",
    ):
        before = len(board.violations)
        page.evaluate(f"(() => {{ try {{ {attack} }} catch {{ return }} }})()")
        until(lambda: len(board.violations) > before, 5, attack)  # noqa: B023 called at once
    assert page.locator("#canvas").is_visible()
    page.close()


# --- convergence ------------------------------------------------------------------------------------------------------
@pytest.mark.timeout(300)
def test_clients_and_pages_converge_though_the_server_is_killed(tmp_path: Path, open_board: Open) -> None:
    """200 mutations of two Node clients and two pages, in turn; the server dies twice, and is away for a while."""
    dice = random.Random(7)
    with served(tmp_path) as own, ExitStack() as nodes:
        pages = [open_board(own, "busy") for _ in range(2)]
        clients = [nodes.enter_context(replicache_client(own.url, "busy")) for _ in range(2)]
        for turn in range(50):
            if turn in (15, 35):
                own.kill()
            if turn in (20, 37):
                own.start()
            for number, client in enumerate(clients):
                do_as_client(client, dice, f"n{number}-{turn:02}")
            for page in pages:
                do_on_page(page, dice, turn)
        everyone_is_done(pages, clients)
        head = head_of(own, "busy")
        until(lambda: all(page.seen == seen_of(head) for page in pages), what="the pages do not show the head")
        until(lambda: all(client.view() == view_of(head) for client in clients), what="the clients do not see the head")
        assert outcomes_of(own, "busy") == [200, 0]
        assert own.stop() == 0
        assert findings_of(own, "busy") == []


def do_as_client(client: NodeClient, dice: random.Random, new: str) -> None:
    """One mutation, on what the client sees."""
    view = client.view()
    shapes = [key.partition("/")[2] for key in view if key.startswith("shapes/")]
    what = dice.choice(["add", "move", "move", "write", "remove", "comment", "rename"]) if len(shapes) > 2 else "add"
    id = dice.choice(shapes) if shapes else new
    x, y = dice.randrange(700), dice.randrange(500)
    match what:
        case "move":
            client.mutate("move_shape", id=id, x=x, y=y)
        case "write":
            client.mutate("put_shape", id=id, shape=view[f"shapes/{id}"] | {"text": new})
        case "remove" if id.startswith("n"):
            client.mutate("delete_shape", id=id)  # a page's own stay, for it goes on with them
        case "comment":
            client.mutate("put_comment", id=new, comment={"text": new, "author": "node", "shape": None, "time": ""})
        case "rename":
            client.mutate("rename", name=new)
        case _:
            size = {"width": 120, "height": 80}
            shape = {"kind": "rect", "colour": "violet", "text": "", "x": x, "y": y} | size
            client.mutate("put_shape", id=new, shape=shape)


def do_on_page(page: BoardPage, dice: random.Random, turn: int) -> None:
    """One mutation, by what a person can do there; on a shape of the page's own, which nobody takes away meanwhile."""
    match dice.choice(["add", "nudge", "nudge", "write", "comment", "rename"]):
        case "nudge" if page.mine:
            page.nudge(dice.choice(page.mine), dice.choice(["ArrowRight", "ArrowDown"]))
        case "write" if page.mine:
            page.write(dice.choice(page.mine), f"turn {turn}")
        case "comment":
            page.deselect()
            page.comment(f"turn {turn}")
        case "rename":
            page.rename(f"turn {turn} {dice.random()}")
        case _:
            page.mine.append(page.add(dice.choice(["rect", "ellipse", "note"])))


def everyone_is_done(pages: list[BoardPage], clients: list[NodeClient]) -> None:
    until(lambda: all(waiting(client) == 0 for client in clients), what="a client's edits are not confirmed")
    for page in pages:
        page.deselect()
        page.wait_until("saved")


def view_of(head: dict[str, Any]) -> dict[str, Any]:
    """The client view of a head."""
    keys: dict[str, Any] = {"project": {"name": head["name"], "description": head["description"]}}
    for part in ("shapes", "comments"):
        keys |= {f"{part}/{id}": value for id, value in head[part].items()}
    return keys


def findings_of(server: Server, project: str) -> list[Finding]:
    """What the library's own checks find, in the files that the server left."""
    with connect(server.target) as db:
        documents = Documents(db, Project, blobs=LocalBlobs(server.blobs))
        return [*documents.check(project), *db.check(projects)]


def outcomes_of(server: Server, project: str) -> list[int]:
    """How many mutations have an outcome, and how many of those are rejections."""
    ids: set[tuple[str, int]] = set()
    count = rejected = 0
    after: str | None = ""
    while after is not None:
        page = httpx.get(
            f"{server.url}/api/projects/{project}/versions", params={"after": after} if after else {}
        ).json()
        for applied in (applied for version in page["versions"] for applied in version["mutations"]):
            ids.add((applied["client"], applied["id"]))
            count, rejected = count + 1, rejected + applied["rejected"]
        after = page["after"]
    assert len(ids) == count
    return [count, rejected]
