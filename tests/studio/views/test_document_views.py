"""Documents: any version, what differs, who did it, what waits and why; on a board with a history of its own."""

from __future__ import annotations

from typing import Any

import pytest

from projects.model import Project, projects, put_shape, rename
from singletable import InvalidCursor, InvalidRequest, InvalidValue, NotFound
from singletable.documents import Mutation
from singletable.documents.blobs import NoBlobs
from singletable.documents.inspect.history import inspect_history
from singletable.documents.inspect.inbox import inspect_blobs, inspect_inbox
from singletable.documents.inspect.lists import AnyContext, contexts_of, inspect_documents
from singletable.documents.inspect.versions import (
    MOST_ITEMS,
    MOST_VERSIONS,
    DocumentInfo,
    inspect_collection,
    inspect_document,
)
from singletable.foundation import COVERED
from singletable.studio.pages.documents import context_named
from tests.studio.views.bulk import fill
from tests.studio.views.conftest import BOARD, BRANCH, NASTY, ORGANISATION, Boards


def context_at(boards: Boards) -> AnyContext:
    return contexts_of([projects], boards.db.target.seal, boards.blobs)["Project"]


def seen(boards: Boards, document: str = BOARD, **more: Any) -> DocumentInfo:
    return boards.db.run(inspect_document(boards.db.port, context_at(boards), document, **more))


def test_documents_are_listed_by_parent_and_without_one(boards: Boards) -> None:
    port, context = boards.db.port, context_at(boards)
    with boards.db.meter() as meter:
        listed = boards.db.run(inspect_documents(port, context, under=ORGANISATION))
    assert (meter.requests, meter.read_units) == (1, 0.5)
    assert [each.id for each in listed.documents] == [BOARD, BRANCH]
    some = boards.db.run(inspect_documents(port, context))
    assert {each.id for each in some.documents} == {BOARD, BRANCH}
    assert boards.db.run(inspect_documents(port, context, under="nobody")).documents == ()
    assert (some.kind.scalars, some.kind.collections) == (("name", "description"), ("shapes", "comments"))
    with pytest.raises(NotFound, match="no class of documents"):
        context_named({}, NASTY)


def test_the_newest_version_beside_the_one_before(boards: Boards) -> None:
    with boards.db.meter() as meter:
        found = seen(boards, personal=True)
    assert (meter.requests, meter.read_units) == (4, 8)
    assert (found.newest, found.version.number, found.since.number, found.parent) == (9, 9, 8, ORGANISATION)
    assert [(each.name, each.text) for each in found.scalars] == [
        ("name", "Atlas of the harbour"),
        ("description", f"A board {NASTY}"),
    ]
    shapes = found.collections[0]
    assert ([item.id for item in shapes.items], shapes.count, shapes.parts) == (["s1", "s2", "s3", "s4"], 4, 1)
    assert [(each.name, each.counts) for each in found.difference.collections] == [
        ("shapes", {"added": 0, "changed": 1, "removed": 0})
    ]
    assert [(each.client, each.id, each.name) for each in found.mutations] == [("ben", 3, "put_shape")]
    assert '"circle"' in found.mutations[0].arguments.text


def test_any_two_versions_with_the_mutations_between_them(boards: Boards) -> None:
    found = seen(boards, version=9, since=4, personal=True)
    assert [(each.version, each.name, each.client) for each in found.mutations] == [
        (9, "put_shape", "ben"),
        (8, "rename", "ada"),
        (7, "put_shape", "eve"),
        (6, "put_comment", "ben"),
        (5, "move_shape", "ben"),
        (5, "move_shape", "ada"),
    ]
    rejected = found.mutations[2]
    assert "another organisation" in rejected.error
    assert rejected.principal.text == "nobody"
    assert [(each.name, each.before.text, each.after.text) for each in found.difference.scalars] == [
        ("name", "Atlas", "Atlas of the harbour")
    ]
    changes = {each.name: each.ids for each in found.difference.collections}
    assert changes["shapes"] == {"added": (), "changed": ("s1", "s2", "s4"), "removed": ()}
    assert changes["comments"]["added"] == ("c1",)
    back = seen(boards, version=4, since=9, personal=True)
    assert {each.name: each.ids for each in back.difference.collections}["comments"]["removed"] == ("c1",)
    assert len(back.mutations) == 6


