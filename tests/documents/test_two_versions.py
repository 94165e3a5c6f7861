"""Two versions of a program at once: what only the new one knows waits for it, and what it wrote is not misread."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from singletable import Table, connect, connect_async
from singletable.documents import AsyncDocuments, Bounds, Document, Documents, Draft, Items, LocalBlobs, Mutation
from tests.documents.shells import Disguised
from tests.faults.clock import Clock

WAITS = 600.0


@dataclass
class Old:
    """The program that is running."""

    kind: type[Any]
    put: Any


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

    return Old(Project, put)


@dataclass
class New:
    """The program that is being deployed."""

    kind: type[Any]
    put: Any
    rename: Any


def new_program() -> New:
    app = Table("skew", indexes=["gsi1"])

    @dataclass(frozen=True)
    class Shape:
        x: int = 0

    class Project(Document, table=app, index="gsi1"):
        name: str = ""
        shapes: Items[Shape]

    @Project.mutation
    def put(draft: Draft[Project], *, id: str, x: int) -> None:
        draft.shapes[id] = Shape(x)

    @Project.mutation
    def rename(draft: Draft[Project], *, name: str) -> None:
        draft.name = name

    return New(Project, put, rename)


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
        async with connect_async("local", clock=clock.now) as adb:
            yield Bench(kind, adb, LocalBlobs(tmp_path), clock)
    else:
        with connect("local", clock=clock.now) as db:
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
    assert [r.getMessage() for r in caplog.records] == [
        "the mutation 'rename' waits: this program has none of its name"
    ]
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
    assert "there is no mutation of that name" in (found[0].error or "")
    assert await old.check("p1") == []


async def test_many_clients_that_wait_hold_nobody_up(bench: Bench) -> None:
    """More than a version takes."""
    one = old_program()
    old = bench.documents(one.kind)
    await old.create("o1", "p1")
    await old.submit("p1", [Mutation.of("later", {}).by(f"a{n:02}", 1) for n in range(50)])
    await old.submit("p1", [one.put(id="z", x=1).by("z", 1)])
    assert [each.client for each in await old.process("p1")] == ["z"]
