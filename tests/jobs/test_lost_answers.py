"""Each answer of a job is lost in turn: what a person asks for is done once, and what a job makes is the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from singletable import Database
from singletable.documents import Documents, LocalBlobs
from singletable.exchange import DirectoryStore, read_manifest
from singletable.jobs import AsyncJobs, Jobs, JobStatus
from singletable.jobs.states import JobEvent
from singletable.jobs.store import JobStore
from singletable.wire import RetryPolicy
from tests.documents.models import Project, Shape, app
from tests.faults.actions import Action, ApplyThenCut, DropBefore
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.jobs.people import application_items, put_people
from tests.migrations.models import new
from tests.support.engines import fresh, fresh_async

AT_ONCE = RetryPolicy(base_seconds=0.0, cap_seconds=0.0)
FAULTS: list[Any] = [
    pytest.param(ApplyThenCut(), 7, id="some answers"),
    pytest.param(ApplyThenCut(), 1, id="answers", marks=pytest.mark.soak),
    pytest.param(DropBefore(), 1, id="requests", marks=pytest.mark.soak),
]
"""What happens to a request, and to one of how many."""


def each_lost(action: Action, run: Callable[[Database, Callable[[], None]], Any], every: int = 1) -> list[Any]:
    """What a run tells with one request lost, with a later one, and so on; the last one loses none. A run calls the
    given function where the faults begin."""
    told, faults = list[Any](), Faults()
    while not told or faults.actions:
        faults = Faults()
        rule = Rule(Match(nth=len(told) * every + 1), action)
        with fresh(retry=AT_ONCE) as db:
            make_faulty(db.port, faults)
            told.append(run(db, partial(faults.add, rule)))
    return told


# --- what a person does -----------------------------------------------------------------------------------------------
VERBS: list[Any] = [
    pytest.param((), "pause", {"by": "ada"}, "paused", id="pause"),
    pytest.param((JobEvent.PAUSE,), "resume", {"write_cap": 9.0}, "running", id="resume"),
    pytest.param((JobEvent.FAIL,), "resume", {}, "running", id="resume a failed one"),
    pytest.param((), "cancel", {"by": "ada"}, "cancelled", id="cancel"),
]


@pytest.mark.parametrize(("events", "verb", "values", "state"), VERBS)
@pytest.mark.parametrize("action", [ApplyThenCut(), DropBefore()], ids=["answers", "requests"])
def test_what_a_person_asks_for_is_done(
    action: Action, events: tuple[JobEvent, ...], verb: str, values: dict[str, Any], state: str
) -> None:
    def run(db: Database, begin: Callable[[], None]) -> Any:
        db.create_table(new)
        jobs, store = Jobs(db, new), JobStore(db.port, new)
        id = jobs.begin("fill", sections=2).id
        for event in events:
            job = db.run(store.read(id))
            assert job is not None
            assert db.run(store.change(job, event, why="before")) is not None
        begin()
        done: JobStatus = getattr(jobs, verb)(id, **values)
        return done.state, done.why, done.write_cap, jobs.show(id).state

    why = f"{state} by ada" if "by" in values else ""
    told = each_lost(action, run)
    assert len(told) > 3
    assert set(told) == {(state, why, values.get("write_cap"), state)}


# --- what a job makes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("action", "every"), FAULTS)
@pytest.mark.parametrize("loses", ["the target", pytest.param("the source", marks=pytest.mark.soak)])
def test_a_copy_is_whole(loses: str, action: Action, every: int) -> None:
    def run(db: Database, begin: Callable[[], None]) -> Any:
        with fresh(retry=AT_ONCE) as other:
            source, target = (other, db) if loses == "the target" else (db, other)
            put_people(source, 6)
            jobs = Jobs(target, new, source=source)
            begin()
            done = jobs.run(jobs.begin("copy", sections=2).id, at_once=1, signals=False)
            assert application_items(target) == application_items(source)
            return done.state, done.result, list(jobs.lines(done.id))

    told = each_lost(action, run, every)
    assert len(told) > 4 // every
    assert [run for run in told if run != told[-1]] == []
    assert told[-1][1]["read"] == 6


@pytest.mark.parametrize(("action", "every"), FAULTS)
def test_an_export_is_whole(action: Action, every: int, tmp_path: Path) -> None:
    runs = iter(range(1_000))

    def run(db: Database, begin: Callable[[], None]) -> Any:
        directory = tmp_path / str(next(runs))
        put_people(db, 6)
        jobs = Jobs(db, new)
        begin()
        job = jobs.begin("export", {"to": str(directory), "personal": True}, sections=2)
        done = jobs.run(job.id, at_once=1, signals=False)
        manifest = read_manifest(DirectoryStore(directory))
        named = {file.path for dataset in manifest.datasets for file in dataset.files}
        assert {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()} == {
            *named,
            "manifest.json",
        }
        return done.state, {dataset.name: dataset.rows for dataset in manifest.datasets}, manifest.unknown

    told = each_lost(action, run, every)
    assert len(told) > 15 // every
    assert [run for run in told if run != told[-1]] == []
    assert sum(told[-1][1].values()) == 6


@pytest.mark.parametrize(("action", "every"), FAULTS)
def test_a_collection_deletes_what_nothing_reaches(action: Action, every: int, tmp_path: Path) -> None:
    runs = iter(range(1_000))

    def run(db: Database, begin: Callable[[], None]) -> Any:
        blobs = str(tmp_path / str(next(runs)))
        docs, jobs = Documents(db, Project, blobs=LocalBlobs(blobs)), Jobs(db, app)
        docs.create("o1", "p0")
        docs.store("p0", Project.shapes, [Shape(n, n, "garbage") for n in range(2)])
        begin()
        done = jobs.run(jobs.begin("collect", {"blobs": blobs}, sections=2).id, at_once=1, signals=False)
        assert docs.check("p0") == []
        result = done.result or {}
        return done.state, {name: result[name] for name in ("families", "stored", "deleted", "left", "found")}

    told = each_lost(action, run, every)
    assert len(told) > 20 // every
    assert [run for run in told if run != told[-1]] == []
    assert told[-1] == ("ended", {"families": 1, "stored": 2, "deleted": 2, "left": 0, "found": 0})


# --- the awaiting shell -----------------------------------------------------------------------------------------------
KINDS: list[Any] = ["fill", "check", "stats", "export", "copy", "collect"]


@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_in_the_awaiting_shell(kind: str, tmp_path: Path) -> None:
    of_kinds: dict[str, dict[str, Any]] = {
        "export": {"to": str(tmp_path), "personal": True},
        "collect": {"blobs": str(tmp_path)},
        "copy": {"keep_personal": True},
    }
    options = of_kinds.get(kind, {})
    table = app if kind == "collect" else new
    async with fresh_async() as db, fresh_async() as source:
        await db.create_table(table)
        await source.create_table(table)
        jobs = AsyncJobs(db, table, source=source if kind == "copy" else None)
        job = await jobs.begin(kind, options, sections=2)
        assert (await jobs.pause(job.id)).state == "paused"
        assert (await jobs.resume(job.id)).state == "running"
        done = await jobs.run(job.id, signals=False)
        assert (done.state, done.over, done.result is None) == ("ended", 2, False)
        assert [line async for line in jobs.lines(job.id)] == []
        other = await jobs.begin(kind, options | ({"add": True} if kind == "copy" else {}), sections=2)
        assert (await jobs.cancel(other.id)).state == "cancelled"