def test_the_first_version_is_beside_itself(boards: Boards) -> None:
    found = seen(boards, version=0)
    assert (found.version.number, found.since.number, found.mutations) == (0, 0, ())
    assert found.difference.collections == ()


def test_values_are_covered_until_asked_for(boards: Boards) -> None:
    found = seen(boards, version=9, since=4, item=("comments", "c1"))
    assert {each.text for each in found.scalars} == {COVERED}
    assert {each.arguments.text for each in found.mutations} == {COVERED}
    assert {each.after.text for each in found.difference.scalars} == {COVERED}
    assert found.content is not None
    assert (found.content.after.text, found.content.before.text) == (COVERED, COVERED)


def test_the_content_of_an_item_in_both_versions(boards: Boards) -> None:
    content = seen(boards, version=9, since=4, item=("shapes", "s1"), personal=True).content
    assert content is not None
    assert '"x": 40,' in content.before.text
    assert '"x": 400,' in content.after.text
    added = seen(boards, version=9, since=4, item=("comments", "c1"), personal=True).content
    assert added is not None
    assert (added.before.text, "<script>" in added.after.text) == ("", True)
    nothing = seen(boards, item=("shapes", "nothing"), personal=True).content
    assert nothing is not None
    assert nothing.note == "neither version has it, in the parts that were read"
    with pytest.raises(NotFound, match="no collection"):
        seen(boards, item=("nothing", "s1"))


def test_a_content_of_a_megabyte_is_cut_and_its_length_is_said(boards: Boards) -> None:
    boards.app.boards.apply(BOARD, [put_shape(id="big", shape={"text": "x" * 1_000_000}).by("ben", 4)])
    content = seen(boards, item=("shapes", "big"), personal=True).content
    assert content is not None
    assert (len(content.after.text), content.after.characters > 1_000_000, content.after.is_cut) == (20_000, True, True)


def test_without_a_store_everything_but_contents_is_shown(boards: Boards) -> None:
    context = contexts_of([projects], boards.db.target.seal, None)["Project"]
    assert isinstance(context.store, NoBlobs)
    flow = inspect_document(boards.db.port, context, BOARD, item=("shapes", "s1"), personal=True)
    found = boards.db.run(flow)
    assert found.content is not None
    assert (found.kind.has_contents, found.content.note) == (False, "the studio was given no store of contents")
    assert found.collections[0].count == 4


def test_many_versions_are_bounded(boards: Boards) -> None:
    for number in range(1, 41):
        boards.app.boards.apply(BOARD, [rename(name=f"n{number}").by("zoe", number)])
    with boards.db.meter() as meter:
        found = seen(boards, version=49, since=2)
    assert meter.requests == 4
    assert [each.version for each in found.mutations] == list(range(49, 49 - MOST_VERSIONS, -1))
    assert found.left_out == 47 - MOST_VERSIONS


def test_a_large_collection_is_shown_a_page_at_a_time(boards: Boards) -> None:
    """Of 12,000 items in two parts of 400 KB: each page reads one or two of them, the difference only when asked."""
    documents = boards.app.boards
    (shape,) = documents.store(BOARD, Project.shapes, [{"kind": "note"}])

    fill(documents, BOARD, shape, 12_000)
    with boards.db.meter() as meter:
        found = seen(boards, personal=True)
    assert meter.requests == 4
    assert meter.read_units < 220
    assert (found.difference.unread, found.collections[0].parts, found.collections[0].read) == (("shapes",), 2, 1)
    whole = seen(boards, whole=True)
    assert whole.difference.collections[0].counts["added"] == 12_000
    assert len(whole.difference.collections[0].ids["added"]) == MOST_ITEMS
    context, port = context_at(boards), boards.db.port
    in_first = found.collections[0].count
    ids: list[str] = []
    after: str | None = f"0:many-{in_first - 81:06}"  # thirty before the end of the first part
    for _ in range(3):
        page = boards.db.run(inspect_collection(port, context, BOARD, found.newest, "shapes", after=after))
        ids += [item.id for item in page.items]
        after = page.after
    assert ids == [f"many-{n:06}" for n in range(in_first - 80, in_first + 70)]
    last = boards.db.run(inspect_collection(port, context, BOARD, found.newest, "shapes", after="1:many-011990"))
    assert ([item.id for item in last.items][-4:], last.after) == (["s1", "s2", "s3", "s4"], None)
    with pytest.raises(InvalidRequest):
        boards.db.run(inspect_collection(port, context, BOARD, found.newest, "shapes", after=f"x:{NASTY}"))


