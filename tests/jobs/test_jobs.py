"""Jobs: what one does is what the command does, whoever works on it, and whatever happens to the workers."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import Database, Entity, InvalidRequest, Key, Table
from singletable.errors import Corrupt, NotFound, Throttled
from singletable.events import Listeners
from singletable.expressions import attr
from singletable.flow import UNGATED, Meter
from singletable.jobs import AsyncJobs, JobRefused, Jobs, worker as workers
from singletable.jobs.check_job import CheckJobOptions
from singletable.jobs.limits import JobLimits
from singletable.jobs.store import JobStore
from singletable.jobs.work import JobPlace, Round, kind_named
from singletable.jobs.worker import JobWorker
from singletable.jobs.worker_options import WorkerOptions
from singletable.migrations import Migrations
from singletable.wire import RetryPolicy
from tests.faults.actions import Action, ApplyThenCut, DropBefore, Throttle
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.jobs.people import application_items, is_filled, put_people, tool_types
from tests.migrations.models import new
from tests.migrations.watching import before_each, killed_at_every_request
from tests.support.engines import fresh, fresh_async


def place_of(db: Database) -> JobPlace:
    return JobPlace(new, db.target.seal, db.target.place)


def test_it_does_what_the_command_does(db: Database) -> None:
    with fresh() as other:
        put_people(other, 120)
        filled = Migrations(other, new).fill()
        wanted = application_items(other)
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=4, by="ada")
    assert (job.state, job.items, job.seen, job.share, job.result) == ("running", 120, 0, 0.0, None)
    done = jobs.run(job.id)
    assert (done.state, done.over, done.sections, done.share, done.by) == ("ended", 4, 4, 1.0, "ada")
    assert done.result is not None
    assert (done.result["written"], filled.written) == (120, 120)
    assert application_items(db) == wanted
    assert done == jobs.show(job.id)
    assert jobs.all() == [done]
    assert db.check(new) == []


async def test_so_it_does_in_the_awaiting_shell() -> None:
    async with fresh_async() as db:
        await db.create_table(new)
        jobs = AsyncJobs(db, new)
        job = await jobs.begin("fill", sections=3)
        done = await jobs.run(job.id)
        assert (done.state, done.over) == ("ended", 3)
        assert [line async for line in jobs.lines(job.id)] == []
        assert [each.id for each in await jobs.all()] == [job.id]


FILLED_UNITS = 220.0
"""Of 120 people and places, as the plain command takes them."""


def test_what_it_costs(db: Database) -> None:
    """Beside what the fill takes: a write for each section, one for each page, and the job's own. They are in the cost
    that is told, but for those of its last moments."""
    jobs = Jobs(db, new)
    with db.meter() as begun:
        job = jobs.begin("fill", sections=4)
    assert (begun.requests, begun.write_units) == (4, 1)
    with db.meter() as meter:
        done = jobs.run(job.id, at_once=1)
    own = meter.write_units - FILLED_UNITS
    pages = 4 + 1  # of the sections, and the end
    assert own == 5 + pages + 1  # taken, kept, ended
    assert done.write_units == meter.write_units - 1  # without the last, which keeps the end
    assert meter.read_units - 3 <= done.read_units <= meter.read_units  # the job, as a worker begins and ends


def test_the_same_work_is_one_job(db: Database) -> None:
    jobs = Jobs(db, new)
    first = jobs.begin("fill", sections=4)
    assert jobs.begin("fill", sections=9).id == first.id
    jobs.run(first.id)
    second = jobs.begin("fill")
    assert (second.id != first.id, second.sections) == (True, 1)  # on a local engine, unless it is said
    assert [job.id for job in jobs.all()] == [second.id, first.id]


def test_two_that_begin_it_at_the_same_time_begin_one(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process begins it after this one has seen that there is none."""
    jobs, others = Jobs(db, new), list[str]()

    def begin_too(operation: Any) -> None:
        if type(operation).__name__ == "PutItem" and others == ["to begin"]:
            others.clear()
            others.append(jobs.begin("fill", sections=4).id)

    for _ in range(2):
        others[:] = ["to begin"]
        with monkeypatch.context() as patched:
            before_each(db, patched, begin_too)
            job = jobs.begin("fill", sections=4)
        assert others == [job.id]
        assert jobs.run(job.id).state == "ended"
    assert len(jobs.all()) == 2


