"""A job whose section always raises: its workers end, and a person decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from singletable import Database, InvalidValue, connect
from singletable.cli.app import app as program
from singletable.errors import Denied
from singletable.jobs import JobRefused, Jobs, JobStatus, worker as workers
from singletable.jobs.fill_job import FillWork
from singletable.jobs.items import JobPart
from singletable.jobs.states import JobEvent
from singletable.jobs.store import JobStore
from singletable.jobs.work import Round
from singletable.layers import checks_of
from singletable.reports.stats_job import StatsWork
from tests.jobs.people import is_filled, put_people
from tests.jobs.test_jobs import stopped_after
from tests.migrations import models as new_module
from tests.migrations.models import new
from tests.migrations.watching import before_each

ROUND, END = FillWork.round, FillWork.end


def findings(db: Database) -> list[str]:
    found = db.check(new, *checks_of(new, db.target.seal))
    return [f"{one.code}: {one.what}" for one in found if one.code.startswith("job.")]


def fail_at(patched: pytest.MonkeyPatch, section: int, error: Exception) -> None:
    """Have each round of a section raise; of the end, where it is -1."""

    async def round(self: FillWork, port: Any, number: int, *args: Any) -> Round:
        if number == section:
            raise error
        return await ROUND(self, port, number, *args)

    async def end(self: FillWork, *args: Any) -> Any:
        if section == -1:
            raise error
        return await END(self, *args)

    patched.setattr(FillWork, "round", round)
    patched.setattr(FillWork, "end", end)


def fail(jobs: Jobs, job: str, times: int, error: type[Exception] = ValueError) -> None:
    for _ in range(times):
        with pytest.raises(error, match="of Ada"):
            jobs.run(job, at_once=1)


@pytest.mark.parametrize(("section", "what"), [(2, "section 2"), (-1, "its end")])
def test_it_fails_at_the_third_time_and_ends_once_it_is_mended(
    db: Database, monkeypatch: pytest.MonkeyPatch, section: int, what: str
) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=4)
    with monkeypatch.context() as patched:
        fail_at(patched, section, ValueError("the name of Ada"))
        fail(jobs, job.id, 2)
        shown = jobs.show(job.id)
        assert (shown.state, shown.held, shown.troubles, findings(db)) == ("running", (), ("ValueError",), [])
        fail(jobs, job.id, 1)
        failed = jobs.show(job.id)
        assert (failed.state, failed.why) == ("failed", f"{what} failed 3 times, the last time with ValueError")
        assert (failed.held, failed.result, failed.seconds_left) == ((), None, None)
        assert jobs.show(job.id).seconds == failed.seconds  # its time stands still
        with db.meter() as meter:
            assert jobs.run(job.id).state == "failed"  # no worker waits, or begins anything
        assert (meter.requests, meter.write_units) == (4, 0)  # the table, twice; the job; its sections
        assert jobs.begin("fill", sections=4).id == job.id  # the same work is not begun beside it
        assert jobs.pause(job.id).state == "failed"
        assert findings(db) == [f"job.failed: it has failed: {failed.why}"]

        assert (jobs.resume(job.id).state, findings(db)) == ("running", [])
        fail(jobs, job.id, 1)
        assert jobs.show(job.id).why == f"{what} failed 4 times, the last time with ValueError"
    jobs.resume(job.id)
    done = jobs.run(job.id)
    assert (done.state, done.seen >= 120, done.why, is_filled(db)) == ("ended", True, "", True)
    assert db.check(new, *checks_of(new, db.target.seal)) == []
    with pytest.raises(JobRefused):
        jobs.resume(job.id)


def test_who_works_at_the_end_is_shown(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take long: of a copy it is a check. How long nobody knows."""
    jobs, store, shown = Jobs(db, new), JobStore(db.port, new), list[JobStatus]()
    job = jobs.begin("fill", sections=2)

    async def end(self: FillWork, *args: Any) -> Any:
        shown.append(jobs.show(job.id))
        return await END(self, *args)

    monkeypatch.setattr(FillWork, "end", end)
    done = jobs.run(job.id, at_once=1)
    (at_end,) = shown
    assert ([part.section for part in at_end.held], at_end.over, at_end.seconds_left) == ([2], 2, None)
    assert (at_end.seen, at_end.write_units) == (done.seen, done.write_units - 3)  # one kept, the end taken; ended
    assert db.run(store.parts(job.id, [2]))[2].is_over
    assert (done.held, jobs.show(job.id)) == ((), done)