def test_history_tags_and_branches(boards: Boards) -> None:
    context, port = context_at(boards), boards.db.port
    with boards.db.meter() as meter:
        found = boards.db.run(inspect_history(port, context, BOARD))
    assert (meter.requests, meter.read_units) == (5, 4.5)
    assert [line.number for line in found.versions] == list(range(9, -1, -1))
    assert (found.versions[2].rejected, found.versions[4].clients) == (1, 2)
    assert [(tag.name, tag.number) for tag in found.tags] == [("first-draft", 4)]
    assert [(branch.id, branch.version) for branch in found.branches] == [(BRANCH, 5)]
    of_branch = boards.db.run(inspect_history(port, context, BRANCH))
    assert (of_branch.root, len(of_branch.versions)) == (BOARD, 1)
    with pytest.raises(InvalidCursor):
        boards.db.run(inspect_history(port, context, BOARD, after="nonsense"))


def test_what_waits_says_what_for(boards: Boards) -> None:
    documents, context, port = boards.app.boards, context_at(boards), boards.db.port
    documents.submit(BOARD, [put_shape(id="s", shape={}).by("ada", 7), rename(name="x").by("eve", 4)])

    documents.submit(BOARD, [Mutation.of("of_another_program", {}).by("ben", 4)])
    with boards.db.meter() as meter:
        found = boards.db.run(inspect_inbox(port, context, BOARD, personal=True))
    assert meter.requests == 4
    assert [(each.client, each.id, each.why) for each in found.waiting] == [
        ("ada", 7, "a processor"),
        ("ben", 4, "a program that has the mutation of_another_program"),
        ("eve", 3, "the client's mutation 2, which is not here"),
        ("eve", 4, "the client's mutation 2, which is not here"),
    ]
    assert [(each.client, each.last_id, each.version) for each in found.clients] == [
        ("ada", 6, 8),
        ("ben", 3, 9),
        ("eve", 1, 7),
    ]
    covered = boards.db.run(inspect_inbox(port, context, BOARD))
    assert {each.arguments.text for each in covered.waiting} == {COVERED}


def test_contents_that_the_store_has_and_lacks(boards: Boards) -> None:
    context, port = context_at(boards), boards.db.port
    found = boards.db.run(inspect_blobs(port, context, BOARD))
    assert [(each.id, each.state) for each in found.blobs] == [(f"s{n}", "there") for n in (1, 2, 3, 4)]
    boards.blobs.delete(found.blobs[0].path)
    again = boards.db.run(inspect_blobs(port, context, BOARD))
    assert [each.state for each in again.blobs] == ["missing", "there", "there", "there"]
    of_branch = boards.db.run(inspect_blobs(port, context, BRANCH))
    assert (of_branch.pool, of_branch.blobs[0].path) == (BOARD, found.blobs[0].path)
    boards.app.boards.collect_garbage(BOARD)


@pytest.mark.parametrize("document", ["nothing", NASTY])
def test_a_document_that_is_not_there(boards: Boards, document: str) -> None:
    context, port = context_at(boards), boards.db.port
    for flow in (inspect_document, inspect_history, inspect_inbox, inspect_blobs):
        with pytest.raises((NotFound, InvalidValue)):
            boards.db.run(flow(port, context, document))
    with pytest.raises(NotFound):
        seen(boards, version=99)
    with pytest.raises(InvalidRequest):
        seen(boards, version=-1)


def test_a_document_that_was_deleted(boards: Boards) -> None:
    boards.app.boards.delete(BOARD)
    with pytest.raises(NotFound):
        seen(boards)
    assert seen(boards, BRANCH).newest == 0
