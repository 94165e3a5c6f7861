"""A plan as a job: it counts what a plan counts, whoever reads the sections, and the next plan reads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import Database, InvalidRequest, Key, Table, field
from singletable.jobs import AsyncJobs, JobPlace, Jobs, worker as workers
from singletable.jobs.plan_job import PlanJobOptions, PlanWork
from singletable.jobs.work import kind_named
from singletable.migrations import Counted, Migrations, ModelDifference, PlanRefused
from singletable.migrations.counts_of_job import packed_counts, unpacked_counts
from singletable.migrations.kept_counts import KeptCounts
from singletable.operations import PutItem, RawCondition
from tests.faults.actions import ApplyThenCut
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.jobs.people import put_people
from tests.jobs.test_jobs import stopped_after
from tests.migrations import converting, test_foreign_fill as readings
from tests.migrations.changing import order
from tests.migrations.models import new as people
from tests.migrations.test_plan_from_export import exported
from tests.migrations.watching import killed_at_every_request
from tests.support.engines import awaiting, fresh
from tests.support.raw import all_items


def by_mail(mail: str, number: int) -> Key:
    return f"mail#{mail}", f"{number}"


def by_bill(number: int) -> Key:
    return f"bill#{number}", "bill"


PLAIN: dict[str, Any] = {"number": int, "mail": str, "note": (str | None, None)}
UNIQUE: dict[str, Any] = {**PLAIN, "mail": (str, field(unique=True))}
CHANGES: dict[str, tuple[Table, tuple[tuple[str, str], ...]]] = {
    "index keys": (order(PLAIN, patterns={"gsi1": by_mail})[0], ()),
    "another type": (order({**PLAIN, "mail": int})[0], ()),
    "another type, with index keys": (order({**PLAIN, "mail": int}, patterns={"gsi1": by_mail})[0], ()),
    "an attribute that is required": (order({**PLAIN, "total": int})[0], ()),
    "an attribute that is gone": (order({"number": int, "mail": str})[0], ()),
    "another key": (order(PLAIN, key=by_bill)[0], ()),
    "a key that moves": (order(PLAIN, key=by_bill, was=lambda number: (f"order#{number}", "order"))[0], ()),
    "guards": (order(UNIQUE)[0], (("unique.added", "Order.mail"),)),
}
FILLED = CHANGES["index keys"][0]


def filled_table(count: int = 60) -> Iterator[Database]:
    """A recorded table of orders, of which a third have a note, one a long mail, and one can't be read."""
    table, kind = order(PLAIN)
    with fresh() as made:
        Migrations(made, table).apply()
        made.write_many(puts=[kind(number=n, mail=f"{n}", note=None if n % 3 else "x") for n in range(count)])
        made.create(kind(number=count, mail="x" * 3000))
        broken: Any = {"pk": {"S": "order#a9"}, "sk": {"S": "order"}, "_type": {"S": "order"}, "_v": {"S": "?"}}
        made.run(made.port.send(PutItem("shop", broken, RawCondition())))
        yield made


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Its pages are of five items."""
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 5)
    monkeypatch.setattr("singletable.migrations.kept_counts._PAGE", 5)
    yield from filled_table()


@pytest.fixture
def sound() -> Iterator[Database]:
    """Orders that a plan's fill brings to a pattern: nothing is wrong with them."""
    table, kind = order(PLAIN)
    with fresh() as made:
        Migrations(made, table).apply()
        made.write_many(puts=[kind(number=n, mail=f"{n}") for n in range(60)])
        yield made


def told(db: Database, table: Table, accept: Any = (), **options: Any) -> Any:
    """What a plan says of items: what it is refused for; or the items of its steps, and what it leaves."""
    try:
        plan = Migrations(db, table).plan(accept=accept, **options)
    except PlanRefused as error:
        counted: tuple[Counted, ...] = error.counted
        assert all(len(one.keys) == min(one.items, 5) for one in counted)
        return error.reason, sorted((one.difference.place, one.items) for one in counted)
    return [(step.name, step.takes.items) for step in plan.steps], plan.left, plan.accepted, plan.differences


def counted_by_job(db: Database, table: Table, accept: Any = (), sections: int = 3, **options: Any) -> str:
    """The id of a job that has counted."""
    jobs = Jobs(db, table)
    done = jobs.run(jobs.begin("plan", {"accept": accept}, sections=sections).id, signals=False, **options)
    assert (done.state, done.over) == ("ended", sections)
    return done.id