def test_a_failed_one_may_be_cancelled(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    fail_at(monkeypatch, 0, ValueError("the name of Ada"))
    fail(jobs, job.id, 3)
    assert jobs.cancel(job.id, by="ada").state == "cancelled"
    assert findings(db) == []
    assert jobs.begin("fill", sections=1).id != job.id


@pytest.mark.parametrize(
    ("error", "code"), [(Denied("the role of Ada"), "denied"), (OSError("the disk of Ada is full"), "OSError")]
)
def test_what_another_process_may_do_is_no_failure(
    db: Database, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    fail_at(monkeypatch, 0, error)
    fail(jobs, job.id, 5, type(error))
    shown = jobs.show(job.id)
    assert (shown.state, shown.troubles) == ("running", (code,))


def test_the_error_of_an_item_is_named_by_its_code(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    fail_at(monkeypatch, 0, InvalidValue("a value of Ada"))
    fail(jobs, job.id, 3, InvalidValue)
    assert jobs.show(job.id).why == f"section 0 failed 3 times, the last time with {InvalidValue.code}"


def test_a_kept_round_begins_the_count_anew(db: Database) -> None:
    job, store = Jobs(db, new).begin("fill", sections=1), JobStore(db.port, new)
    part = db.run(store.take(job.id, 0, None, "first"))
    assert part is not None
    part = db.run(store.release(part, "ValueError", 2))
    part = db.run(store.take(job.id, 0, part, "second"))
    assert part is not None
    assert (part.failures, part.trouble) == (2, "ValueError")
    part = db.run(store.keep(part, Round({"pk": {"S": "x"}}, False), 0.0, 0.0))
    assert part is not None
    assert (part.failures, part.trouble) == (0, "")


def test_a_worker_that_is_stopped_leaves_the_count_as_it_is(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it found it, where it kept no round; else of none."""
    jobs, left = Jobs(db, new), list[JobPart]()
    job = jobs.begin("fill", sections=1)
    with monkeypatch.context() as patched:
        fail_at(patched, 0, ValueError("the name of Ada"))
        fail(jobs, job.id, 2)
    for rounds, seen in ((1, 0), (2, 100)):
        assert jobs.run(job.id, at_once=1, stop=stopped_after(rounds)).seen == seen
        left.append(db.run(JobStore(db.port, new).parts(job.id, [0]))[0])
    assert [(part.owner, part.failures, part.trouble) for part in left] == [("", 2, "ValueError"), ("", 0, "")]
    fail_at(monkeypatch, 0, ValueError("the name of Ada"))
    fail(jobs, job.id, 1)
    assert jobs.show(job.id).state == "running"


def test_others_end_where_one_has_found_that_it_failed(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs, store = Jobs(db, new), JobStore(db.port, new)
    job = jobs.begin("fill", sections=4)
    waiting = ["to fail"]

    def fail_it(operation: Any) -> None:
        if type(operation).__name__ == "Scan" and waiting:  # the first round of the first section
            waiting.clear()
            stored = db.run(store.read(job.id))
            assert stored is not None
            db.run(store.change(stored, JobEvent.FAIL, why="section 3 failed"))

    with monkeypatch.context() as patched:
        before_each(db, patched, fail_it)
        shown = jobs.run(job.id, at_once=1)
    assert (shown.state, shown.held, shown.over) == ("failed", (), 1)
    jobs.resume(job.id)
    assert jobs.run(job.id).state == "ended"


def test_the_command_says_what_to_do(tmp_path: Path) -> None:
    place = f"local:{tmp_path / 'people.db'}"

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(program, ["--db", place, "job", *arguments])

    with connect(place) as db, pytest.MonkeyPatch.context() as patched:
        put_people(db, 2)
        jobs = Jobs(db, new)
        job = jobs.begin("fill", sections=1)
        fail_at(patched, 0, ValueError("the name of Ada"))
        fail(jobs, job.id, 3)
        ran = run("run", f"{new_module.__name__}:new", job.id)
    assert ran.exit_code == 1
    assert "failed, section 0 failed 3 times, the last time with ValueError" in ran.output
    assert "singletable job resume" in ran.output
    assert "Ada" not in ran.output
    assert run("resume", f"{new_module.__name__}:new", job.id).exit_code == 0
    assert run("run", f"{new_module.__name__}:new", job.id).exit_code == 0


@pytest.mark.parametrize(("caller", "call"), [("progress", 1), ("stop", 2)])
def test_an_error_of_the_caller_is_no_failure(
    db: Database, monkeypatch: pytest.MonkeyPatch, caller: str, call: int
) -> None:
    """Of the function that shows the progress, after a round, and of the one that stops: the section is sound."""
    monkeypatch.setattr(StatsWork, "page", 50)
    jobs, store = Jobs(db, new), JobStore(db.port, new)
    job = jobs.begin("stats", sections=1)  # whose rounds are kept together: none is kept before the error
    for _ in range(4):
        goes_well = iter([False] * (call - 1))

        def raise_at_last(*_: Any, answers: Iterator[bool] = goes_well) -> bool:
            for answer in answers:
                return answer
            raise ValueError("of Ada")

        given: dict[str, Any] = {caller: raise_at_last}
        with pytest.raises(ValueError, match="of Ada"):
            jobs.run(job.id, at_once=1, **given)
        (part,) = db.run(store.parts(job.id, [0])).values()
        assert (part.owner, part.failures, part.trouble, jobs.show(job.id).state) == ("", 0, "", "running")
    assert jobs.run(job.id).state == "ended"


@pytest.mark.parametrize("kind", [ImportError, OSError])
def test_what_a_process_lacks_is_no_failure(
    db: Database, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    fail_at(monkeypatch, 0, kind("the disk of Ada"))
    fail(jobs, job.id, 4, kind)
    assert jobs.show(job.id).state == "running"


def test_it_fails_also_where_it_is_paused_at_that_moment(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state was read before: a pause that came in between changes nothing."""
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    fail_at(monkeypatch, 0, ValueError("the name of Ada"))
    fail(jobs, job.id, 2)
    change, pauses = JobStore.change, ["a pause"]

    async def late(store: JobStore, stored: Any, event: JobEvent, **values: Any) -> Any:
        if event is JobEvent.FAIL and pauses:
            pauses.clear()
            assert await change(store, stored, JobEvent.PAUSE, why="paused") is not None
        return await change(store, stored, event, **values)

    monkeypatch.setattr(JobStore, "change", late)
    fail(jobs, job.id, 1)
    assert (pauses, jobs.show(job.id).state) == ([], "failed")


@pytest.mark.parametrize("state", ["paused", "failed"])
def test_the_time_of_one_that_a_late_worker_ends_stood_still(
    db: Database, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """It ran for ten seconds, then its end was under way, and took an hour."""
    jobs, store, at = Jobs(db, new), JobStore(db.port, new), db.port.now()
    monkeypatch.setattr(db.port, "now", lambda: at)
    job = jobs.begin("fill", sections=1)

    async def end(self: FillWork, *args: Any) -> Any:
        nonlocal at
        at += 10
        stored = await store.read(job.id)
        assert stored is not None
        event = JobEvent.PAUSE if state == "paused" else JobEvent.FAIL
        assert await store.change(stored, event, why="so it is") is not None
        assert jobs.show(job.id).state == state
        at += 3600
        return await END(self, *args)

    monkeypatch.setattr(FillWork, "end", end)
    done = jobs.run(job.id, at_once=1)
    assert (done.state, done.why, done.seconds) == ("ended", "", 10.0)
    ended = db.run(store.read(job.id))
    assert ended is not None
    assert (ended.paused_at, ended.paused_seconds) == (None, 3600.0)
