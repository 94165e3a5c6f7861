"""Two people at one board: at once, in two tabs, offline, and while the server is away."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import httpx

from examples.projects.tests.board.serving import Server, served, until
from tests.browser.board.conftest import Open
from tests.browser.board_page import BoardPage, head_of, note, put, seen_of

AT_ONCE_SECONDS = 1.0


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
        until(lambda: board.page.evaluate("navigator.serviceWorker.controller !== null"))
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


def test_a_board_that_is_deleted_says_so_and_asks_no_more(server: Server, open_board: Open) -> None:
    """What the person drew since stays in the browser; the server is not asked again and again."""
    board = open_board(server, "gone")
    board.wait_until("saved")
    httpx.delete(f"{server.url}/api/projects/gone").raise_for_status()
    board.page.get_by_role("button", name="Add a note").click()
    board.wait_until("gone")
    board.page.locator("#status", has_text="not there any more · 1 edit kept here").wait_for()
    assert board.page.get_by_role("button", name="Add a note").is_disabled()
    asked: list[str] = []

    def note(request: Any) -> None:
        asked.append(request.url)

    board.page.on("request", note)
    board.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    board.page.evaluate("new Promise((done) => setTimeout(done, 2500))")  # longer than the longest pause
    assert asked == []
    board.errors.clear()  # the two answers of 404, which the browser says itself
    board.page.goto(f"{server.url}/projects/gone")
    assert "There is no such board" in board.page.inner_text("h1")
    board.errors.clear()