def test_killed_at_every_request_it_ends_as_if_it_had_not_been(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs = Jobs(db, new)
    ended = list[Any]()

    def run(kills: int) -> None:
        job = jobs.begin("fill", sections=2)
        ended.append(jobs.run(job.id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))

    kills = killed_at_every_request(db, monkeypatch, run)
    assert kills > 10
    (done,) = ended
    assert (done.state, is_filled(db), db.check(new)) == ("ended", True, [])
    items = len(application_items(db))
    assert items == 120
    assert done.seen >= items


def test_a_worker_that_was_taken_over_keeps_nothing(db: Database) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    store = JobStore(db.port, new)
    first = db.run(store.take(job.id, 0, None, "first"))
    assert first is not None
    second = db.run(store.take(job.id, 0, first, "second"))
    assert second is not None
    late = Round({"pk": "x"}, True, seen=7, counts={"written": 7}, lines=[{"kind": "late"}])
    assert db.run(store.keep(first, late, 1.0, 1.0)) is None
    assert not db.run(store.beat(first, 1))
    db.run(store.release(first))
    stored = db.run(store.parts(job.id, [0]))[0]
    assert (stored.owner, stored.seen, stored.is_over, stored.lines) == ("second", 0, False, [])
    kept = db.run(store.keep(second, Round(None, False, seen=3, lines=[{"kind": "own"}]), 1.0, 1.0))
    assert kept is not None
    assert [line["kind"] for line in jobs.lines(job.id)] == ["own"]
    assert db.run(store.keep(second, late, 1.0, 1.0)) is None  # nor does its owner keep a round twice


def test_of_two_that_take_at_once_one_has_it(db: Database) -> None:
    job, store = Jobs(db, new).begin("fill", sections=1), JobStore(db.port, new)
    assert db.run(store.take(job.id, 0, None, "first")) is not None
    assert db.run(store.take(job.id, 0, None, "second")) is None
    stored = db.run(store.parts(job.id, [0]))[0]
    assert db.run(store.beat(stored, 1))
    assert db.run(store.take(job.id, 0, stored, "of one that was seen to beat")) is None
    stored = db.run(store.parts(job.id, [0]))[0]
    assert db.run(store.take(job.id, 0, stored, "third")) is not None
    assert db.run(store.take(job.id, 0, stored, "fourth")) is None


def test_one_whose_owner_lives_is_not_taken(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process beats: its section is taken once nothing of it changed for the length of a lease."""
    now, beats = 0.0, 0
    monkeypatch.setattr(db.port, "monotonic", lambda: now)
    store = JobStore(db.port, new)
    job: Any = db.run(store.read(Jobs(db, new).begin("fill", sections=2).id))
    owned: Any = db.run(store.take(job.job, 1, None, "another"))
    options, work = WorkerOptions(lease_seconds=20.0), kind_named("fill").work(place_of(db), None)
    worker = JobWorker(db.port, new, work, store, job, UNGATED, options, lambda: False)
    mine = db.run(worker._take())
    assert mine is not None
    assert mine.part.section == 0
    while now < 60:
        now += 5
        beats += 1
        assert db.run(store.beat(owned, beats))
        assert db.run(worker._take()) is None
    while (taken := db.run(worker._take())) is None:
        now += 1
    assert (taken.part.section, taken.part.fence) == (1, 2)
    assert 80 <= now <= 84
    assert not db.run(store.beat(owned, beats + 1))


@pytest.mark.parametrize("is_paused", [False, True])
def test_one_without_a_section_looks_more_rarely_after_some_seconds(
    db: Database, monkeypatch: pytest.MonkeyPatch, is_paused: bool
) -> None:
    """At sections that others have, and at the job: each second, then every three."""
    now, beats, units = 0.0, 0, dict[int, float]()
    monkeypatch.setattr(db.port, "monotonic", lambda: now)
    jobs, store = Jobs(db, new), JobStore(db.port, new)
    job: Any = db.run(store.read(jobs.begin("fill", sections=3).id))
    owned: list[Any] = [db.run(store.take(job.job, section, None, "another")) for section in range(3)]
    if is_paused:
        jobs.pause(job.job)

    async def sleep(seconds: float) -> None:
        nonlocal now, beats
        now, beats = now + seconds, beats + 1
        if beats % 20 == 0:
            for part in owned:
                assert await store.beat(part, beats)

    monkeypatch.setattr(db.port, "sleep", sleep)
    work = kind_named("fill").work(place_of(db), None)
    worker = JobWorker(db.port, new, work, store, job, UNGATED, WorkerOptions(), lambda: False)
    with db.meter() as meter:
        while now < 100:
            assert db.run(worker._step())
            units[int(now)] = meter.read_units
    each = 1 if is_paused else 4  # the job, and three sections
    first, last = units[8] - units[3], units[98] - units[38]
    assert 4 * each <= first <= 6 * each
    assert 17 * each <= last <= 21 * each


def test_a_slot_without_a_section_looks_each_second_while_another_has_kept_nothing(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rounds of some kinds are kept together, those of half a minute."""
    now = 0.0
    monkeypatch.setattr(db.port, "monotonic", lambda: now)
    store = JobStore(db.port, new)
    job: Any = db.run(store.read(Jobs(db, new).begin("fill", sections=3).id))
    for section in (1, 2):
        assert db.run(store.take(job.job, section, None, "another")) is not None

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(db.port, "sleep", sleep)
    work = kind_named("fill").work(place_of(db), None)
    worker = JobWorker(db.port, new, work, store, job, UNGATED, WorkerOptions(), lambda: False)
    assert db.run(worker._take()) is not None
    with db.meter() as meter:
        while now < 10:
            assert db.run(worker._step())
    assert 9 <= meter.by_operation["BatchGetItem"].requests <= 12


@pytest.mark.parametrize(("part", "charged"), [(0.2, 0.96), (0.0, 0.48), (1.0, 3.0)])
def test_upkeep_is_charged_with_half_of_a_share_at_most(
    db: Database, monkeypatch: pytest.MonkeyPatch, part: float, charged: float
) -> None:
    """Three looks at the job each second, at ten read units a second, of which rounds share 9.6. All of it, a rate that
    is small would be owed for ever by processes that do no round."""
    now, units = 0.0, list[float]()
    monkeypatch.setattr(db.port, "monotonic", lambda: now)
    store = JobStore(db.port, new)
    job: Any = db.run(store.read(Jobs(db, new).begin("check", read_rate=10.0).id))
    limits = JobLimits(db.port, new, store, job)
    assert limits.rate is not None
    limits.rate.part = part
    monkeypatch.setattr(limits.rate, "settle", lambda _, advanced, took: units.append(took.read_units))
    while now < 100:
        now += 1
        with limits.own_requests(are_upkeep=True):
            for _ in range(3):
                db.run(store.read(job.job))
    assert sum(units[20:]) == pytest.approx(80 * charged)
    with limits.own_requests():
        db.run(store.read(job.job))
    assert units[-1] == 1.0
    assert limits.own_units().read_units == 301.0


def test_one_without_a_section_looks_as_rarely_as_a_small_read_rate_asks(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(db.port, "monotonic", lambda: now)
    store = JobStore(db.port, new)
    job: Any = db.run(store.read(Jobs(db, new).begin("check", sections=8, read_rate=100.0).id))
    owned = [db.run(store.take(job.job, number, None, "another")) for number in range(8)]
    options, work = WorkerOptions(lease_seconds=90.0), kind_named("check").work(place_of(db), CheckJobOptions())
    worker = JobWorker(db.port, new, work, store, job, UNGATED, options, lambda: False)
    with db.meter() as meter:
        while now < 64:
            assert db.run(worker._take()) is None
            now += 1
    assert len(owned) * 3 <= meter.read_units <= len(owned) * 5  # of 6,400


def test_a_page_of_one_unit_grows(db: Database) -> None:
    """A page of one item takes a unit, as one of 25 small ones does: of a small rate each was read alone."""
    store = JobStore(db.port, new)
    job: Any = db.run(store.read(Jobs(db, new).begin("check", read_rate=10.0).id))
    limits, pages = JobLimits(db.port, new, store, job), list[int]()
    assert limits.rate is not None
    limits.rate.part = 1.0
    for units in (1.0,) * 6 + (40.0, 5.0):
        reserved: Any = db.run(limits.reserve(1_000))
        pages.append(reserved.page)
        with Meter() as meter:
            meter.read_units = units
        limits.used(reserved, meter, reserved.page)
    assert pages == [1, 2, 4, 8, 16, 25, 25, 1]


# --- other programs ---------------------------------------------------------------------------------------------------
def test_a_program_with_other_classes_refuses_it(db: Database) -> None:
    job = Jobs(db, new).begin("fill", sections=2)
    other = Table("people", indexes=["gsi1"])

    class Place(Entity, table=other, type="place"):
        id: int
        size: int = 0

        @other.key
        @staticmethod
        def by_id(id: int) -> Key:
            """One."""
            return f"place#{id}", "place"

    with pytest.raises(JobRefused, match="other classes than this program declares") as refused:
        Jobs(db, other).run(job.id)
    assert refused.value.reason == "other program"
    assert Jobs(db, other).begin("fill").id != job.id
    assert Jobs(db, new).run(job.id).state == "ended"


def test_another_version_of_the_library_refuses_it(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    job, store = Jobs(db, new).begin("fill"), JobStore(db.port, new)
    stored: Any = db.run(store.read(job.id))
    db.run(store.set(stored, attr(store.job.format) == 1, format=99))
    with pytest.raises(JobRefused, match="another version of the library") as refused:
        Jobs(db, new).run(job.id)
    assert refused.value.reason == "other program"


def test_a_copy_of_the_table_does_not_go_on_with_it(db: Database) -> None:
    job, store = Jobs(db, new).begin("fill"), JobStore(db.port, new)
    stored: Any = db.run(store.read(job.id))
    db.run(store.set(stored, attr(store.job.format) == 1, identity="the table before"))
    with pytest.raises(JobRefused, match="a copy of") as refused:
        Jobs(db, new).run(job.id)
    assert refused.value.reason == "other table"


def test_a_copy_of_the_table_begins_its_own(db: Database) -> None:
    """As the refusal says."""
    jobs, store = Jobs(db, new), JobStore(db.port, new)
    job = jobs.begin("fill")
    stored: Any = db.run(store.read(job.id))
    db.run(store.set(stored, attr(store.job.format) == 1, identity="the table before"))
    own = jobs.begin("fill")
    assert own.id != job.id
    assert jobs.run(own.id).state == "ended"


def test_what_is_not_there_is_refused(db: Database) -> None:
    jobs = Jobs(db, new)
    for verb in (jobs.show, jobs.run, jobs.pause, jobs.resume, jobs.cancel):
        with pytest.raises(JobRefused, match="no job 'fill-x'") as refused:
            verb("fill-x")
        assert refused.value.reason == "missing"
    with pytest.raises(InvalidRequest, match="'bake' does not run as a job"):
        jobs.begin("bake")
    with pytest.raises(InvalidRequest, match="1 to 100,000 sections"):
        jobs.begin("fill", sections=0)
    wrong: list[Any] = [{"read_rate": 0.0}, {"write_cap": -1.0}]
    for bounds in wrong:
        with pytest.raises(InvalidRequest, match="above zero"):
            jobs.begin("fill", **bounds)
    assert jobs.all() == []


# --- what a person does -----------------------------------------------------------------------------------------------
def stopped_after(rounds: int) -> Any:
    """A function that stops a worker between two rounds."""
    left = {"rounds": rounds}

    def stop() -> bool:
        left["rounds"] -= 1
        return left["rounds"] < 0

    return stop


def test_a_worker_that_is_stopped_leaves_its_section_to_others(db: Database) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    halfway = jobs.run(job.id, at_once=1, stop=stopped_after(2))
    assert (halfway.state, halfway.held, halfway.seen) == ("running", (), 100)
    done = jobs.run(job.id, at_once=1)
    assert (done.state, done.result and done.result["written"], is_filled(db)) == ("ended", 120, True)


def test_a_paused_job_goes_on_when_it_is_resumed(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    paused = jobs.pause(job.id, by="ada")
    assert (paused.state, paused.why) == ("paused", "paused by ada")
    waits, states, turns = list[float](), list[tuple[str, str]](), count()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        is_told = len(waits) >= 50 and bool(states)  # though other threads wait without waiting
        if is_told and next(turns) == 0:
            assert jobs.show(job.id).seen == 0
            assert jobs.resume(job.id).state == "running"

    monkeypatch.setattr(db.port, "sleep", sleep)
    told = jobs.run(job.id, at_once=1, progress=lambda status: states.append((status.state, status.why)))
    assert told.state == "ended"
    assert len(waits) >= 50
    assert states[0] == ("paused", "paused by ada")
    for verb in (jobs.pause, jobs.resume, jobs.cancel):
        with pytest.raises(JobRefused, match="is ended"):
            verb(job.id)


def test_a_job_that_runs_gets_other_bounds(db: Database) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1, write_cap=100.0)
    raised = jobs.resume(job.id, write_cap=10_000.0)
    assert (raised.state, raised.write_cap) == ("running", 10_000.0)
    assert jobs.run(job.id).state == "ended"


def test_a_rate_of_writes_is_refused_where_a_job_only_reads(db: Database) -> None:
    """`check --rate` is one of reads: `job resume --rate` of that job would slow nothing down."""
    jobs = Jobs(db, new)
    job = jobs.begin("check", read_rate=50.0)
    with pytest.raises(InvalidRequest, match="'check' only reads") as refused:
        jobs.resume(job.id, write_rate=5.0)
    assert refused.value.table == "people"
    shown = jobs.show(job.id)
    assert shown == replace(job, seconds=shown.seconds)
    assert jobs.resume(job.id, read_rate=5.0).read_rate == 5.0


def test_a_job_that_is_deleted_at_its_end_ends_the_worker(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, store = Jobs(db, new), JobStore(db.port, new)
    job: Any = db.run(store.read(jobs.begin("fill", sections=1).id))
    change = JobStore.change

    async def gone(self: Any, *args: Any, **values: Any) -> Any:
        await store.forget(job)
        return await change(self, *args, **values)

    monkeypatch.setattr(JobStore, "change", gone)
    with pytest.raises(JobRefused, match="is gone"):
        jobs.run(job.job, at_once=1)


def test_a_cancelled_job_does_nothing_more(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)

    cancels = [jobs.cancel]

    def cancel(operation: Any) -> None:
        if "UpdateItem" in type(operation).__name__ and cancels:
            cancels.pop()(job.id, by="ada")

    with monkeypatch.context() as patched:
        before_each(db, patched, cancel)
        done = jobs.run(job.id, at_once=1)
    assert (done.state, done.why, done.over, done.held) == ("cancelled", "cancelled by ada", 0, ())
    assert jobs.cancel(job.id).state == "cancelled"
    assert db.check(new) != []  # it has not filled all
    assert jobs.run(job.id).seen == done.seen
    again = jobs.begin("fill", sections=1)
    assert again.id != job.id
    assert jobs.run(again.id).state == "ended"
    assert is_filled(db)


def test_one_that_ended_is_kept_for_seven_days(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=3)
    jobs.run(job.id)
    now = db.port.now()
    monkeypatch.setattr(db.port, "now", lambda: now + timedelta(days=6).total_seconds())
    assert [each.id for each in jobs.all()] == [job.id]
    monkeypatch.setattr(db.port, "now", lambda: now + timedelta(days=8).total_seconds())
    assert jobs.all() == []
    assert not tool_types(db) & {"_job", "_job_part", "_job_lines"}


# --- limits -----------------------------------------------------------------------------------------------------------
def test_a_cap_pauses_it_and_is_not_passed(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=4, write_cap=150.0)

    with db.meter() as meter:
        paused = jobs.run(job.id, at_once=2, stop=lambda: jobs.show(job.id).state == "paused")
    assert (paused.state, paused.why) == ("paused", "150 write units are used or needed, the most that it may take")
    assert 100 <= meter.write_units <= 150 * 1.05
    resumed = jobs.resume(job.id, write_cap=10_000.0)
    assert (resumed.state, resumed.write_cap) == ("running", 10_000.0)
    assert jobs.run(job.id).state == "ended"
    assert is_filled(db)


# --- faults -----------------------------------------------------------------------------------------------------------
def test_a_throttled_table_is_waited_for(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, refused = Jobs(db, new), list[bool]()
    job = jobs.begin("fill", sections=2)

    def throttle(operation: Any) -> None:
        is_refused = len(refused) < 25 and len(refused) % 5 < 2
        refused.append(is_refused)
        if is_refused:
            raise Throttled("the table is throttled", table="people")

    async def sleep(seconds: float) -> None:
        return

    monkeypatch.setattr(db.port, "sleep", sleep)
    with monkeypatch.context() as patched:
        before_each(db, patched, throttle)
        done = jobs.run(job.id)
    assert (done.state, is_filled(db)) == ("ended", True)
    assert sum(refused) == 10


def test_an_error_that_needs_a_person_ends_the_worker_and_is_told(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)

    def refuse(operation: Any) -> None:
        if type(operation).__name__ == "Scan":
            raise NotFound("no such table", table="people")

    with monkeypatch.context() as patched:
        before_each(db, patched, refuse)
        with pytest.raises(NotFound):
            jobs.run(job.id, at_once=1)
    left = jobs.show(job.id)
    assert (left.state, left.held, left.troubles) == ("running", (), ("conflict.not-found",))
    done = jobs.run(job.id)
    assert (done.state, done.troubles) == ("ended", ())


LOST = [
    pytest.param("fill", ApplyThenCut(), id="answers of a fill"),
    pytest.param("fill", DropBefore(), id="requests of a fill", marks=pytest.mark.soak),
    pytest.param("fill", Throttle(), id="a throttled fill", marks=pytest.mark.soak),
    pytest.param("check", ApplyThenCut(), id="answers of a check", marks=pytest.mark.soak),
    pytest.param("stats", ApplyThenCut(), id="answers of statistics", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("kind", "action"), LOST)
def test_each_request_in_turn_is_lost_and_nothing_is_counted_twice(kind: str, action: Action) -> None:
    """From the beginning of a job over its rounds to its end: the last run loses none, and is what others equal."""
    told, lost, was_lost = list[Any](), 0, True
    while was_lost:
        lost += 1
        with fresh(retry=RetryPolicy(base_seconds=0.0, cap_seconds=0.0)) as db:
            put_people(db, 6)
            faults = Faults()
            make_faulty(db.port, faults)
            faults.add(Rule(Match(nth=lost), action))
            jobs = Jobs(db, new)
            done = jobs.run(jobs.begin(kind, sections=2).id, at_once=1, signals=False)
            assert (done.state, done.over, kind != "fill" or is_filled(db)) == ("ended", 2, True)
            others = "seen", "read_units", "write_units"  # which count the job's own items
            result = {name: value for name, value in (done.result or {}).items() if name not in others}
            told.append((result, list(jobs.lines(done.id))))
            was_lost = bool(faults.actions)
    assert lost > 20
    assert [each for each in told if each != told[-1]] == []


def test_a_state_that_is_gone_is_named(db: Database) -> None:
    store = JobStore(db.port, new)
    with pytest.raises(Corrupt, match="section 3 of stats-00000001 lacks its state"):
        db.run(store.state(store.part(job="stats-00000001", section=3, state=0)))


def test_who_has_a_section_is_shown_and_named_when_another_takes_it_over(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=1)
    monkeypatch.setattr(Listeners, "process", "host-1, process 1")
    db.run(JobStore(db.port, new).take(job.id, 0, None, "a mark"))
    monkeypatch.setattr(Listeners, "process", "host-2, process 2")
    assert [part.process for part in jobs.show(job.id).held] == ["host-1, process 1"]
    assert jobs.run(job.id, lease_seconds=0.2, signals=False, stop=lambda: False).state == "ended"
    (line,) = [record.getMessage() for record in caplog.records if "took over" in record.getMessage()]
    assert "the lease of section 0 from host-1, process 1, which has given no sign of life for 0 s" in line
    assert db.run(JobStore(db.port, new).parts(job.id, [0]))[0].process == "host-2, process 2"


def test_a_section_that_its_worker_left_is_not_taken_over(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    jobs, store = Jobs(db, new), JobStore(db.port, new)
    job = jobs.begin("fill", sections=1)
    part = db.run(store.take(job.id, 0, None, "a mark"))
    assert part is not None
    assert db.run(store.release(part)) is not None
    assert jobs.run(job.id, signals=False, stop=lambda: False).state == "ended"
    assert "took over" not in caplog.text
