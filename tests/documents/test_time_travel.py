"""Every version stays: it can be read, compared, restored, branched off and replayed; both shells, each store."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from singletable import AlreadyExists, InvalidRequest, InvalidValue, NotFound
from singletable.documents import CollectionDiff, Mutation
from tests.documents.models import (
    Comment,
    Project,
    Shape,
    delete_shape,
    fail,
    link_shape,
    move_shape,
    note,
    put_comment,
    put_shape,
    put_shapes,
    rename,
    said,
)
from tests.documents.shells import World


async def written(world: World) -> None:
    """p1 with versions 1 to 5."""
    await world.docs.create("o1", "p1", name="zero")
    steps = [
        [put_shape(id="s1", shape=Shape(1, 1)), put_shape(id="s2", shape=Shape(2, 2))],
        [rename(name="two")],
        [move_shape(id="s1", x=3, y=3), put_comment(id="r1", text="three")],
        [fail()],
        [delete_shape(id="s2"), put_shape(id="s5", shape=Shape(5, 5, "x" * 5000)), note(word="five")],
    ]
    id = 0
    for step in steps:
        await world.docs.apply("p1", [mutation.by("c", id + k) for k, mutation in enumerate(step, 1)])
        id += len(step)


async def test_each_version_has_an_id_of_its_own(world: World) -> None:
    await written(world)
    await world.docs.branch("p1", "p2", version=2)
    await world.docs.apply("p2", [rename(name="other").by("b", 1)])
    ids = [row.id for id in ("p1", "p2") for row in (await world.docs.history(id, limit=20)).items]
    assert [len(id or "") for id in ids] == [12] * 8
    assert len(set(ids)) == len(ids)


async def test_each_version_is_what_it_was(world: World) -> None:
    await written(world)
    found = [await world.docs.at("p1", version=n) for n in range(6)]
    assert [p.version for p in found] == list(range(6))
    assert [p.name for p in found] == ["zero", "zero", "two", "two", "two", "two"]
    assert [list(p.shapes) for p in found] == [[], *[["s1", "s2"]] * 4, ["s1", "s5"]]
    assert [(await world.docs.load(p.shapes, ["s1"]))["s1"].x for p in found[1:]] == [1, 1, 3, 3, 3]
    assert await world.docs.load(found[3].comments) == {"r1": Comment("three")}
    assert [said(p) for p in found] == [*[[]] * 5, ["five"]]
    assert all(one.time < other.time for one, other in pairwise(found))
    with pytest.raises(NotFound):
        await world.docs.at("p1", version=6)


async def test_as_of_a_time(world: World) -> None:
    await world.docs.create("o1", "p1")
    for n in range(1, 40):
        await world.docs.apply("p1", [note(word=str(n)).by("c", n)])
    moment = timedelta(milliseconds=1)
    for n in (0, 1, 7, 16, 17, 38, 39):
        at = (await world.docs.at("p1", version=n)).time
        assert (await world.docs.at("p1", time=at)).version == n
        if n:
            before = (await world.docs.at("p1", version=n - 1)).time
            assert (await world.docs.at("p1", time=max(at - moment, before))).version == n - 1
    with pytest.raises(NotFound):
        await world.docs.at("p1", time=(await world.docs.at("p1", version=0)).time - moment)
    with pytest.raises(InvalidValue, match="zone"):
        await world.docs.at("p1", time=before.replace(tzinfo=None))
    with pytest.raises(InvalidRequest):
        await world.docs.at("p1")


async def test_a_head_without_collections_and_a_collection_without_a_head(world: World) -> None:
    await written(world)
    head = await world.docs.head("p1", collections=[])
    assert (head.version, head.name) == (5, "two")
    only = await world.docs.head("p1", collections=[Project.comments])
    assert list(only.comments) == ["r1"]
    items = await world.docs.items("p1", Project.shapes)
    assert (list(items), len(items), "s1" in items, "s2" in items) == (["s1", "s5"], 2, True, False)
    assert await world.docs.load(items, ["s1"]) == {"s1": Shape(3, 3)}
    await world.docs.create("o1", "p2")
    assert list(await world.docs.items("p2", Project.shapes)) == []
    with pytest.raises(KeyError):
        await world.docs.load(items, ["s2"])


async def test_history_is_paged_newest_first(world: World) -> None:
    await written(world)
    page = await world.docs.history("p1", limit=4)
    assert [v.number for v in page] == [5, 4, 3, 2]
    assert [(m.client, m.id, m.name, m.rejected) for m in page.items[1].mutations] == [("c", 6, "fail", True)]
    rest = await world.docs.history("p1", limit=4, after=page.cursor)
    assert [v.number for v in rest] == [1, 0]
    assert rest.cursor is None


async def test_a_diff_names_what_was_added_changed_and_removed(world: World) -> None:
    await written(world)
    found = await world.docs.diff("p1", 1, 5)
    assert found.scalars == {"name": ("zero", "two"), "log": ([], ["five"])}
    assert found.collections == {
        "shapes": CollectionDiff(("s5",), ("s1",), ("s2",)),
        "comments": CollectionDiff(("r1",)),
    }
    back = await world.docs.diff("p1", 5, 1)
    assert back.collections["shapes"] == CollectionDiff(("s2",), ("s1",), ("s5",))
    assert not await world.docs.diff("p1", 3, 4)


async def test_restoring_is_a_mutation_like_any_other(world: World) -> None:
    await written(world)
    outcome = await world.docs.restore("p1", version=2, by="c")
    assert (outcome.client, outcome.id, outcome.status, outcome.version) == ("c", 10, "applied", 6)
    assert not (await world.docs.diff("p1", 2, 6))
    assert (await world.docs.restore("p1", version=5, by="c")).id == 11
    assert not (await world.docs.diff("p1", 5, 7))
    assert (await world.docs.collect_garbage("p1")).deleted == 0
    with pytest.raises(NotFound):
        await world.docs.restore("p1", version=99, by="c")


async def test_a_restore_over_a_version_is_rejected_where_the_document_has_changed_since(world: World) -> None:
    await written(world)
    seen = (await world.docs.head("p1")).version
    refused = await world.docs.restore("p1", version=2, over=seen - 1, by="c")
    assert refused.status == "rejected"
    assert "was changed since the version that this was to replace" in (refused.error or "")
    assert not await world.docs.diff("p1", seen, seen + 1)
    outcome = await world.docs.restore("p1", version=2, over=seen, by="c")  # the rejected one changed nothing
    assert outcome.status == "applied"
    assert not await world.docs.diff("p1", 2, seen + 2)


async def test_a_restore_that_waits_behind_another_change_is_rejected(world: World) -> None:
    """Whoever processes it finds the change, which was made after the restore was decided."""
    await written(world)
    seen = (await world.docs.head("p1")).version
    await world.docs.submit_next("p1", "another", put_shape(id="late", shape=Shape(1, 1, "late")))
    outcome = await world.docs.restore("p1", version=2, over=seen, by="z")
    assert outcome.status == "rejected"
    assert "late" in (await world.docs.head("p1")).shapes


async def test_only_the_library_submits_its_own_mutation(world: World) -> None:
    await written(world)
    before = await world.docs.head("p1")
    emptied = {"version": 0, "scalars": {}, "items": {"shapes": {}, "comments": {}}}
    found = await world.docs.apply(
        "p1", [Mutation.of("$restore", emptied).by("eve", 1), Mutation.of("$other", {}).by("eve", 2)]
    )
    assert [(o.status, o.error) for o in found] == [("rejected", found[1].error)] * 2
    assert "no mutation has that name" in (found[0].error or "")
    await world.docs.submit_next("p1", "eve", Mutation.of("$restore", emptied))
    assert [(o.id, o.status) for o in await world.docs.process("p1")] == [(3, "rejected")]
    after = await world.docs.head("p1")
    assert not await world.docs.diff("p1", before.version, after.version)


async def test_a_branch_is_a_document_of_its_own(world: World) -> None:
    await written(world)
    made = await world.docs.branch("p1", "p2", version=3)
    assert (made.id, made.version, made.name) == ("p2", 0, "two")
    await world.docs.apply("p2", [delete_shape(id="s1").by("c", 1)])
    assert list((await world.docs.head("p2")).shapes) == ["s2"]
    assert list((await world.docs.head("p1")).shapes) == ["s1", "s5"]
    await world.docs.collect_garbage("p1")
    assert await world.docs.load((await world.docs.at("p2", version=0)).shapes) == {
        "s1": Shape(3, 3),
        "s2": Shape(2, 2),
    }
    with pytest.raises(AlreadyExists):
        await world.docs.branch("p1", "p2")
    elsewhere = await world.docs.branch("p1", "p3", parent="o2")
    assert await world.docs.load(elsewhere.shapes, ["s5"]) == {"s5": Shape(5, 5, "x" * 5000)}
    assert await world.docs.check("p3") == []


async def test_replay_onto_another_state_goes_on_where_it_stopped(world: World) -> None:
    """A rebase: p2 branched off version 1 and deleted s1; p1's later mutations are applied on top of that."""
    await written(world)
    await world.docs.branch("p1", "p2", version=1)
    await world.docs.apply("p2", [delete_shape(id="s1").by("d", 1), rename(name="theirs").by("d", 2)])
    first = await world.docs.replay("p1", since=1, onto="p2", until=3)
    assert [(r.original.name, r.outcome.status) for r in first.mutations] == [
        ("rename", "applied"),
        ("move_shape", "rejected"),
        ("put_comment", "applied"),
    ]
    assert [r.original.name for r in first.rejected] == ["move_shape"]
    assert first.diff.scalars == {"name": ("theirs", "two")}
    more = await world.docs.replay("p1", since=1, onto="p2")
    assert (more.before, more.skipped, len(more.mutations)) == (first.after, 1, 6)
    assert list(more.diff.collections["shapes"].added) == ["s5"]
    again = await world.docs.replay("p1", since=1, onto="p2")
    assert (again.before, again.after) == (more.after, more.after)
    head = await world.docs.head("p2")
    assert await world.docs.load(head.shapes) == {"s5": Shape(5, 5, "x" * 5000)}
    with pytest.raises(InvalidRequest, match="another document"):
        await world.docs.replay("p1", since=0, onto="p1")


async def test_replay_copies_what_arguments_refer_to(world: World) -> None:
    await world.docs.create("o1", "p1")
    (ref,) = await world.docs.store("p1", Project.shapes, [Shape(9, 9)])
    await world.docs.apply("p1", [link_shape(id="s", shape=ref).by("c", 1), put_shapes(count=30).by("c", 2)])
    await world.docs.restore("p1", version=1, by="c")
    await world.docs.create("o2", "p2")
    report = await world.docs.replay("p1", since=0, onto="p2")
    assert report.rejected == ()
    assert await world.docs.load((await world.docs.head("p2")).shapes, ["s"]) == {"s": Shape(9, 9)}
    assert await world.docs.check("p2") == []


async def test_documents_of_an_organisation(world: World) -> None:
    for id in ("p1", "p10", "p2"):
        await world.docs.create("o1", id)
    await world.docs.create("o10", "p3")
    assert [row.document_id for row in await world.docs.page("o1")] == ["p1", "p10", "p2"]
    page = await world.docs.page("o1", limit=2)
    assert [row.document_id for row in await world.docs.page("o1", limit=2, after=page.cursor)] == ["p2"]
    assert await world.docs.parent("p3") == "o10"
