"""Values are shown as text, whatever they contain."""

from __future__ import annotations

from typing import Any

from examples.projects.tests.board.serving import Server, until
from tests.browser.board.conftest import Open
from tests.browser.board_page import BoardPage, note, outcomes_of, put

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
    *("a", "aside", "b", "button", "div", "ellipse", "foreignObject", "form", "g", "h1", "h2", "header", "img"),
    *("input", "label", "li", "main", "p", "path", "rect", "section", "span", "svg", "text"),
    *("textarea", "ul"),
}
"""What a board is made of."""


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
    """What is not an object is refused, and in nobody's way; any object is drawn."""
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
    server.make("strict")
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
