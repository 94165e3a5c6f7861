"""What waits behind a missing id is bounded, told, and cleaned up; what only waits for a processor is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from singletable import InvalidRequest, Table, Unavailable
from singletable.documents import AsyncDocuments, Bounds, Document, Documents, Draft, LocalBlobs, Mutation
from tests.documents.shells import Disguised
from tests.faults.clock import Clock
from tests.support.engines import fresh, fresh_async

app = Table("waiting-test", indexes=["gsi1"])
DAY = 86_400.0


class Project(Document, table=app, index="gsi1", bounds=Bounds(ahead=50, waiting=20, gap_seconds=DAY)):
    log: list[str] = []


@Project.mutation
def note(draft: Draft[Project], *, word: str) -> None:
    draft.log.append(word[:1])


@pytest.fixture
async def docs(kind: str, tmp_path: Path, clock: Clock) -> AsyncIterator[AsyncDocuments[Project]]:
    if kind == "awaiting":
        async with fresh_async(clock=clock.now) as adb:
            yield AsyncDocuments(adb, Project, blobs=LocalBlobs(tmp_path))
    else:
        with fresh(clock=clock.now) as db:
            disguised: Any = Disguised(Documents(db, Project, blobs=LocalBlobs(tmp_path)))
            yield disguised


async def test_what_waits_behind_gaps_is_bounded_in_a_document(docs: AsyncDocuments[Project]) -> None:
    await docs.create("o1", "p1")
    for number in range(20):
        await docs.submit("p1", [note(word="x").by(f"a{number:02}", 2)])
    for refused in ([note(word="x").by("b", 2)], [note(word="x").by("c", 1), Mutation.of("later", {}).by("c", 2)]):
        with pytest.raises(Unavailable, match="20 mutations wait"):
            await docs.submit("p1", refused)
    assert await docs.last_ids("p1", ["b", "c"]) == {"b": 0, "c": 0}
    found = await docs.apply("p1", [note(word="g").by("good", n) for n in range(1, 40)])
    assert {each.status for each in found} == {"applied"}, "what can be applied is taken"
    assert (await docs.apply("p1", [note(word="f").by("a00", 1)]))[0].status == "applied", "so is what fills a gap"
    assert await docs.last_ids("p1", ["a00"]) == {"a00": 2}
    await docs.submit("p1", [note(word="x").by("b", 2)])


async def test_what_waits_for_an_unknown_argument_is_bounded_too(docs: AsyncDocuments[Project]) -> None:
    await docs.create("o1", "p1")
    newer = Mutation.of("note", {"word": "x", "more": 1})
    for number in range(20):
        await docs.submit("p1", [newer.by(f"a{number:02}", 1)])
    with pytest.raises(Unavailable, match="20 mutations wait"):
        await docs.submit("p1", [newer.by("b", 1)])
    (outcome,) = await docs.apply("p1", [note(word="g").by("good", 1)])
    assert outcome.status == "applied", "what can be applied is taken"


async def test_a_client_is_not_too_far_ahead(docs: AsyncDocuments[Project]) -> None:
    await docs.create("o1", "p1")
    with pytest.raises(InvalidRequest, match="the mutation 51 is more than 50 ahead"):
        await docs.submit("p1", [note(word="x").by("a", n) for n in (1, 51)])
    assert await docs.process("p1") == [], "nothing was submitted"
    await docs.apply("p1", [note(word="x").by("a", n) for n in range(1, 51)])
    await docs.apply("p1", [note(word="x").by("a", n) for n in range(51, 101)])
    assert await docs.last_ids("p1", ["a"]) == {"a": 100}


async def test_what_waits_for_the_processor_alone_is_no_gap(docs: AsyncDocuments[Project]) -> None:
    await docs.create("o1", "p1")
    for number in range(1, 31):
        await docs.submit("p1", [note(word="x").by("a", number)])
    assert len(await docs.process("p1")) == 30


async def test_what_nobody_processes_is_reported_after_five_minutes(
    docs: AsyncDocuments[Project], clock: Clock
) -> None:
    """One finding for each client: its first mutation, which those after it wait for."""
    await docs.create("o1", "p1")
    await docs.submit("p1", [note(word="x").by(client, n) for client in ("a", "b") for n in (1, 2, 3)])
    clock.advance(300)
    assert await docs.check("p1") == []
    clock.advance(1)
    await docs.submit("p1", [note(word="new").by("a", 4), note(word="new").by("c", 1)])
    found = await docs.check("p1")
    assert [(each.code, each.key[1]) for each in found] == [
        ("inbox.unprocessed", "Inbox#a#000000000001"),
        ("inbox.unprocessed", "Inbox#b#000000000001"),
    ]
    assert all("process()" in each.what for each in found)
    await docs.process("p1")
    assert await docs.check("p1") == []


async def test_a_gap_is_reported_after_a_while_and_cleaned_up_after_a_day(
    docs: AsyncDocuments[Project], clock: Clock, tmp_path: Path
) -> None:
    await docs.create("o1", "p1")
    await docs.submit("p1", [note(word="x" * 5000).by("a", 2), note(word="y").by("a", 3)])
    assert await docs.check("p1") == []
    clock.advance(61)
    (finding,) = await docs.check("p1")
    assert (finding.code, "wait for the client's mutation 1" in finding.what) == ("inbox.gap", True)
    assert (await docs.collect_garbage("p1")).dropped == 0
    assert len([*tmp_path.rglob("*.json.gz")]) == 1
    clock.advance(DAY)
    await docs.submit("p1", [note(word="z").by("b", 2), note(word="w").by("c", 1)])
    found = await docs.collect_garbage("p1")
    assert (found.dropped, found.deleted) == (2, 1)
    assert [*tmp_path.rglob("*.json.gz")] == []
    assert [(each.client, each.status) for each in await docs.process("p1")] == [("c", "applied")]
    found_now = await docs.apply("p1", [note(word=word).by("a", n) for n, word in enumerate("123", 1)])
    assert [each.status for each in found_now] == ["applied"] * 3, "its client may submit them again"
    assert (await docs.head("p1")).log == ["w", "1", "2", "3"]
