"""Recurring tasks: one run at a time, one for all that were missed; no failure, kill or second version ends them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from singletable import Meter, NotFound
from singletable.errors import DeclarationError
from singletable.flow import drive
from singletable.tasks import Backoff, ClaimLost, TaskFunction
from singletable.tasks.items import PlainTask, recurring_key
from singletable.tasks.outcomes import RunPlan, apply, extend_writes, next_run_writes
from singletable.tasks.recurring_items import plan_recurring
from tests.faults.actions import LOSSES, Throttle
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.workers import task_worker
from tests.tasks.bench import Bench

HOUR, DAY = 3600.0, 86400.0
QUICK = Backoff(first_seconds=1.0)


def in_shell(bench: Bench, function: Callable[[], Any]) -> Callable[[], Any]:
    """An async function as it is for the awaiting shell; one that runs it to its end for the blocking one."""
    return function if bench.kind == "awaiting" else lambda: drive(function())


def recurring(bench: Bench, function: Any = None, **options: Any) -> TaskFunction[...]:
    """A recurring task that notes the time that each run is for, in either shell."""

    async def nightly() -> None:
        if function is not None:
            await function()
        bench.ran.append(bench.tasks.running().due)

    daily: dict[str, Any] = {"every": timedelta(days=1)}
    times = options if {"every", "cron"} & options.keys() else daily | options
    made: TaskFunction[...] = bench.tasks.recurring(name="nightly", **times)(in_shell(bench, nightly))
    return made


async def item_of(bench: Bench) -> PlainTask:
    item: PlainTask | None = await bench.shell.get(bench.tasks.entities.by_id(recurring_key("nightly")).consistent())
    assert item is not None
    return item


async def begin(bench: Bench, **options: Any) -> datetime:
    """The first look of a worker; returns the time of the first run."""
    recurring(bench, **options)
    assert (await bench.drain()).begun == 0
    return (await item_of(bench)).due


async def test_runs_come_at_their_times(bench: Bench) -> None:
    first = await begin(bench)
    assert first == bench.at(DAY)
    for _ in range(3):
        bench.clock.advance(DAY)
        assert (await bench.drain()).done == 1
        assert (await bench.drain()).begun == 0
    assert bench.ran == [first + timedelta(days=n) for n in range(3)]
    assert await bench.findings() == []


async def test_days_without_a_worker_are_one_run(bench: Bench) -> None:
    first = await begin(bench)
    bench.clock.advance(5 * DAY + HOUR)
    assert (await bench.drain()).done == 1
    assert bench.ran == [first]
    assert (await item_of(bench)).due == first + timedelta(days=5)


async def test_each_missed_run_where_that_is_asked_for(bench: Bench) -> None:
    first = await begin(bench, missed="each")
    bench.clock.advance(5 * DAY + HOUR)
    assert (await bench.drain()).done == 5
    assert bench.ran == [first + timedelta(days=n) for n in range(5)]


async def test_no_missed_run_where_that_is_asked_for(bench: Bench) -> None:
    first = await begin(bench, missed="skip")
    bench.clock.advance(5 * DAY + HOUR)
    await bench.drain()
    assert bench.ran == []
    bench.clock.advance(DAY - HOUR + 59)
    await bench.drain()
    assert bench.ran == [first + timedelta(days=5)]


async def test_a_night_that_fails_for_good_does_not_end_it(bench: Bench) -> None:
    fails = [True]

    async def fail() -> None:
        if fails[0]:
            raise ValueError("the bank does not answer")

    first = await begin(bench, function=fail, tries=2, backoff=QUICK)
    bench.clock.advance(DAY)
    assert (await bench.drain()).failed == 1
    bench.clock.advance(2)
    assert (await bench.drain()).dead == 1
    (letter,) = await bench.dead()
    assert (letter.key, letter.due, letter.tries) == ("recurring:nightly", first, 1)
    assert letter.error.startswith("ValueError")
    assert [each.code for each in await task_worker(bench.shell, bench.tasks).check()] == ["task.dead-letter"]
    fails[0] = False
    bench.clock.advance(DAY)
    assert (await bench.drain()).done == 1
    assert await bench.dead() == []
    assert bench.ran == [first + timedelta(days=1)]


@pytest.mark.parametrize("missed", ["once", "each", "skip"])
async def test_a_failed_run_is_retried_and_the_next_keeps_its_time(bench: Bench, missed: str) -> None:
    fails = [True]

    async def fail() -> None:
        if fails[0]:
            raise ValueError

    first = await begin(bench, function=fail, tries=1, missed=missed)
    bench.clock.advance(DAY)
    await bench.drain()
    fails[0] = False
    bench.clock.advance(HOUR)
    await bench.retry(recurring_key("nightly"))
    assert (await bench.drain()).done == 1
    assert (bench.ran, (await item_of(bench)).due) == ([first], first + timedelta(days=1))
    with pytest.raises(NotFound):
        await bench.retry(recurring_key("nightly"))


async def test_a_beat_that_arrives_after_the_end_moves_nothing(bench: Bench) -> None:
    """An extension was on its way when the run ended: the next run keeps its time."""
    first = await begin(bench)
    bench.clock.advance(DAY)
    entities, port = bench.tasks.entities, bench.shell.port
    claimed = await bench.claim(recurring_key("nightly"), 60)
    plan = RunPlan(first + timedelta(days=1), "every day", bench.at(0))
    await bench.shell.run(apply(port, next_run_writes(claimed, plan)))
    with pytest.raises(ClaimLost):
        await bench.shell.run(apply(port, extend_writes(entities, claimed, bench.at(90))))
    assert (await item_of(bench)).wake == first + timedelta(days=1)


async def test_a_failed_run_is_dropped(bench: Bench) -> None:
    async def fail() -> None:
        raise ValueError

    first = await begin(bench, function=fail, tries=1)
    bench.clock.advance(DAY)
    await bench.drain()
    await task_worker(bench.shell, bench.tasks).drop(recurring_key("nightly"))
    assert await bench.dead() == []
    assert (await item_of(bench)).due == first + timedelta(days=1)


async def test_its_end_within_a_transaction_plans_the_next_run(bench: Bench) -> None:
    async def count() -> None:
        async with bench.shell.transaction() as tx:
            tx.update(*bench.plus("a"))
            tx.add(bench.tasks.done())

    await bench.shell.create(bench.counter(id="a"))
    first = await begin(bench, function=count)
    bench.clock.advance(DAY)
    with Meter() as meter:
        assert (await bench.drain()).done == 1
    assert "DeleteItem" not in meter.by_operation
    assert (await bench.count("a"), (await item_of(bench)).due) == (1, first + timedelta(days=1))


async def test_what_it_costs(bench: Bench) -> None:
    await begin(bench)
    bench.clock.advance(DAY)
    with Meter() as meter:
        await bench.drain()
    assert meter.by_operation["UpdateItem"].requests == 2  # the claim, and its end, which plans the next
    assert meter.by_operation["BatchGetItem"].requests == 1


async def test_two_workers_make_one_item_and_one_run(bench: Bench) -> None:
    recurring(bench)
    tasks, port = bench.tasks, bench.shell.port
    for _ in range(2):
        await bench.shell.run(plan_recurring(port, tasks.entities, tasks.functions, bench.at(0)))
    bench.clock.advance(DAY)
    running = await bench.claim(recurring_key("nightly"), 3600)
    assert running.tries == 1
    assert (await bench.drain(lease_seconds=3600)).begun == 0, "one run at a time"


@pytest.mark.parametrize("order", ["old last", "new last"])
async def test_of_two_versions_the_later_starts_plan(bench: Bench, order: str) -> None:
    tasks, port = bench.tasks, bench.shell.port

    async def plan(hour: int, began: datetime) -> None:
        bench.tasks.functions.clear()
        recurring(bench, cron=f"0 {hour} * * *")
        await bench.shell.run(plan_recurring(port, tasks.entities, tasks.functions, began))

    old, new = (2, bench.at(0)), (3, bench.at(60))
    for version in (old, new, old) if order == "old last" else (new, old, new):
        await plan(*version)
    assert (await item_of(bench)).due.hour == 3


async def test_a_run_that_is_due_is_not_planned_away(bench: Bench) -> None:
    first = await begin(bench)
    bench.clock.advance(DAY + 5)
    bench.tasks.functions.clear()
    recurring(bench, every=timedelta(days=7))
    assert (await bench.drain()).done == 1
    assert bench.ran == [first]
    assert (await item_of(bench)).due == first + timedelta(days=7)


async def test_a_declaration_that_is_gone_ends_as_a_dead_letter_and_comes_back(bench: Bench) -> None:
    first = await begin(bench)
    declared = dict(bench.tasks.functions)
    bench.tasks.functions.clear()
    bench.clock.advance(DAY + 3700)
    assert (await bench.drain()).dead == 1
    assert [each.task for each in await bench.dead()] == ["nightly"]
    bench.tasks.functions.update(declared)
    assert (await bench.drain()).done == 1, "the missed run"
    assert await bench.dead() == []
    assert (bench.ran, (await item_of(bench)).due) == ([first], first + timedelta(days=1))


@pytest.mark.parametrize(("missed", "runs"), [("once", 1), ("each", 5), ("skip", 0)])
async def test_missed_runs_that_a_program_without_the_task_saw_first(bench: Bench, missed: str, runs: int) -> None:
    """After days without a worker, the older version's worker is the first to start: it has to give the run up."""
    first = await begin(bench, missed=missed)
    declared = dict(bench.tasks.functions)
    bench.tasks.functions.clear()
    bench.clock.advance(5 * DAY + HOUR)
    assert (await bench.drain()).dead == 1
    bench.tasks.functions.update(declared)
    await bench.drain()
    assert bench.ran == [first + timedelta(days=n) for n in range(runs)]
    assert (await item_of(bench)).due == first + timedelta(days=5)


