"""Who is here: the others' cursors and names, while they look at the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from examples.projects.tests.board.serving import Server, served, until
from tests.browser.board.conftest import Open
from tests.browser.board.signing_in import board_of, open_as
from tests.browser.board_page import BoardPage

HOSTILE = "<img src=x onerror=window.hacked=1>@example.com"


def people(board: BoardPage) -> list[str]:
    found: list[str] = board.page.evaluate("[...document.querySelectorAll('#people li')].map((one) => one.title)")
    return found


def cursors(board: BoardPage) -> dict[str, list[int]]:
    found: dict[str, list[int]] = board.page.evaluate(
        """Object.fromEntries([...document.querySelectorAll('.cursor')].map((one) =>
          [one.textContent, one.getAttribute('transform').match(/-?\\d+/g).map(Number)]))"""
    )
    return found


def test_two_people_see_each_other_s_cursors_until_one_leaves(signed: Server, open_board: Open) -> None:
    ada, ben = "ada@example.com", "ben@example.com"
    project = board_of(signed, ada)
    one = open_as(signed, project, ada, open_board)
    until(lambda: people(one) == [f"{ada} (you)"])
    other = open_as(signed, project, ben, open_board)
    until(lambda: sorted(people(one)) == [f"{ada} (you)", ben])
    until(lambda: sorted(people(other)) == [ada, f"{ben} (you)"])
    assert cursors(other) == {}
    frame = one.page.locator(".frame").bounding_box()
    one.page.mouse.move(frame["x"] + 300, frame["y"] + 200)
    until(lambda: cursors(other) == {ada: [300, 200]})
    one.page.mouse.move(frame["x"] + 420, frame["y"] + 250, steps=20)
    until(lambda: cursors(other) == {ada: [420, 250]})
    assert cursors(one) == {}
    cursor, chip = other.page.locator(".cursor"), other.page.locator("#people li:not(:first-child)")
    assert cursor.get_attribute("class") == f"cursor {chip.get_attribute('class')}"
    one.page.mouse.move(frame["x"] + 420, 10)
    until(lambda: cursors(other) == {})
    one.page.mouse.move(frame["x"] + 50, frame["y"] + 300)
    until(lambda: ada in cursors(other))
    one.page.goto(f"{signed.url}/")
    until(lambda: cursors(other) == {})
    until(lambda: people(other) == [f"{ben} (you)"])


def test_who_comes_back_is_seen_again(tmp_path: Path, open_board: Open) -> None:
    """Also after the server was away, which forgets everybody."""
    with served(tmp_path) as own:
        one, other = open_board(own, "back"), open_board(own, "back")
        frame = one.page.locator(".frame").bounding_box()
        one.page.mouse.move(frame["x"] + 100, frame["y"] + 200)
        until(lambda: list(cursors(other).values()) == [[100, 200]])
        assert len(people(other)) == 2
        own.kill()
        until(lambda: cursors(other) == {})
        own.start()
        until(lambda: list(cursors(other).values()) == [[100, 200]])
        until(lambda: len(people(one)) == len(people(other)) == 2)
        assert len(set(people(one))) == 2, "two who have one name are told apart"


def test_a_hostile_name_is_text(signed: Server, open_board: Open) -> None:
    project = board_of(signed, HOSTILE)
    one = open_as(signed, project, HOSTILE, open_board)
    other = open_as(signed, project, "ben@example.com", open_board)
    frame = one.page.locator(".frame").bounding_box()
    one.page.mouse.move(frame["x"] + 300, frame["y"] + 200)
    shown = f"{HOSTILE[:39]}…"
    until(lambda: list(cursors(other)) == [shown])
    assert shown in people(other)
    assert other.page.locator("img[src=x]").count() == 0
    assert other.page.evaluate("window.hacked") is None


def test_any_state_is_drawn_somehow(server: Server, open_board: Open) -> None:
    """Programs may say what they like: what is not a place is no cursor."""
    board = open_board(server, "odd-states")
    until(lambda: len(people(board)) == 1)
    states: list[Any] = [{}, {"cursor": 7}, {"cursor": {"x": "1", "y": None}}, {"cursor": {"x": 1e308, "y": 5}}]
    for number, state in enumerate(states):
        said = httpx.post(
            f"{server.url}/replicache/presence",
            params={"project": "odd-states"},
            json={"client": f"program-{number}", "state": state},
        )
        assert said.status_code == 200
    until(lambda: len(people(board)) == 5)
    until(lambda: list(cursors(board).values()) == [[20_000, 5]])
