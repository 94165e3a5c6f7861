"""Mutations become versions: exactly once, in client order, with their last ids; in both shells, on each store."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import AlreadyExists, InvalidRequest, InvalidValue, NotFound
from singletable.documents import Document, Documents, Mutation, Outcome
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from singletable.records import flows
from singletable.schema import ANY
from singletable.schema.models import model_of
from tests.documents.models import (
    Comment,
    Project,
    Shape,
    delete_shape,
    fail,
    link_shape,
    move_shape,
    note,
    nothing,
    put_comment,
    put_shape,
    rename,
    said,
)
from tests.documents.shells import World


async def test_a_created_document_is_version_0(world: World) -> None:
    made = await world.docs.create("o1", "p1", name="Atlas")
    assert (made.id, made.parent, made.version, made.name, made.description) == ("p1", "o1", 0, "Atlas", "")
    head = await world.docs.head("p1")
    assert (head.version, head.name, len(head.shapes), head.time) == (0, "Atlas", 0, made.time)
    with pytest.raises(AlreadyExists):
        await world.docs.create("o1", "p1")
    with pytest.raises(AlreadyExists):
        await world.docs.create("o2", "p1")
    with pytest.raises(NotFound):
        await world.docs.head("p2")


async def test_mutations_of_a_batch_see_each_other_and_make_one_version(world: World) -> None:
    await world.docs.create("o1", "p1")
    found = await world.docs.apply(
        "p1",
        [
            put_shape(id="s1", shape=Shape(1, 2, "é")).by("c", 1),
            move_shape(id="s1", x=5, y=6).by("c", 2),
            put_comment(id="r1", text="hello").by("c", 3),
            rename(name="Atlas").by("c", 4),
            delete_shape(id="s1").by("c", 5),
            put_shape(id="s2", shape=Shape(7, 8)).by("c", 6),
        ],
    )
    assert [(o.id, o.status, o.version) for o in found] == [(i, "applied", 1) for i in range(1, 7)]
    head = await world.docs.head("p1")
    assert (head.version, head.name, list(head.shapes), list(head.comments)) == (1, "Atlas", ["s2"], ["r1"])
    assert await world.docs.load(head.shapes) == {"s2": Shape(7, 8)}
    assert await world.docs.load(head.comments, ["r1"]) == {"r1": Comment("hello")}
    assert await world.docs.last_ids("p1", ["c", "d"]) == {"c": 6, "d": 0}


async def test_submitting_is_durable_and_changes_no_version(world: World) -> None:
    await world.docs.create("o1", "p1")
    found = await world.docs.submit("p1", [note(word="a").by("c", 1)])
    assert found == [Outcome("c", 1, "note", "waiting")]
    assert (await world.docs.head("p1")).version == 0
    assert await world.docs.process("p1") == [Outcome("c", 1, "note", "applied", 1)]
    assert await world.docs.process("p1") == []
    with pytest.raises(NotFound):
        await world.docs.submit("p2", [note(word="a").by("c", 1)])


async def test_ids_at_or_below_the_last_are_answered_from_the_record(world: World) -> None:
    await world.docs.create("o1", "p1")
    first = await world.docs.apply("p1", [note(word="a").by("c", 1), fail(after="x").by("c", 2)])
    again = await world.docs.apply("p1", [fail(after="other").by("c", 1), note(word="other").by("c", 2)])
    assert again == first
    assert [o.status for o in first] == ["applied", "rejected"]
    assert said(await world.docs.head("p1")) == ["a"]


def test_without_its_record_a_mutation_is_not_applied_again(light: Documents[Project]) -> None:
    """The client's last id decides alone: a record is for its outcome. It can be gone, the last id can't."""
    light.create("o1", "p1")
    pushed = [note(word="a").by("c", 1), put_shape(id="s", shape=Shape(1, 1)).by("c", 2)]
    light.apply("p1", pushed)
    for id in (1, 2):
        key = rows_of().mutation.by_id("p1", "c", id)
        light.db.run(light.db.port.send(DeleteItem(key.model.table.name, key.model.key_item(key), RawCondition(), RAW)))
    light.submit("p1", pushed)
    assert light.process("p1") == []
    assert (light.head("p1").version, said(light.head("p1")), light.last_ids("p1", ["c"])) == (1, ["a"], {"c": 2})
    assert [outcome.status for outcome in light.apply("p1", [note(word="b").by("c", 3)])] == ["applied"]
    light.delete("p1")


def test_no_item_of_a_document_expires() -> None:
    rows: Any = rows_of()
    kinds: list[Any] = [value for value in rows.__dict__.values() if isinstance(value, type)]
    kinds += rows.collections.values()
    assert len(kinds) > 7
    assert [kind for kind in kinds if model_of(kind).expires is not None] == []


def rows_of() -> Any:
    assert Project.__document__ is not None
    return Project.__document__.rows


async def test_a_gap_waits_and_duplicates_in_the_inbox_are_one(world: World) -> None:
    await world.docs.create("o1", "p1")
    assert (await world.docs.apply("p1", [note(word="3").by("c", 3)]))[0].status == "waiting"
    await world.docs.submit("p1", [note(word="2").by("c", 2), note(word="z").by("d", 1)])
    await world.docs.submit("p1", [note(word="two").by("c", 2)])
    assert [o.client for o in await world.docs.process("p1")] == ["d"]
    found = await world.docs.apply("p1", [note(word="1").by("c", 1)])
    assert [(o.id, o.status) for o in found] == [(1, "applied")]
    assert said(await world.docs.head("p1")) == ["z", "1", "2", "3"]
    assert await world.docs.last_ids("p1", ["c"]) == {"c": 3}


async def test_what_lies_in_the_inbox_is_applied_not_what_comes_again(world: World) -> None:
    await world.docs.create("o1", "p1")
    await world.docs.submit("p1", [note(word="first").by("c", 1), note(word="of another").by("d", 1)])
    outcomes = await world.docs.apply("p1", [note(word="again").by("c", 1), note(word="next").by("c", 2)])
    assert [(outcome.id, outcome.status) for outcome in outcomes] == [(1, "applied"), (2, "applied")]
    assert sorted((await world.docs.head("p1")).log) == ["first", "next", "of another"]
    assert await world.docs.process("p1") == []


async def test_an_apply_takes_what_waits_too_and_what_waits_for_an_id_stays(world: World) -> None:
    await world.docs.create("o1", "p1")
    await world.docs.submit("p1", [note(word="of another").by("d", 1), note(word="after a gap").by("e", 2)])
    (outcome,) = await world.docs.apply("p1", [note(word="own").by("c", 1)])
    assert (outcome.status, outcome.version) == ("applied", 1)
    assert sorted((await world.docs.head("p1")).log) == ["of another", "own"]
    (outcome,) = await world.docs.apply("p1", [note(word="the gap").by("e", 1)])
    assert (outcome.status, outcome.version) == ("applied", 2)
    assert (await world.docs.head("p1")).log[-2:] == ["the gap", "after a gap"]


async def test_none_is_no_arguments_for_a_mutation_from_a_client(world: World) -> None:
    """As for an endpoint of the application's own, which gets Replicache's `"args": null`."""
    await world.docs.create("o1", "p1")
    assert Mutation.of("rename", None) == Mutation.of("rename", {})
    for id, name in enumerate(("note", "rename"), 1):
        (outcome,) = await world.docs.apply("p1", [Mutation.of(name, None).by("c", id)])
        assert outcome.status == "rejected"  # both need an argument, and are told which
        assert f"{name} are not what it takes" in (outcome.error or "")
        assert "one object with a member for each parameter" in (outcome.error or "")


async def test_a_poisoned_mutation_is_rejected_with_its_error_and_delays_no_other(world: World) -> None:
    await world.docs.create("o1", "p1")
    poisoned = [
        fail(after="x").by("c", 1),
        Mutation.of("$unknown", {"a": 1}).by("c", 2),
        Mutation.of("rename", {"name": 3}).by("c", 3),
        Mutation.of("rename", {"name": None}).by("c", 4),
        Mutation.of("rename", [1]).by("c", 5),
        Mutation.of("$restore", {"version": 1}).by("c", 6),
        move_shape(id="missing", x=1, y=1).by("c", 7),
        rename(name="x" * 1600).by("c", 8),
        put_shape(id="", shape=Shape()).by("c", 9),
    ]
    found = await world.docs.apply("p1", [*poisoned, note(word="after").by("c", 10)])
    assert [o.status for o in found] == [*["rejected"] * 9, "applied"]
    errors = [o.error or "" for o in found]
    assert errors[0] == "RuntimeError: on purpose"
    assert "no mutation has that name" in errors[1]
    assert errors[6].startswith("KeyError")
    assert "name (1604 bytes)" in errors[7]
    assert all(errors[:9])
    head = await world.docs.head("p1")
    assert (head.version, head.name, said(head), len(head.shapes)) == (1, "", ["after"], 0)


async def test_what_has_no_effect_moves_the_version_too(world: World) -> None:
    await world.docs.create("o1", "p1")
    await world.docs.apply("p1", [nothing().by("c", 1)])
    await world.docs.apply("p1", [fail().by("c", 2)])
    head = await world.docs.head("p1")
    assert head.version == 2
    assert await world.docs.last_ids("p1", ["c"]) == {"c": 2}


async def test_more_than_a_version_takes_go_into_the_next(world: World) -> None:
    await world.docs.create("o1", "p1")
    found = await world.docs.apply("p1", [note(word=str(i)).by("c", i) for i in range(1, 96)])
    assert [o.version for o in found] == [1] * 40 + [2] * 40 + [3] * 15
    assert said(await world.docs.head("p1")) == [str(i) for i in range(1, 96)]


async def test_clients_take_turns(world: World) -> None:
    await world.docs.create("o1", "p1")
    await world.docs.submit("p1", [note(word=f"a{i}").by("a", i) for i in range(1, 4)])
    await world.docs.submit("p1", [note(word=f"b{i}").by("b", i) for i in range(1, 3)])
    await world.docs.process("p1")
    assert said(await world.docs.head("p1")) == ["a1", "b1", "a2", "b2", "a3"]


async def test_large_arguments_lie_in_a_blob_and_are_one_mutation(world: World) -> None:
    await world.docs.create("o1", "p1")
    shape = Shape(1, 1, "é" * 20_000)
    await world.docs.submit("p1", [put_shape(id="s1", shape=shape).by("c", 1)])
    row = (await world.run(_inbox(world)))[0]
    assert row.arguments is None
    assert row.arguments_blob is not None
    await world.docs.process("p1")
    assert await world.docs.load((await world.docs.head("p1")).shapes) == {"s1": shape}
    assert (await world.docs.collect_garbage("p1")).deleted == 0


async def _inbox(world: World) -> Any:
    inbox: Any = Project.Inbox
    return await flows.read_all(world.db.port, inbox.by_id("p1", ANY))


async def test_stored_contents_are_referred_to_and_written_once(world: World) -> None:
    await world.docs.create("o1", "p1")
    (ref,) = await world.docs.store("p1", Project.shapes, [Shape(9, 9, "stored")])
    await world.docs.apply("p1", [link_shape(id="s", shape=ref).by("c", 1), link_shape(id="t", shape=ref).by("c", 2)])
    head = await world.docs.head("p1")
    assert await world.docs.load(head.shapes) == {"s": Shape(9, 9, "stored"), "t": Shape(9, 9, "stored")}
    assert len(list(world.store.list("o1/projects/p1/"))) == 1


async def test_what_was_read_never_changes(world: World) -> None:
    await world.docs.create("o1", "p1", name="a")
    head = await world.docs.head("p1")
    with pytest.raises(InvalidRequest, match="never changes"):
        head.name = "b"
    with pytest.raises(InvalidRequest, match="never changes"):
        head.shapes["s"] = Shape()
    with pytest.raises(InvalidRequest, match="never changes"):
        head.shapes.clear() if len(head.shapes) else head.shapes.__delitem__("s")


async def test_wrong_calls_are_refused_before_anything_is_sent(world: World) -> None:
    await world.docs.create("o1", "p1")
    with pytest.raises(InvalidRequest, match="twice"):
        await world.docs.submit("p1", [nothing().by("c", 1), note(word="x").by("c", 1)])
    with pytest.raises(InvalidValue, match="from 1 to"):
        nothing().by("c", 0)
    with pytest.raises(InvalidValue):
        await world.docs.create("o1", "p2", nothing="x")
    with pytest.raises(InvalidValue):
        await world.docs.create("o1", "p2", name=3)
    wrong: Any = "3"
    with pytest.raises(InvalidValue, match="declared type"):
        move_shape(id="s", x=wrong, y=1)
    missing: Any = move_shape
    with pytest.raises(TypeError):
        missing(id="s")
    other: Any = Document
    with pytest.raises(InvalidRequest, match="is not made by its class"):
        Project()
    assert other.__document__ is None