async def dead_after_a_failed_run(bench: Bench, fails: list[bool], **options: Any) -> datetime:
    """A run has failed for good; then no program had the task for an hour after the next one's time."""

    async def fail() -> None:
        if fails:
            raise ValueError

    first = await begin(bench, function=fail, tries=1, **options)
    bench.clock.advance(DAY)
    assert (await bench.drain()).dead == 1
    declared = dict(bench.tasks.functions)
    bench.tasks.functions.clear()
    bench.clock.advance(DAY + HOUR)
    assert (await bench.drain()).dead == 1
    bench.tasks.functions.update(declared)
    return first + timedelta(days=1)


@pytest.mark.parametrize("missed", ["once", "skip"])
async def test_a_dead_recurring_task_is_retried_whatever_failed_before(bench: Bench, missed: str) -> None:
    fails = [True]
    due = await dead_after_a_failed_run(bench, fails, missed=missed)
    (letter,) = await bench.dead()
    assert (letter.due, letter.error.split(":")[0]) == (due, "UnknownTask")
    await bench.retry(recurring_key("nightly"))
    fails.clear()
    assert (await bench.drain()).done == 1
    assert (bench.ran, await bench.dead()) == ([due], [])


async def test_a_retry_that_fails_is_a_dead_letter_again(bench: Bench) -> None:
    due = await dead_after_a_failed_run(bench, [True])
    await bench.retry(recurring_key("nightly"))
    (letter,) = await bench.dead()
    assert (letter.due, letter.error.split(":")[0]) == (due, "UnknownTask"), "until the run has ended"
    assert (await bench.drain()).dead == 1
    (letter,) = await bench.dead()
    assert (letter.due, letter.error.split(":")[0]) == (due, "ValueError")


