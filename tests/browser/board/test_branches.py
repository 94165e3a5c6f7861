"""Branches, merges and tags by hand: made, opened, merged back, with a conflict that a person decides."""

from __future__ import annotations

from typing import Any

from examples.projects.tests.board.serving import Server, until
from tests.browser.board.conftest import Open
from tests.browser.board_page import BoardPage, head_of, note, put, seen_of


def click(board: BoardPage, role: Any, name: str) -> None:
    """Something that leads to another page."""
    with board.page.expect_navigation():
        board.page.get_by_role(role, name=name, exact=True).click()


def test_a_branch_is_made_drawn_on_and_merged_back(server: Server, open_board: Open) -> None:
    put(server, "main", ("put_shape", {"id": "a", "shape": note(0, "old")}), ("rename", {"name": "Plan"}))
    main, other = open_board(server, "main"), open_board(server, "main")
    main.wait_for_shape("a")
    click(main, "link", "Branches")
    click(main, "button", "Make a branch")
    main.wait_until("saved")
    branch = main.page.url.rpartition("/")[2]
    assert branch != "main"
    main.wait_for_shape("a")
    main.write("a", "by the branch")
    mine = main.add("rect")
    main.wait_until("saved")
    assert head_of(server, "main")["shapes"]["a"]["text"] == "old"
    # Merged without a question, as the other only moved nothing of it.
    click(main, "link", "Branches")
    main.page.get_by_role("link", name="Plan", exact=True).click()
    main.wait_until("saved")
    assert main.page.url.endswith("/projects/main")
    click(main, "link", "Branches")
    click(main, "button", "Merge into this board")
    assert "2 changes were taken" in main.page.locator("[role=status]").inner_text()
    until(lambda: mine in other.ids, what="who looks at the board does not see the merge")
    until(lambda: other.seen == seen_of(head_of(server, "main")))
    # Both change the same shape.
    put(server, branch, ("put_shape", {"id": "a", "shape": note(100, "<b>theirs</b>")}))
    put(server, "main", ("put_shape", {"id": "a", "shape": note(200, "ours")}), ("delete_shape", {"id": mine}))
    put(server, branch, ("move_shape", {"id": mine, "x": 400, "y": 300}))
    click(main, "link", "← Branches of Plan")
    click(main, "button", "Merge into this board")
    table = main.page.locator("fieldset").filter(has_text="ours")
    assert [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()] == [
        ["text", "by the branch", "ours", "<b>theirs</b>"],
        ["x", "0", "200", "100"],
    ]
    assert main.page.locator("fieldset").count() == 2
    assert "deleted" in main.page.locator("fieldset").filter(has_not_text="ours").inner_text()
    table.get_by_label("Take the branch’s").check()
    main.page.locator("fieldset").filter(has_not_text="ours").get_by_label("Keep what is here").check()
    click(main, "button", "Merge")
    assert main.page.get_by_role("heading", name="Merged").is_visible()
    until(lambda: other.seen["shapes"].get("a", {}).get("text") == "<b>theirs</b>")
    assert other.ids == ["a"]
    click(main, "link", "Open the board")
    main.wait_until("saved")
    until(lambda: main.seen == other.seen)


def test_a_tag_opens_its_version(server: Server, open_board: Open) -> None:
    put(server, "tagged", ("put_shape", {"id": "a", "shape": note(0, "first")}))
    put(server, "tagged", ("put_shape", {"id": "a", "shape": note(0, "second")}))
    board = open_board(server, "tagged")
    click(board, "link", "Branches")
    for name, version in (("before the fair", "1"), ("now", "")):
        board.page.get_by_label("Name").fill(name)
        board.page.locator("section", has_text="Tags").get_by_label("Version").fill(version)
        click(board, "button", "Tag it")
    board.page.get_by_label("Name").fill("now")
    click(board, "button", "Tag it")
    assert "There is a tag 'now' already" in board.page.get_by_role("alert").inner_text()
    click(board, "link", "before the fair")
    board.page.wait_for_selector("#history[data-shown='1']")
    until(lambda: board.seen["shapes"]["a"]["text"] == "first")
    assert board.page.locator("#add-note").is_disabled()
    board.page.get_by_role("button", name="Back to now").click()
    until(lambda: board.seen["shapes"]["a"]["text"] == "second")
    board.open_history()
    click(board, "link", "Branches")
    click(board, "button", "Remove the tag now")
    assert board.page.get_by_role("link", name="now", exact=True).count() == 0