# --- it says what a plan says -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("change", CHANGES)
def test_it_counts_what_a_plan_counts(db: Database, change: str) -> None:
    table, accept = CHANGES[change]
    plain = told(db, table, accept, job=False, segments=3)
    job = counted_by_job(db, table, accept)
    with db.meter() as meter:
        assert told(db, table, accept, job=job) == plain
    assert "Scan" not in meter.by_operation


@pytest.mark.embedded("it counts the pages of a scan")
def test_the_cost_that_it_predicts_is_the_same() -> None:
    with fresh() as db:
        put_people(db, 520)
        plain = Migrations(db, people).plan(segments=3)
        counted_by_job(db, people)
        late = Migrations(db, people).plan(segments=3)
    assert late.counted_at is not None
    fill, before = late.steps[0].takes, plain.steps[0].takes
    assert fill.read_units - before.read_units <= 3  # the job's own items, in each section
    assert replace(late.steps[0], takes=replace(fill, read_units=before.read_units)) == plain.steps[0]
    assert late.steps[1:] == plain.steps[1:]


@pytest.mark.embedded("it counts the pages of a scan")
@pytest.mark.parametrize("change", ["index keys", "a key that moves"])
def test_small_pages_of_several_workers_are_the_same_pages_of_a_fill(
    sound: Database, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """A fill reads thirty items at a time here. Of items that move, half come again: of each small page, rounded up."""
    table, _ = CHANGES[change]
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 30)
    with monkeypatch.context() as patched:
        patched.setattr(sound.port, "traits", replace(sound.port.traits, scans_by_key=False))
        plain = Migrations(sound, table).plan(job=False, segments=1).steps[0]
    jobs = Jobs(sound, table)
    job = jobs.begin("plan", sections=1, read_cap=100_000.0)  # a worker's first page is of 25 items
    with sound.meter() as meter:
        for _ in range(2):
            assert jobs.run(job.id, at_once=1, stop=stopped_after(2)).over == 0
        assert jobs.run(job.id, at_once=1).state == "ended"
    assert meter.by_operation["Scan"].requests == 5
    late = Migrations(sound, table).plan(segments=1, job=job.id).steps[0]
    wanted, takes = plain.takes, late.takes
    assert (late.kind, takes.items, takes.requests) == ("fill", wanted.items, wanted.requests)
    assert takes.write_units == wanted.write_units
    assert wanted.read_units <= takes.read_units <= wanted.read_units + 3  # each small page is rounded up