async def test_a_dead_recurring_task_is_dropped_whatever_failed_before(bench: Bench) -> None:
    await dead_after_a_failed_run(bench, [True])
    bench.tasks.functions.clear()
    await task_worker(bench.shell, bench.tasks).drop(recurring_key("nightly"))
    assert await bench.shell.get(bench.tasks.entities.by_id(recurring_key("nightly")).consistent()) is None


async def test_a_cancelled_item_comes_back(bench: Bench) -> None:
    await begin(bench)
    await bench.add(bench.tasks.cancel(recurring_key("nightly")))
    await bench.drain()
    assert (await item_of(bench)).due == bench.at(DAY)


async def test_a_clock_that_steps_repeats_no_run(bench: Bench) -> None:
    first = await begin(bench)
    bench.clock.advance(DAY)
    await bench.drain()
    bench.clock.set_back(HOUR)
    assert (await bench.drain()).begun == 0
    bench.clock.advance(HOUR + 10)
    assert (await bench.drain()).begun == 0
    assert bench.ran == [first]


@pytest.mark.parametrize("number", range(1, 5))
@pytest.mark.parametrize("fault", [*LOSSES, Throttle()], ids=lambda fault: type(fault).__name__)
async def test_a_fault_at_any_write_leaves_one_item_and_its_next_run(bench: Bench, fault: Any, number: int) -> None:
    """The item's creation, the claim, the end, and the next claim; the answer of each is lost."""
    faults = Faults()
    make_faulty(bench.shell.port, faults)
    faults.add(Rule(Match(("PutItem", "UpdateItem"), nth=number), fault))
    first = await begin(bench)
    for _ in range(2):
        bench.clock.advance(DAY)
        assert (await bench.drain()).begun == 1
    assert bench.ran == [first, first + timedelta(days=1)]
    assert (await item_of(bench)).due == first + timedelta(days=2)
    assert await bench.findings() == []


async def test_a_worker_that_dies_in_a_run_is_followed(bench: Bench) -> None:
    first = await begin(bench)
    bench.clock.advance(DAY)
    await bench.claim(recurring_key("nightly"), 30)
    bench.clock.advance(31)
    assert (await bench.drain()).done == 1
    assert (bench.ran, (await item_of(bench)).due) == ([first], first + timedelta(days=1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"every": timedelta(hours=1), "cron": "* * * * *"},
        {"every": timedelta(0)},
        {"every": timedelta(1), "missed": "all"},
        {"cron": "0 0 30 2 *"},
        {"cron": "0 0 * * *", "zone": "Nowhere"},
    ],
)
def test_times_that_are_not_valid_are_refused(bench: Bench, options: Any) -> None:
    with pytest.raises(DeclarationError):
        bench.tasks.recurring(**options)(lambda: None)


def test_a_parameter_without_a_default_is_refused(bench: Bench) -> None:
    def report(day: str) -> None: ...

    with pytest.raises(DeclarationError, match="needs its day"):
        bench.tasks.recurring(every=timedelta(days=1))(report)
