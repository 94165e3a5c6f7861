"""A check as a job finds what the command finds: in every pass, divided among any number of workers, killed or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from math import ceil
from typing import Any

import pytest

from singletable import Database, Table
from singletable.flow import Port
from singletable.graph import Graph
from singletable.jobs import Jobs, JobStatus, worker as workers
from singletable.jobs.check_job import CheckWork
from singletable.jobs.store import JobStore
from singletable.jobs.work import Line, SectionLines
from singletable.operations import DeleteItem, RawCondition, Scan
from singletable.operations.answers import RAW
from singletable.schema import key_of
from tests.graph.models import Goal, GoalMembership, User, records
from tests.jobs.people import tool_types
from tests.migrations.models import new
from tests.migrations.watching import before_each, killed_at_every_request
from tests.support.engines import fresh


def found(jobs: Jobs, done: JobStatus) -> list[tuple[str, tuple[str, ...]]]:
    """The codes and keys of a job's findings, those of its end too."""
    assert done.result is not None
    return sorted((line["code"], tuple(line["key"])) for line in (*jobs.lines(done.id), *done.result["last"]))


def wanted(db: Database, table: Table) -> list[tuple[str, tuple[str, ...]]]:
    return sorted((finding.code, finding.key) for finding in db.check(table))


@pytest.fixture
def damaged() -> Iterator[Database]:
    """A graph with an edge whose target is gone, a member without an edge, and a row that its index lacks."""
    with fresh() as db:
        graph = Graph(db)
        graph.load([User(id=f"u{n}") for n in range(8)], [])
        goals = [Goal(id=f"g{n}") for n in range(8)]
        graph.load(
            goals,
            [GoalMembership(source=Goal.by_id(goal.id), target=User.by_id(f"u{n}")) for n, goal in enumerate(goals)],
        )
        db.run(db.port.send(DeleteItem(records.name, _key_item(User(id="u3")), RawCondition(), RAW)))
        yield db


def _key_item(entity: Any) -> dict[str, Any]:
    key = key_of(entity)
    return dict(key.model.key_item(key))


def test_it_finds_what_the_command_finds_in_a_graph(damaged: Database) -> None:
    jobs, told = Jobs(damaged, records), wanted(damaged, records)
    assert told
    for sections in (1, 5):
        done = jobs.run(jobs.begin("check", sections=sections).id)
        assert done.result is not None
        assert (done.state, found(jobs, done)) == ("ended", told)
        assert (done.result["found"], sum(done.result["codes"].values())) == (len(told), len(told))


def test_it_finds_what_needs_a_fill(db: Database) -> None:
    """101 findings and more, in several pages; and a check of the filled table finds nothing."""
    jobs, told = Jobs(db, new), wanted(db, new)
    assert len(told) > 50
    done = jobs.run(jobs.begin("check", sections=3).id)
    assert found(jobs, done) == told
    jobs.run(jobs.begin("fill").id)
    sound = jobs.run(jobs.begin("check").id).result
    assert sound is not None
    assert (sound["found"], sound["codes"], sound["last"], sound["left_out"]) == (0, {}, [], [])


def test_lines_are_read_sixteen_at_a_time(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the sections, at the end too."""
    jobs, end, told_at_end = Jobs(db, new), CheckWork.end, list[Line]()

    async def noting(work: CheckWork, port: Port, told: SectionLines) -> Mapping[str, Any]:
        told_at_end.extend([line async for line in told.lines()])
        return await end(work, port, told)

    monkeypatch.setattr(CheckWork, "end", noting)
    with db.meter() as working:
        done = jobs.run(jobs.begin("check", sections=40).id, at_once=1)
    lines = sum(bool(part.lines) for part in db.run(JobStore(db.port, new).parts(done.id, range(40))).values())
    assert lines > 16
    waves = ceil(lines / 16)
    with db.meter() as meter:
        in_order = list(jobs.lines(done.id))
    assert len(in_order) == 120
    assert told_at_end == in_order
    assert (meter.requests, meter.round_trips) == (2 + lines, 2 + waves)  # the job and its sections first
    assert working.requests - working.round_trips >= 2 * (lines - waves)  # so does the end, here twice


def test_killed_at_every_request_each_finding_is_told_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs, told, ended = Jobs(db, new), wanted(db, new), list[JobStatus]()

    def run(kills: int) -> None:
        job = jobs.begin("check", sections=2)
        ended.append(jobs.run(job.id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))

    assert killed_at_every_request(db, monkeypatch, run) > 10
    assert [found(jobs, done) for done in ended] == [told]
    now = db.port.now()
    monkeypatch.setattr(db.port, "now", lambda: now + timedelta(days=8).total_seconds())
    assert jobs.all() == []
    assert not {type for type in tool_types(db) if type.startswith("_job")}  # also of those that were killed


def test_its_reads_keep_to_a_cap(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, limits = Jobs(db, new), list[int]()
    job = jobs.begin("check", sections=2, read_cap=40.0)

    def note(operation: Any) -> None:
        if isinstance(operation, Scan):
            limits.append(operation.selection.limit or 0)

    with db.meter() as meter, monkeypatch.context() as patched:
        before_each(db, patched, note)
        paused = jobs.run(job.id, at_once=1, stop=lambda: jobs.show(job.id).state == "paused")
    assert limits
    assert 1 <= min(limits) <= max(limits) <= 25
    assert paused.state == "paused"
    assert 0 < paused.seen < 120
    assert paused.read_units <= 40.0
    assert meter.write_units > 0
    jobs.resume(job.id, read_cap=10_000.0)
    assert jobs.run(job.id).state == "ended"
