"""Two versions of a program at once: what only the new one knows waits for it, and what it wrote is not misread."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from singletable import InvalidRequest, InvalidValue, Table
from singletable.documents import (
    AsyncDocuments,
    Bounds,
    Document,
    Documents,
    Draft,
    Items,
    LocalBlobs,
    Mutation,
    collection,
)
from singletable.errors import Corrupt, DeclarationError, Newer
from singletable.records import Unreadable
from tests.documents.shells import Disguised
from tests.faults.clock import Clock
from tests.support.engines import fresh, fresh_async

WAITS = 600.0


@dataclass
class Old:
    """The program that is running."""

    kind: type[Any]
    put: Any
    shift: Any


def old_program() -> Old:
    app = Table("skew", indexes=["gsi1"])

    @dataclass(frozen=True)
    class Shape:
        x: int = 0

    class Project(Document, table=app, index="gsi1", bounds=Bounds(unknown_seconds=WAITS)):
        name: str = ""
        shapes: Items[Shape]

    @Project.mutation
    def put(draft: Draft[Project], *, id: str, x: int) -> None:
        draft.shapes[id] = Shape(x)

    @Project.mutation
    def shift(draft: Draft[Project], *, id: str, by: int) -> None:
        draft.shapes[id] = Shape(draft.shapes[id].x + by)

    return Old(Project, put, shift)


@dataclass
class New:
    """The program that is being deployed."""

    kind: type[Any]
    shift: Any
    put_coloured: Any
    rename: Any


def new_program(*, has_upcaster: bool = True) -> New:
    """Its shapes have a colour, which none of the older ones has."""
    app = Table("skew", indexes=["gsi1"])

    @dataclass(frozen=True)
    class Shape:
        colour: str
        x: int = 0

    class Project(Document, table=app, index="gsi1"):
        name: str = ""
        shapes: Items[Shape] = collection(version=2)

    if has_upcaster:

        @Project.shapes.upcast(1)
        def black(stored: dict[str, Any]) -> dict[str, Any]:
            return {**stored, "colour": "black"}

    @Project.mutation
    def put(draft: Draft[Project], *, id: str, x: int) -> None:
        draft.shapes[id] = Shape("red", x)

    @Project.mutation
    def shift(draft: Draft[Project], *, id: str, by: int) -> None:
        draft.shapes[id] = replace(draft.shapes[id], x=draft.shapes[id].x + by)

    @Project.mutation
    def put_coloured(draft: Draft[Project], *, id: str, colour: str) -> None:
        draft.shapes[id] = Shape(colour)

    @Project.mutation
    def rename(draft: Draft[Project], *, name: str) -> None:
        draft.name = name

    return New(Project, shift, put_coloured, rename)


@dataclass
class Bench:
    """One table and one blob store, for any program."""

    kind: str
    db: Any
    blobs: LocalBlobs
    clock: Clock

    def documents(self, kind: type[Any]) -> AsyncDocuments[Any]:
        made: Any = AsyncDocuments(self.db, kind, blobs=self.blobs) if self.kind == "awaiting" else None
        return cast("AsyncDocuments[Any]", made or Disguised(Documents(self.db, kind, blobs=self.blobs)))


@pytest.fixture
async def bench(kind: str, tmp_path: Path, clock: Clock) -> AsyncIterator[Bench]:
    if kind == "awaiting":
        async with fresh_async(clock=clock.now) as adb:
            yield Bench(kind, adb, LocalBlobs(tmp_path), clock)
    else:
        with fresh(clock=clock.now) as db:
            yield Bench(kind, db, LocalBlobs(tmp_path), clock)


async def test_a_mutation_that_only_the_new_program_knows_waits_for_it(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = old_program(), new_program()
    old, new = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1")
    await new.submit("p1", [other.rename(name="new").by("c", 1), one.put(id="after", x=1).by("c", 2)])
    await new.submit("p1", [one.put(id="other's", x=1).by("d", 1)])
    with caplog.at_level(logging.WARNING, "singletable.documents"):
        assert [(each.client, each.status) for each in await old.process("p1")] == [("d", "applied")]
        assert await old.process("p1") == []
    (waiting,) = [record.getMessage() for record in caplog.records]
    assert waiting.endswith("mutations wait: this program lacks the mutation rename")
    assert [(each.code, "rename" in each.what) for each in await old.check("p1")] == [("inbox.unknown", True)]
    assert await new.check("p1") == []
    assert [(each.id, each.status) for each in await new.process("p1")] == [(1, "applied"), (2, "applied")]
    assert (await new.head("p1")).name == "new"
    assert await old.check("p1") == []


async def test_one_that_no_program_knows_is_rejected_in_the_end(bench: Bench) -> None:
    one = old_program()
    old = bench.documents(one.kind)
    await old.create("o1", "p1")
    await old.submit("p1", [Mutation.of("retired", {}).by("c", 1), one.put(id="after", x=1).by("c", 2)])
    bench.clock.advance(WAITS - 2)
    assert await old.process("p1") == []
    bench.clock.advance(3)
    found = await old.process("p1")
    assert [each.status for each in found] == ["rejected", "applied"]
    assert "no mutation has that name" in (found[0].error or "")
    assert await old.check("p1") == []


async def test_many_waiting_clients_delay_no_other_client(bench: Bench) -> None:
    """More than a version takes."""
    one = old_program()
    old = bench.documents(one.kind)
    await old.create("o1", "p1")
    await old.submit("p1", [Mutation.of("later", {}).by(f"a{n:02}", 1) for n in range(50)])
    await old.submit("p1", [one.put(id="z", x=1).by("z", 1)])
    assert [each.client for each in await old.process("p1")] == ["z"]


# --- parameters, scalars, collections ---------------------------------------------------------------------------------
@dataclass
class Later:
    """A program whose documents have more than those of the old one."""

    kind: type[Any]
    put: Any
    archive: Any


def later_program() -> Later:
    app = Table("skew", indexes=["gsi1"])

    @dataclass(frozen=True)
    class Shape:
        x: int = 0

    class Project(Document, table=app, index="gsi1"):
        name: str = ""
        archived: bool = False
        shapes: Items[Shape]
        notes: Items[str]

    @Project.mutation
    def put(draft: Draft[Project], *, id: str, x: int, note: str = "") -> None:
        draft.shapes[id] = Shape(x)
        if note:
            draft.notes[id] = note

    @Project.mutation
    def archive(draft: Draft[Project]) -> None:
        draft.archived = True

    return Later(Project, put, archive)


@pytest.mark.parametrize("length", [1, 300_000], ids=["in its row", "in a blob"])
async def test_a_mutation_with_an_unknown_parameter_waits(bench: Bench, length: int) -> None:
    one, other = old_program(), later_program()
    old, later = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1")
    await later.submit("p1", [other.put(id="a", x=1, note="n" * length).by("c", 1), one.put(id="b", x=2).by("c", 2)])
    await later.submit("p1", [one.put(id="c", x=3).by("d", 1)])
    assert [(each.client, each.status) for each in await old.process("p1")] == [("d", "applied")]
    assert await old.process("p1") == []
    assert [(each.id, each.status) for each in await later.process("p1")] == [(1, "applied"), (2, "applied")]
    assert sorted((await later.head("p1")).shapes) == ["a", "b", "c"]
    assert sorted((await later.head("p1")).notes) == ["a"]


async def test_a_parameter_that_no_program_knows_is_rejected_in_the_end(bench: Bench) -> None:
    one = old_program()
    old = bench.documents(one.kind)
    await old.create("o1", "p1")
    await old.submit("p1", [Mutation.of("put", {"id": "a", "x": 1, "colour": "red"}).by("c", 1)])
    assert await old.process("p1") == []
    assert [each.code for each in await old.check("p1")] == ["inbox.unknown"]
    bench.clock.advance(WAITS + 1)
    assert [each.status for each in await old.process("p1")] == ["rejected"]


async def test_an_old_program_keeps_scalars_that_it_does_not_know(bench: Bench) -> None:
    one, other = old_program(), later_program()
    old, later = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1", name="n")
    await later.apply("p1", [other.archive().by("c", 1)])
    with bench.db.meter() as meter:
        assert [each.status for each in await old.apply("p1", [one.put(id="a", x=1).by("d", 1)])] == ["applied"]
    kept = meter.requests
    await old.apply("p1", [Mutation.of("put", {"id": "a", "x": "no number"}).by("d", 2)])
    assert (await later.head("p1")).archived is True
    assert not hasattr(await old.head("p1"), "archived")
    assert (await old.diff("p1", 1, 2)).scalars == {}
    await old.create("o1", "p2")
    with bench.db.meter() as meter:
        await old.apply("p2", [one.put(id="a", x=1).by("d", 1)])
    assert meter.requests == kept


async def test_an_old_program_restores_and_merges_scalars_that_it_does_not_know(bench: Bench) -> None:
    one, other = old_program(), later_program()
    old, later = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1", name="n")
    await old.branch("p1", "p2")
    await later.apply("p1", [other.archive().by("c", 1)])
    assert (await old.merge("p1", onto="p2")).is_merged
    assert (await later.head("p2")).archived is True
    await old.restore("p1", version=0, by="c")
    assert (await later.head("p1")).archived is False
    await old.restore("p1", version=1, by="c")
    assert (await later.head("p1")).archived is True


async def test_an_old_program_stands_back_from_a_collection_that_it_does_not_know(bench: Bench) -> None:
    """It goes on with what it knows; what would lose the rest it leaves to the other one."""
    one, other = old_program(), later_program()
    old, later = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1")
    await later.apply("p1", [other.put(id="a", x=1, note="first").by("c", 1)])
    await later.apply("p1", [other.put(id="a", x=2, note="second").by("c", 2)])
    await old.branch("p1", "p2")
    assert dict(await later.load((await later.head("p2")).notes)) == {"a": "second"}
    for call in (
        old.restore("p1", version=1, by="d"),
        old.merge("p2", onto="p1"),
        old.delete("p1"),
    ):
        with pytest.raises(Newer, match="the collection 'notes', which this program does not know"):
            await call
    await old.apply("p1", [one.put(id="b", x=3).by("e", 1)])
    await old.collect_garbage("p1")
    assert dict(await later.load((await later.head("p1")).notes)) == {"a": "second"}
    assert await later.check("p1") == await later.check("p2") == await old.check("p1") == []


async def test_a_restore_of_the_new_program_is_left_to_it(bench: Bench) -> None:
    """Also one to before the collection: the old program would leave its items."""
    one, other = old_program(), later_program()
    old, later = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1")
    await later.apply("p1", [other.put(id="a", x=1, note="first").by("c", 1)])
    assert (await old.restore("p1", version=0, by="d")).status == "waiting"
    await old.apply("p1", [one.put(id="b", x=3).by("e", 1)])
    assert await old.process("p1") == []
    assert [each.status for each in await later.process("p1")] == ["applied"]
    head = await later.head("p1")
    assert (sorted(head.shapes), sorted(head.notes)) == ([], [])


# --- contents ---------------------------------------------------------------------------------------------------------
async def shapes_of(documents: AsyncDocuments[Any]) -> dict[str, Any]:
    found = await documents.load((await documents.head("p1")).shapes)
    return {id: vars(shape) for id, shape in found.items()}


async def test_an_older_content_is_brought_up_on_read_and_stays_as_it_is(bench: Bench) -> None:
    one, other = old_program(), new_program()
    old, new = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1")
    await old.apply("p1", [one.put(id=id, x=1).by("c", n) for n, id in enumerate("ab", 1)])
    assert await shapes_of(new) == {id: {"colour": "black", "x": 1} for id in "ab"}
    found = await new.apply("p1", [other.shift(id="a", by=2).by("c", 3), other.rename(name="n").by("d", 1)])
    assert [each.status for each in found] == ["applied", "applied"]
    assert await shapes_of(new) == {"a": {"colour": "black", "x": 3}, "b": {"colour": "black", "x": 1}}
    assert (await old.load((await old.head("p1")).shapes, ["b"]))["b"].x == 1, "the old program reads it still"
    assert await new.check("p1") == await old.check("p1") == []
    await new.branch("p1", "p2")
    await new.restore("p1", version=1, by="c")
    assert await shapes_of(new) == {id: {"colour": "black", "x": 1} for id in "ab"}


async def test_a_newer_content_makes_an_old_program_wait_and_no_other(bench: Bench) -> None:
    one, other = old_program(), new_program()
    old, new = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1")
    await new.apply("p1", [other.put_coloured(id="s", colour="red").by("n", 1)])
    with pytest.raises(Corrupt, match=r"version 2, this program knows 1.*Deploy"):
        await shapes_of(old)
    await old.submit("p1", [one.shift(id="s", by=1).by("c", 1), one.put(id="t", x=5).by("c", 2)])
    await old.submit("p1", [one.put(id="u", x=6).by("d", 1)])
    with bench.db.meter() as meter:
        assert [each.client for each in await old.process("p1")] == ["d"]
    assert meter.requests == 16  # one version: who is held ends no batch
    assert await old.process("p1") == []
    assert await old.last_ids("p1", ["c", "d"]) == {"c": 0, "d": 1}
    assert [(each.id, each.status) for each in await new.process("p1")] == [(1, "applied"), (2, "applied")]
    assert (await shapes_of(new))["s"] == {"colour": "red", "x": 1}


async def test_without_an_upcaster_one_clear_error_says_what_to_write(bench: Bench) -> None:
    one, other = old_program(), new_program(has_upcaster=False)
    old, new = bench.documents(one.kind), bench.documents(other.kind)
    await old.create("o1", "p1")
    await old.apply("p1", [one.put(id="s", x=1).by("c", 1)])
    await new.submit("p1", [other.shift(id="s", by=1).by("c", 2), other.rename(name="n").by("d", 1)])
    with pytest.raises(Corrupt, match=r"nothing turns it into 2.*@Project.shapes.upcast\(1\)"):
        await new.process("p1")
    assert (await new.head("p1")).name == "n", "nobody else waits"
    repaired = bench.documents(new_program().kind)
    assert [each.status for each in await repaired.process("p1")] == ["applied"]


def test_upcasters_are_declared_once_for_each_version_before(tmp_path: Path) -> None:
    kind: Any = new_program().kind

    def same(stored: Any) -> Any:
        return stored

    for version in (0, 1, 2):
        with pytest.raises(DeclarationError, match=f"upcast\\({version}\\)"):
            kind.shapes.upcast(version)(same)
    with pytest.raises(DeclarationError, match="first version is 1"):
        collection(version=0)
    with fresh() as db:
        shapes = Documents(db, kind, blobs=LocalBlobs(tmp_path)).create("o1", "p1").shapes
    with pytest.raises(InvalidRequest, match="class's collection"):
        shapes.upcast(1)


def test_what_looks_like_an_envelope_is_refused_and_what_only_begins_so_is_not() -> None:
    class Notes(Document, table=Table("envelopes")):
        any: Items[dict[str, Any]]

    notes: Any = Notes.any
    codec: Any = notes.codec
    for fine in ({"$": 1}, {"$": 1, "$v": "2"}, {"$": 1, "$u": 1, "$v": 2}, {"$v": 2}, {"$": 1, "$v": 2, "z": 1}):
        assert codec.decode(codec.encode(fine)) == fine
    with pytest.raises(InvalidValue, match="envelope"):
        codec.encode({"$": {}, "$v": 2})


@dataclass(frozen=True)
class WideShape:
    x: int | str


@dataclass(frozen=True)
class NarrowShape:
    x: int


def wide_program() -> tuple[type[Any], Any]:
    app = Table("skew", indexes=["gsi1"])

    class Project(Document, table=app, index="gsi1"):
        shapes: Items[WideShape]

    @Project.mutation
    def put(draft: Draft[Project], *, id: str, x: int | str) -> None:
        draft.shapes[id] = WideShape(x)

    return Project, put


def narrow_program() -> type[Any]:
    app = Table("skew", indexes=["gsi1"])

    class Project(Document, table=app, index="gsi1"):
        shapes: Items[NarrowShape]

    return Project


async def test_contents_that_cant_be_read_hold_up_no_other(bench: Bench, tmp_path: Path) -> None:
    """Those of another type, and one that is lost, are told; the error names the content, and shows none of it."""
    wide, put = wide_program()
    writer, reader = bench.documents(wide), bench.documents(narrow_program())
    await writer.create("o", "p")
    odd = ("s000", "s007", "s039")
    values = {f"s{n:03}": n for n in range(40)}
    wanted = [put(id=id, x="secret" if id in odd else n).by("c", n + 1) for id, n in values.items()]
    outcomes = await writer.apply("p", wanted)
    assert [each.error for each in outcomes if each.error] == []
    shapes = (await reader.head("p")).shapes
    next(path for path in tmp_path.rglob(f"*{shapes.hash_of('s005')}*") if path.is_file()).unlink()
    with pytest.raises(Corrupt) as caught:
        await reader.load(shapes)
    assert shapes.hash_of("s000") in str(caught.value)
    assert "secret" not in str(caught.value)
    told: list[Unreadable] = []
    found = await reader.load(shapes, unreadable=told.append)
    assert {id: shape.x for id, shape in found.items()} == {
        id: n for id, n in values.items() if id not in (*odd, "s005")
    }
    assert {each.key: each.item for each in told} == {id: {"sha256": shapes.hash_of(id)} for id in (*odd, "s005")}
    assert {each.error.operation for each in told} == {"load"}
