"""Where things lie on a board, by keyboard alone, and in a narrow window."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from examples.projects.tests.board.serving import Server, until
from tests.browser.board.conftest import Open
from tests.browser.board_page import head_of, note, put

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


@pytest.mark.parametrize("path", ["/", "/projects/wide", "/sign-in", "/no-such-page"])
def test_nothing_is_wider_than_the_window(server: Server, browser: Any, path: str) -> None:
    put(server, "wide", ("put_shape", {"id": "far", "shape": note(3000, "far")}), ("rename", {"name": "W" * 200}))
    page = browser.new_page(viewport={"width": 1280, "height": 800}, base_url=server.url)
    page.goto(path)
    if path == "/projects/wide":
        page.wait_for_selector("body[data-state=saved]")
        page.get_by_role("button", name="History", exact=True).click()
        page.wait_for_selector("#history[data-shown]")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
