"""A board's history: the slider, what differs between two versions, and restoring one."""

from __future__ import annotations

from examples.projects.tests.board.serving import Server, until
from tests.browser.board.conftest import Open
from tests.browser.board_page import head_of, note, put

AT_ONCE_SECONDS = 1.0


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