# --- what it costs ----------------------------------------------------------------------------------------------------
@pytest.mark.embedded("it counts the pages of a scan")
def test_it_reads_the_table_once(sound: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside it: a write where a section is taken, two where it is kept, the counts, and the job's own. A section of
    less than half a minute is kept once."""
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 5)
    with sound.meter() as plain:
        Migrations(sound, FILLED).plan(segments=3)
    jobs = Jobs(sound, FILLED)
    with sound.meter() as begun:
        job = jobs.begin("plan", sections=3)
    assert (begun.write_units, "Scan" in begun.by_operation) == (1, False)
    with sound.meter() as meter:
        jobs.run(job.id, at_once=1)
    pages = plain.by_operation["Scan"].requests
    assert 12 < pages <= meter.by_operation["Scan"].requests <= pages + 3  # the job's own items, in each section
    assert meter.by_operation["Scan"].read_units <= plain.by_operation["Scan"].read_units + 3
    of_sections, of_the_end = 3 * (1 + 2), 1 + 1 + 1 + 1  # taken; the counts; the job; over
    assert meter.write_units == of_sections + of_the_end
    with sound.meter() as late:
        assert Migrations(sound, FILLED).plan().counted_at is not None
    assert late.read_units == 2  # the record, and the counts


def test_an_apply_after_it_does_not_count(sound: Database) -> None:
    counted_by_job(sound, FILLED)
    with sound.meter() as meter:
        plan = Migrations(sound, FILLED).plan()
    assert "Scan" not in meter.by_operation
    outcome = Migrations(sound, FILLED).apply(plan)
    assert [(done.step.kind, done.step.takes.items) for done in outcome.done] == [("fill", 60), ("record", 1)]
    assert [*sound.check(FILLED)] == []
    assert Migrations(sound, FILLED).plan().is_empty


# --- whatever happens to its workers ----------------------------------------------------------------------------------
@pytest.mark.parametrize("change", ["another type, with index keys", pytest.param("guards", marks=pytest.mark.soak)])
def test_killed_at_every_request_nothing_is_counted_twice(
    db: Database, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(PlanWork, "keep_seconds", 0.0)
    table, accept = CHANGES[change]
    plain, ended = told(db, table, accept, job=False), list[str]()

    def run(_: int) -> None:
        ended.append(counted_by_job(db, table, accept, at_once=1, lease_seconds=0.5, stop=lambda: False))

    assert killed_at_every_request(db, monkeypatch, run) > 20
    assert told(db, table, accept, job=ended[0]) == plain


@pytest.mark.parametrize("sections", [1, pytest.param(3, marks=pytest.mark.soak)])
def test_each_answer_in_turn_is_lost(monkeypatch: pytest.MonkeyPatch, sections: int) -> None:
    monkeypatch.setattr(PlanWork, "keep_seconds", 0.0)
    table, results, lost, was_lost = CHANGES["another type, with index keys"][0], list[Any](), 0, True
    while was_lost:
        lost += 1
        for db in filled_table(4):
            faults = Faults()
            make_faulty(db.port, faults)
            faults.add(Rule(Match(nth=lost), ApplyThenCut()))
            results.append(told(db, table, job=counted_by_job(db, table, sections=sections, at_once=1)))
            was_lost = bool(faults.actions)
    assert lost > 20
    assert [each for each in results if each != results[-1]] == []


@pytest.mark.embedded("it counts the pages of a scan")
def test_another_worker_goes_on_where_one_was_stopped(db: Database) -> None:
    table = CHANGES["another type, with index keys"][0]
    plain, jobs = told(db, table, job=False), Jobs(db, table)
    job = jobs.begin("plan", sections=2)
    for rounds in (2, 3, 4):
        halfway = jobs.run(job.id, at_once=1, stop=stopped_after(rounds))
        assert (halfway.state, halfway.held) == ("running", ())
    assert 0 < halfway.seen < 60
    with db.meter() as meter:
        assert jobs.run(job.id).state == "ended"
    assert meter.by_operation["Scan"].requests < 12  # the rest, of more than 12 pages
    assert told(db, table, job=job.id) == plain


def test_a_section_that_a_worker_takes_again_begins_where_it_was_kept(sound: Database) -> None:
    """It lost the section: what it had counted since is counted by another one, or by itself, again."""
    work = kind_named("plan").work(JobPlace(FILLED, sound.target.seal, sound.target.place), PlanJobOptions())
    sound.run(work.begin(sound.port))
    kept: bytes | None = None
    for fence, seen in ((1, 25), (2, 25), (3, 50)):
        work.take_up(0, fence, kept)
        sound.run(work.round(sound.port, 0, 1, None, 25))
        state = sound.run(work.gather(sound.port, 0)).state
        assert state is not None
        assert unpacked_counts(state).seen == seen
        kept = state if fence > 1 else None
        work.put_down(0)


async def test_the_awaiting_shell(sound: Database) -> None:
    from singletable.migrations import AsyncMigrations

    async with awaiting(sound) as db:
        jobs = AsyncJobs(db, FILLED)
        job = await jobs.begin("plan", sections=2)
        done = await jobs.run(job.id)
        assert (done.state, done.result and done.result["writes"]) == ("ended", 60)
        assert (await AsyncMigrations(db, FILLED).plan()).counted_at is not None
        assert (await AsyncMigrations(db, FILLED).plan(job=False)).counted_at is None


# --- when a plan takes its counts -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("seconds", "is_taken"), [(24 * 3600 - 1, True), (24 * 3600, False), (-4, True), (-61, False)])
def test_they_are_taken_for_a_day(
    sound: Database, monkeypatch: pytest.MonkeyPatch, seconds: float, is_taken: bool
) -> None:
    at = sound.port.now()
    monkeypatch.setattr(sound.port, "now", lambda: at)
    job = counted_by_job(sound, FILLED)
    monkeypatch.setattr(sound.port, "now", lambda: at + seconds)  # below 0: another machine's clock is ahead
    assert (Migrations(sound, FILLED).plan().counted_at is not None) is is_taken
    with nullcontext() if is_taken else pytest.raises(InvalidRequest, match="it ended a day ago"):
        assert Migrations(sound, FILLED).plan(job=job).counted_at is not None


@pytest.mark.parametrize(
    ("sections", "over", "hours"), [(1, 0, 25), (1, 3, 25), (3, 0, 25), (3, 3, 25), (1, 3, 23), (3, 3, 23)]
)
def test_counts_of_a_job_that_nobody_worked_on_for_a_day_are_refused(
    sound: Database, monkeypatch: pytest.MonkeyPatch, sections: int, over: int, hours: int
) -> None:
    """What is wrong since, where it had read, would allow the plan. Where it was at some section, or before its end.
    Pauses of less than a day do not matter, nor how long a section waits while others are read."""
    at, table = sound.port.now(), CHANGES["another type"][0]
    jobs = Jobs(sound, table)
    monkeypatch.setattr(PlanWork, "page", 5)
    monkeypatch.setattr(PlanWork, "keep_seconds", 0.0)
    monkeypatch.setattr(sound.port, "now", lambda: at)
    job = jobs.begin("plan", sections=sections)
    halfway = jobs.run(job.id, at_once=1, stop=stopped_after(2))
    assert 0 < halfway.seen < 60
    while halfway.over < min(over, sections):
        at += 23 * 3600  # within a day, each time
        halfway = jobs.run(job.id, at_once=1, stop=stopped_after(2))
    assert (halfway.state, halfway.over) == ("running", min(over, sections))
    at += hours * 3600
    if hours < 24:
        assert jobs.run(job.id, at_once=1).state == "ended"
        return
    with pytest.raises(InvalidRequest, match="nobody has read for a day") as refused:
        jobs.run(job.id, at_once=1)
    assert refused.value.hint == "Cancel the job, and begin it again."
    jobs.cancel(job.id)
    assert told(sound, table, job=counted_by_job(sound, table)) == told(sound, table, job=False)


def test_counts_that_may_refuse_a_plan_are_taken_by_who_names_the_job(db: Database) -> None:
    """Anybody else counts again: what was wrong may be mended, and what was right may be wrong by now."""
    for change in ("another type", "another type, with index keys", "index keys"):
        table, _ = CHANGES[change]
        job = counted_by_job(db, table)
        for options, is_read in (({"job": job}, False), ({}, True)):
            with db.meter() as meter:
                told(db, table, **options)
            assert ("Scan" in meter.by_operation) is is_read, (change, options)


def test_they_are_taken_before_those_of_an_unfinished_file_and_after_an_ended_one(
    sound: Database, tmp_path: Path
) -> None:
    migrations, keep = Migrations(sound, FILLED), tmp_path / "kept"
    first = migrations.plan(keep=keep)
    job = counted_by_job(sound, FILLED)
    of_file, of_job = migrations.plan(keep=keep), migrations.plan()
    assert of_file.counted_at is not None
    assert of_job.counted_at is not None
    assert (first.counted_at, of_file.counted_at < of_job.counted_at) == (None, True)
    assert migrations.plan(keep=keep, job=job).counted_at == of_job.counted_at
    assert migrations.plan(keep=keep, again=True).counted_at == of_job.counted_at
    assert migrations.plan(keep=keep, again=True, job=False).counted_at is None


def test_a_sample_and_an_export_are_counted(sound: Database, tmp_path: Path) -> None:
    counted_by_job(sound, FILLED)
    items = exported(sound, FILLED, tmp_path)
    plan = Migrations(sound, FILLED).plan(from_export=items)
    assert (plan.counted_at, plan.as_of) == (None, items.complete_at)
    assert Migrations(sound, FILLED).plan(sample=0.5).counted_at is None


def test_those_of_something_else_are_not_taken(sound: Database) -> None:
    job = counted_by_job(sound, FILLED)
    both = order(PLAIN, patterns={"gsi1": by_mail, "gsi2": by_mail})[0]
    assert Migrations(sound, both).plan().counted_at is None
    for table, name in ((both, job), (FILLED, "plan-of-another")):
        with pytest.raises(InvalidRequest, match=f"the job {name} has no counts of this plan"):
            Migrations(sound, table).plan(job=name)
    Migrations(sound, both).apply()
    assert Migrations(sound, FILLED).plan().counted_at is None  # the record is another
    assert Migrations(sound, both).plan(job="plan-x").is_empty  # nothing has to be counted


def test_the_last_job_is_kept(sound: Database) -> None:
    first, second = (counted_by_job(sound, FILLED) for _ in range(2))
    assert first != second
    with pytest.raises(InvalidRequest, match="a later one has ended"):
        Migrations(sound, FILLED).plan(job=first)
    assert Migrations(sound, FILLED).plan(job=second).counted_at is not None


def test_a_foreign_table_keeps_them_beside_it() -> None:
    with fresh() as db:
        db.create_table(readings.tools)
        Migrations(db, readings.old).apply()
        for n in range(7):
            db.put(readings.OldReading(device="d", at=n))
        plain = told(db, readings.new, job=False)
        job = counted_by_job(db, readings.new)
        assert told(db, readings.new, job=job) == plain
        types = {item["_type"]["S"] for item in db.run(all_items(db.port, "tools"))}
        assert {"_plan", "_job", "_job_part", "_job_state"} <= types


# --- what is refused --------------------------------------------------------------------------------------------------
def test_what_needs_all_items_in_one_place_is_refused(sound: Database) -> None:
    with pytest.raises(InvalidRequest, match=r"unique values of Order\.mail") as refused:
        Jobs(sound, order(UNIQUE)[0]).begin("plan")
    assert "--accept unique.added Order.mail" in (refused.value.hint or "")
    with pytest.raises(InvalidRequest, match="reads no items"):
        Jobs(sound, order(PLAIN)[0]).begin("plan")
    with pytest.raises(InvalidRequest, match="can't be accepted"):
        Jobs(sound, FILLED).begin("plan", {"accept": [("no.rule", "Order")]})
    assert Jobs(sound, FILLED).all() == []


def test_conversions_are_refused() -> None:
    with fresh() as db:
        crm = converting.old()
        Migrations(db, crm.table).apply()
        for accept in ([], [("class.converted", "Contact")]):
            with pytest.raises(InvalidRequest, match="a plan with conversions is not divided"):
                Jobs(db, converting.new().table).begin("plan", {"accept": accept})


def test_a_missing_table_is_refused() -> None:
    with fresh() as db, pytest.raises(InvalidRequest, match="reads no items"):
        Jobs(db, FILLED).begin("plan")


def test_sections_that_counted_for_another_plan_are_refused(sound: Database) -> None:
    """An apply of another program ran meanwhile."""
    jobs = Jobs(sound, FILLED)
    job = jobs.begin("plan", sections=4)
    assert jobs.run(job.id, at_once=1, stop=stopped_after(2)).over > 0
    Migrations(sound, order(PLAIN, patterns={"gsi2": by_mail})[0]).apply()
    with pytest.raises(InvalidRequest, match="have changed since the job began"):
        jobs.run(job.id, at_once=1)
    assert jobs.cancel(job.id).state == "cancelled"
    assert told(sound, FILLED, job=counted_by_job(sound, FILLED)) == told(sound, FILLED, job=False)


def test_the_same_plan_is_one_job(sound: Database) -> None:
    jobs = Jobs(sound, FILLED)
    accept = [("unique.added", "Order.mail"), ("unreadable", "Order")]
    first = jobs.begin("plan", {"accept": accept})
    assert jobs.begin("plan", {"accept": [*reversed(accept), accept[0]]}).id == first.id
    assert jobs.begin("plan").id != first.id


# --- the size of what is kept -----------------------------------------------------------------------------------------
def test_counts_that_are_too_large_have_fewer_keys() -> None:
    """101 differences, with keys of two kilobytes that nothing compresses."""
    from random import Random

    random = Random(1)
    keys = ["".join(chr(random.randrange(0x4E00, 0x9FFF)) for _ in range(700)) for _ in range(505)]
    counted = [
        Counted(ModelDifference("type.changed", f"Order.a{n}", "x", "order", f"a{n}"), 9, tuple(keys[n::101]))
        for n in range(101)
    ]
    whole = KeptCounts("work", (), 9, tuple(counted), b"")
    assert unpacked_counts(packed_counts(whole, 10**7)) == whole
    data = packed_counts(whole, 350_000)
    assert len(data) <= 350_000
    less = unpacked_counts(data)
    assert [one.items for one in less.counted] == [9] * 101
    assert {len(one.keys) for one in less.counted} == {2}


def test_the_result_is_for_people(db: Database) -> None:
    """Numbers, without keys. The counts with keys are in an item of their own."""
    table = CHANGES["another type, with index keys"][0]
    done = Jobs(db, table).show(counted_by_job(db, table))
    result = done.result
    assert result is not None
    assert result["seen"] == done.seen > 60
    (text,) = result["counted"]
    assert text.startswith("61 items: Order.mail: ")
    assert {**result, "seen": 0, "counted": 1} == {
        "seen": 0, "writes": 0, "gaps": 0, "unreadable": 61, "unknown": 0, "counted": 1
    }  # fmt: skip
