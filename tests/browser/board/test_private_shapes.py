"""A shape that is one's own: shown to others and hidden from them, in two browsers of two people."""

from __future__ import annotations

from examples.projects.tests.board.serving import Server, until
from tests.browser.board.conftest import Open
from tests.browser.board.signing_in import board_of, open_as

ADA, BEN = "ada@example.com", "ben@example.com"


def test_a_shape_leaves_and_enters_the_other_s_board(signed: Server, open_board: Open) -> None:
    project = board_of(signed, ADA)
    one, other = open_as(signed, project, ADA, open_board), open_as(signed, project, BEN, open_board)
    plan, rest = one.add("note"), one.add("rect")
    one.write(plan, "the secret plan")
    until(lambda: other.seen["shapes"].get(plan, {}).get("text") == "the secret plan")
    only = one.page.locator("#shape-only")
    one.select(plan)
    assert not only.is_checked()
    only.check()
    until(lambda: other.ids == [rest])
    one.wait_until("saved")
    assert one.ids == sorted([plan, rest])
    assert "private" in one.shape(plan).get_attribute("class")
    one.comment("and what I think of it")
    one.wait_until("saved")
    other.add("ellipse")
    until(lambda: len(one.ids) == 3)
    assert list(one.seen["comments"].values()) == ["and what I think of it"]
    assert other.seen["comments"] == {}
    kept = other.page.evaluate("document.body.textContent")
    assert "secret" not in kept
    other.page.reload()
    other.wait_until("saved")
    until(lambda: len(other.ids) == 2)
    one.select(plan)
    assert only.is_checked()
    only.uncheck()
    until(lambda: plan in other.ids)
    one.deselect()
    assert one.undo()
    until(lambda: plan not in other.ids)
    assert one.redo()
    until(lambda: plan in other.ids)
    other.open_history()
    other.compare(0, other.version)
    assert "secret plan" in other.page.locator("#changes").inner_text(), "it is everybody's again"


def test_without_names_there_is_nothing_of_one_s_own(server: Server, open_board: Open) -> None:
    board = open_board(server, "no-names")
    board.select(board.add("note"))
    assert board.page.locator("#shape-text").is_visible()
    assert board.page.locator("#shape-only").count() == 0
