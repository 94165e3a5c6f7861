"""Undo and redo in two browsers: what somebody else did is never undone, and both end as the server does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from examples.projects.tests.board.serving import Server, served, until
from projects.model import Project
from singletable import connect
from singletable.documents import Documents, LocalBlobs
from singletable.sync.undo import Edit, revised, same
from tests.browser.board.conftest import Open
from tests.browser.board.test_convergence import findings_of
from tests.browser.board_page import BoardPage, head_of, note, put, seen_of


def test_what_was_done_is_undone_and_redone(server: Server, open_board: Open) -> None:
    page = open_board(server, "undo-one")
    assert not page.undo()
    id = page.add("note")
    page.write(id, "first")
    page.drag(id, 60, 40)
    page.wait_until("saved")
    moved = page.seen["shapes"][id]
    page.deselect()
    page.page.keyboard.press("Control+z")
    until(lambda: page.seen["shapes"][id]["x"] != moved["x"])
    page.page.keyboard.press("Control+Shift+z")
    until(lambda: page.seen["shapes"][id] == moved)
    for _ in range(3):
        assert page.undo()
    until(lambda: page.ids == [])
    assert not page.undo()
    for _ in range(3):
        assert page.redo()
    until(lambda: page.seen["shapes"].get(id) == moved)
    assert not page.redo()
    page.wait_until("saved")
    until(lambda: page.seen == seen_of(head_of(server, "undo-one")))


def test_an_undo_keeps_what_somebody_else_changed_since_and_says_so(server: Server, open_board: Open) -> None:
    page = open_board(server, "undo-two")
    put(server, "undo-two", ("put_shape", {"id": "s", "shape": note(40, "theirs")}))
    page.wait_for_shape("s")
    page.write("s", "mine")
    page.wait_until("saved")
    put(server, "undo-two", ("put_shape", {"id": "s", "shape": note(300, "theirs again")}))
    until(lambda: page.seen["shapes"]["s"]["text"] == "theirs again")
    page.deselect()
    assert page.undo()
    notice = page.page.locator("#notice")
    until(lambda: "Somebody else changed Note “theirs again” since" in notice.text_content())
    page.wait_until("saved")
    assert head_of(server, "undo-two")["shapes"]["s"]["text"] == "theirs again"
    # Only its place was changed by somebody else: the text goes back, the place stays.
    page.write("s", "mine again")
    page.wait_until("saved")
    put(server, "undo-two", ("move_shape", {"id": "s", "x": 500, "y": 200}))
    until(lambda: page.seen["shapes"]["s"]["x"] == 500)
    page.deselect()
    assert page.undo()
    until(lambda: page.seen["shapes"]["s"]["text"] == "theirs again")
    assert page.seen["shapes"]["s"]["x"] == 500


@pytest.mark.timeout(300)
def test_two_browsers_undo_against_each_other(tmp_path: Path, open_board: Open) -> None:
    undo_against_each_other(tmp_path, open_board, steps=40, seed=3)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_two_browsers_undo_against_each_other_for_250_steps(tmp_path: Path, open_board: Open) -> None:
    undo_against_each_other(tmp_path, open_board, steps=250, seed=4)


def undo_against_each_other(folder: Path, open_board: Open, steps: int, seed: int) -> None:
    """The server is killed twice, and is away for a while; both pages go on."""
    dice = random.Random(seed)
    with served(folder) as own:
        pages = [open_board(own, "b") for _ in range(2)]
        for step in range(steps):
            if step in (steps // 3, 2 * steps // 3):
                own.kill()
            if step in (steps // 3 + 4, 2 * steps // 3 + 4):
                own.start()
            do(dice.choice(pages), dice, f"step {step}")
        for page in pages:
            page.deselect()
            page.wait_until("saved")
        head = head_of(own, "b")
        until(lambda: all(page.seen == seen_of(head) for page in pages), what="the pages do not show the head")
        assert own.stop() == 0
        assert findings_of(own, "b") == []
        undone = check_that_nobody_undid_another_s_edit(own)
        assert undone > steps // 10


def do(page: BoardPage, dice: random.Random, new: str) -> None:
    """Something new, or back, or back again."""
    what = dice.choice(["new", "new", "undo", "undo", "redo"])
    if what == "undo" and page.undo():
        return
    if what == "redo" and page.redo():
        return
    shapes = page.ids
    match dice.choice(["add", "write", "write", "write", "nudge", "rename", "remove"]) if shapes else "add":
        case "write":
            _if_there(page, dice.choice(shapes), lambda id: page.write(id, new))
        case "nudge":
            _if_there(page, dice.choice(shapes), lambda id: page.nudge(id, "ArrowRight"))
        case "remove" if len(shapes) > 3:
            _if_there(page, dice.choice(shapes), page.remove)
        case "rename":
            page.rename(new)
        case _:
            page.add(dice.choice(["rect", "ellipse", "note"]))


def _if_there(page: BoardPage, id: str, act: Any) -> None:
    """The other page may take the shape away while this one reaches for it."""
    from playwright.sync_api import TimeoutError as TookTooLong

    page.page.set_default_timeout(1000)
    try:
        act(id)
    except TookTooLong:
        page.deselect()
    finally:
        page.page.set_default_timeout(30_000)


# --- the history, judged ----------------------------------------------------------------------------------------------
def check_that_nobody_undid_another_s_edit(server: Server) -> int:
    """Runs the history again: each value that an undo or a redo replaced is one that the same client has put there, or
    has asked for where another was before it with the same: its undo finds what it asked for."""
    state: dict[str, Any] = {"project": {"name": "", "description": ""}}
    brought: dict[tuple[str, str, str], set[str]] = {}
    undone = 0
    with connect(server.target) as db:
        documents = Documents(db, Project, blobs=LocalBlobs(server.blobs))
        for client, name, arguments in history_of(documents):
            before = dict(state)
            run(state, name, arguments)
            for key, attribute, was, now in differences(before, state):
                is_of_new_item = attribute != "" and before.get(key) is None  # judged by its being there
                if name == "revise" and not is_of_new_item:
                    undone += 1
                    assert client in brought[key, attribute, str(was)], (client, key, attribute, was)
                brought.setdefault((key, attribute, str(now)), set()).add(client)
            for key, attribute, value in asked_for(name, arguments):
                brought.setdefault((key, attribute, str(value)), set()).add(client)
        head = documents.head("b")
        assert {f"shapes/{id}": shape for id, shape in head.shapes.all().items()} | {
            "project": {"name": head.name, "description": head.description}
        } == state
    return undone


def history_of(documents: Documents[Project]) -> Iterator[tuple[str, str, Any]]:
    """Each applied mutation in its order: client, name, arguments."""
    context, rows = documents.context, documents.context.model.rows
    contents = context.contents("demo", "b")
    for version in reversed(list(documents.history("b", limit=1000))):
        for each in version.mutations:
            record = documents.db.get(rows.mutation.by_id("b", each.client, each.id))  # type: ignore[attr-defined]
            text = record.arguments
            if text is None:
                from singletable.documents.contents import ARGUMENTS, Content

                text = contents.read(Content(ARGUMENTS, record.arguments_blob)).decode()
            if not each.rejected:
                yield each.client, each.name, msgspec.json.decode(text)


def run(state: dict[str, Any], name: str, arguments: Any) -> None:
    key = f"shapes/{arguments.get('id')}"
    match name:
        case "put_shape":
            state[key] = arguments["shape"]
        case "move_shape" if key in state:
            state[key] = {**state[key], "x": arguments["x"], "y": arguments["y"]}
        case "delete_shape":
            state.pop(key, None)
        case "rename":
            state["project"] = {**state["project"], "name": arguments["name"]}
        case "revise":
            for edit in arguments["edits"]:
                becomes, _ = revised(state.get(edit["key"]), Edit(**edit))
                if becomes is None:
                    state.pop(edit["key"], None)
                else:
                    state[edit["key"]] = becomes


def asked_for(name: str, arguments: Any) -> Iterator[tuple[str, str, Any]]:
    """Key, attribute and value of all that a mutation wants to be so, whether or not it was so before."""
    key = f"shapes/{arguments.get('id')}"
    match name:
        case "put_shape":
            yield key, "", True
            yield from ((key, attribute, value) for attribute, value in arguments["shape"].items())
        case "move_shape":
            yield from ((key, attribute, arguments[attribute]) for attribute in ("x", "y"))
        case "delete_shape":
            yield key, "", False
        case "rename":
            yield "project", "name", arguments["name"]
        case "revise":
            for edit in arguments["edits"]:
                yield from ((edit["key"], attribute, value) for attribute, value in (edit["to"] or {}).items())
                if (edit["was"] is None) != (edit["to"] is None):
                    yield edit["key"], "", edit["to"] is not None


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """Key, attribute and both values; the attribute "" says whether the item is there."""
    for key in {*before, *after}:
        one, other = before.get(key), after.get(key)
        if (one is None) != (other is None):
            yield key, "", one is not None, other is not None
        for attribute in {*(one or {}), *(other or {})}:
            was, now = (one or {}).get(attribute), (other or {}).get(attribute)
            if not same(was, now):
                yield key, attribute, was, now
