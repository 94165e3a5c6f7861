"""Tasks in both shells, on the real engine, by a clock that the test sets."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import pytest

from singletable import AlreadyExists, NotFound, TransactionCancelled
from singletable.foundation import send_alone
from singletable.tasks import Backoff, ClaimLost, NothingToDo
from singletable.tasks.writes import TaskClaim
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.support.raw import all_items
from tests.support.workers import task_worker
from tests.tasks.bench import Bench, make_bench, noting, seconds


class PowerCut(BaseException):
    """Ends a worker as nothing else does: what it holds stays held."""


async def test_a_task_is_run_when_it_is_due_and_not_before(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(10), note("a")), bench.tasks.at(bench.at(20), note("b")))
    for advance, wanted in ((0, []), (9.999_999, []), (0.000_002, ["a"]), (9.9, ["a"]), (0.2, ["a", "b"])):
        bench.clock.advance(advance)
        await bench.drain()
        assert bench.ran == wanted
    assert await bench.findings() == []


async def test_it_commits_with_the_data_it_belongs_to(bench: Bench) -> None:
    note = noting(bench)

    async def write(*, there: bool) -> None:
        async with bench.shell.transaction() as tx:
            tx.create(bench.counter(id="there")) if there else tx.update(*bench.plus("missing"))
            tx.add(bench.tasks.after(seconds(0), note("once" if there else "never")))

    with pytest.raises(TransactionCancelled):
        await write(there=False)
    await bench.drain()
    assert bench.ran == []
    await write(there=True)
    assert (await bench.drain()).done == 1
    assert bench.ran == ["once"]


class Untellable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message either")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FileNotFoundError("no file \udcff here"), "FileNotFoundError: no file \\udcff here"),
        (Untellable(), "Untellable: its message can't be shown: it raised RuntimeError"),
    ],
)
async def test_an_error_that_is_no_text_does_not_end_the_worker(bench: Bench, error: Exception, told: str) -> None:
    @bench.task(tries=1)
    async def fail() -> None:
        raise error

    await bench.add(bench.tasks.after(seconds(0), fail()))
    assert (await bench.drain()).dead == 1
    assert [letter.error for letter in await bench.dead()] == [told]


async def test_a_task_whose_work_would_never_run_fails(bench: Bench) -> None:
    """A plain function that returns a coroutine, as a decorator may make one, is not taken for done."""

    async def work() -> None:
        bench.ran.append("never")

    @bench.tasks.task(tries=1)
    def begin() -> Any:
        return work()

    await bench.add(bench.tasks.after(seconds(0), begin()))
    assert (await bench.drain()).dead == 1
    (letter,) = await bench.dead()
    assert "the task begin returned an awaitable" in letter.error
    assert bench.ran == []


@pytest.mark.parametrize("kind", ["blocking"], indirect=True)
async def test_a_function_that_exits_does_not_end_the_worker(bench: Bench) -> None:
    """It runs in a thread, where no handler of a signal can have raised it."""

    @bench.tasks.task(tries=1)
    def leave() -> None:
        sys.exit("bad")

    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(0), leave()), bench.tasks.after(seconds(0), note("after")))
    counts = await bench.drain()
    assert (counts.dead, counts.done, bench.ran) == (1, 1, ["after"])
    assert [letter.error for letter in await bench.dead()] == ["SystemExit: bad"]


async def test_the_oldest_come_first(bench: Bench) -> None:
    note = noting(bench)
    for number in (5, 3, 9, 1, 7):
        await bench.add(bench.tasks.at(bench.at(number), note(str(number))))
    bench.clock.advance(10)
    await bench.drain(at_once=1)
    assert bench.ran == ["1", "3", "5", "7", "9"]


async def test_what_a_task_schedules_now_is_run_in_the_same_drain(bench: Bench) -> None:
    @bench.task
    async def step(number: int) -> None:
        bench.ran.append(number)
        if number < 3:
            await bench.add(bench.tasks.after(timedelta(0), step(number + 1)))

    await bench.add(bench.tasks.after(timedelta(0), step(0)))
    assert (await bench.drain()).done == 4
    assert bench.ran == [0, 1, 2, 3]


async def test_a_key_exists_once_and_cancels(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(1), note("first"), key="wake"))
    with pytest.raises(TransactionCancelled) as refused:
        await bench.add(bench.tasks.after(seconds(1), note("second"), key="wake"))
    assert isinstance(refused.value.failures[0].error, AlreadyExists)
    await bench.add(bench.tasks.cancel("wake"), bench.tasks.cancel("another"))
    bench.clock.advance(2)
    assert (await bench.drain()).begun == 0
    await bench.add(bench.tasks.after(seconds(1), note("third"), key="wake"))
    await bench.add(bench.tasks.cancel("wake"), bench.tasks.after(seconds(2), note("fourth"), key="wake"))
    bench.clock.advance(3)
    await bench.drain()
    assert bench.ran == ["fourth"]
    assert await bench.findings() == []


async def test_effect_and_end_are_one(bench: Bench) -> None:
    @bench.task
    async def count(id: str, fails: bool) -> None:
        async with bench.shell.transaction() as tx:
            tx.update(*bench.plus(id))
            tx.add(bench.tasks.done())
            if fails:
                raise RuntimeError("before the commit")

    await bench.shell.create(bench.counter(id="a"))
    await bench.add(bench.tasks.after(seconds(0), count("a", False)), bench.tasks.after(seconds(0), count("a", True)))
    counts = await bench.drain()
    assert (counts.done, counts.failed) == (1, 1)
    assert await bench.count("a") == 1
    assert await bench.findings() == []


async def test_a_task_that_fails_after_its_end_has_ended(bench: Bench) -> None:
    @bench.task
    async def late() -> None:
        await bench.add(bench.tasks.done())
        raise RuntimeError("too late to matter")

    await bench.add(bench.tasks.after(seconds(0), late()))
    assert (await bench.drain()).done == 1
    bench.clock.advance(10_000)
    assert (await bench.drain()).begun == 0


async def test_the_end_of_a_cancelled_task_leaves_the_next_of_its_key(bench: Bench) -> None:
    """The next one is claimed as often as the one before it; only its fence tells them apart."""
    tasks = bench.tasks.entities
    another = noting(bench, name="another")

    @bench.task
    async def first() -> None:
        await bench.add(bench.tasks.cancel("k"))
        await bench.add(bench.tasks.after(seconds(0), another("second"), key="k"))
        claim = TaskClaim(tasks, tasks.by_id("k"), bench.at(0), bench.at(30), None)
        await bench.shell.run(send_alone(bench.shell.port, claim))

    await bench.add(bench.tasks.after(seconds(0), first(), key="k"))
    await bench.drain()
    assert await bench.shell.get(tasks.by_id("k").consistent()) is not None
    bench.clock.advance(31)
    await bench.drain()
    assert bench.ran == ["second"]
    assert await bench.findings() == []


async def test_a_cancelled_task_can_not_end_with_its_effect(bench: Bench) -> None:
    refusals: list[object] = []

    @bench.task
    async def count() -> None:
        await bench.add(bench.tasks.cancel("k"))
        try:
            async with bench.shell.transaction() as tx:
                tx.update(*bench.plus("a"))
                tx.add(bench.tasks.done())
        except TransactionCancelled as cancelled:
            refusals.append(cancelled.failures[0].error)
            raise

    await bench.shell.create(bench.counter(id="a"))
    await bench.add(bench.tasks.after(seconds(0), count(), key="k"))
    assert (await bench.drain()).lost == 1
    assert isinstance(refusals[0], ClaimLost)
    assert await bench.count("a") == 0
    bench.clock.advance(10_000)
    assert (await bench.drain()).begun == 0


@pytest.mark.parametrize("ends_first", [True, False])
@pytest.mark.parametrize("order", [None, "o"])
async def test_a_task_hands_its_key_to_the_next(bench: Bench, ends_first: bool, order: str | None) -> None:
    @bench.task
    async def tick(number: int) -> None:
        again = bench.tasks.after(seconds(10), tick(number + 1), key="ticker", order=order)
        both = (bench.tasks.done(), again)
        await bench.add(*(both if ends_first else reversed(both)))
        bench.ran.append(number)

    await bench.add(bench.tasks.after(seconds(10), tick(0), key="ticker", order=order))
    for _ in range(3):
        bench.clock.advance(10)
        assert (await bench.drain()).done == 1
        assert (await bench.drain()).begun == 0
    assert bench.ran == [0, 1, 2]
    await bench.add(bench.tasks.cancel("ticker"))
    bench.clock.advance(100)
    assert (await bench.drain()).begun == 0
    assert await bench.findings() == []


async def test_what_fails_is_retried_later_each_time_then_a_dead_letter(bench: Bench) -> None:
    @bench.task(tries=3, backoff=Backoff(first_seconds=10, longest_seconds=15))
    async def fail() -> None:
        bench.ran.append(bench.tasks.running().tries)
        raise ValueError("no such luck " + "x" * 1000)

    await bench.add(bench.tasks.after(seconds(0), fail(), key="bad"))
    for advance, begun in ((0, 1), (4.9, 0), (5.1, 1), (7.4, 0), (7.6, 1), (10_000, 0)):
        bench.clock.advance(advance)
        assert (await bench.drain()).begun == begun
    assert bench.ran == [1, 2, 3]
    (letter,) = await bench.dead()
    assert (letter.key, letter.task, letter.tries) == ("bad", "fail", 3)
    assert letter.error.startswith("ValueError: no such luck xxx")
    assert len(letter.error) == 500
    assert "luck" not in repr(letter)
    assert await bench.findings() == []


async def test_the_dead_are_retried_or_cancelled(bench: Bench) -> None:
    healed: list[bool] = []

    @bench.task(tries=1)
    async def fail() -> None:
        if not healed:
            raise ValueError

    await bench.add(bench.tasks.after(seconds(0), fail(), key="a"), bench.tasks.after(seconds(0), fail(), key="b"))
    assert (await bench.drain()).dead == 2
    with pytest.raises(NotFound):
        await task_worker(bench.shell, bench.tasks).retry("c")
    healed.append(True)
    await task_worker(bench.shell, bench.tasks).retry("a")
    with pytest.raises(NotFound):
        await task_worker(bench.shell, bench.tasks).retry("a")
    await bench.add(bench.tasks.cancel("b"))
    assert (await bench.drain()).done == 1
    assert await bench.dead() == []
    assert await bench.findings() == []


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_dead_task_is_dropped_and_no_other(bench: Bench, order: str | None) -> None:
    @bench.task(tries=1)
    async def fail() -> None:
        raise ValueError

    worker = task_worker(bench.shell, bench.tasks)
    await bench.add(bench.tasks.after(seconds(0), fail(), key="a", order=order))
    with pytest.raises(NotFound) as waits:
        await worker.drop("a")
    assert waits.value.operation == "drop"
    assert (await bench.drain()).dead == 1
    await worker.drop("a")
    assert await bench.dead() == []
    with pytest.raises(NotFound):
        await worker.drop("a")
    await bench.add(bench.tasks.after(seconds(0), fail(), key="a", order=order))  # its key is free again
    assert await bench.findings() == []


@pytest.mark.parametrize("order", [None, "o"])
async def test_check_tells_what_is_dead_and_what_nobody_claims(bench: Bench, order: str | None) -> None:
    """Dead at once; not claimed an hour after it could be, by the database's clock. Both until somebody acts."""

    @bench.task(tries=1)
    async def work(n: int) -> None:
        if n == 0:
            raise KeyError("the value")

    async def told() -> list[str]:
        return [f"{each.code} {each.what}" for each in await task_worker(bench.shell, bench.tasks).check()]

    await bench.add(bench.tasks.after(timedelta(0), work(0), key="dies", order=order))
    assert await told() == []
    await bench.drain()
    (dead,) = await told()
    assert dead == "task.dead-letter work failed 1 times: see TaskWorker.dead_letters(), then retry() or drop() it"
    await task_worker(bench.shell, bench.tasks).drop("dies")
    await bench.add(bench.tasks.after(timedelta(minutes=5), work(1), order=order))
    bench.clock.advance(300 + 3600)
    assert await told() == []
    bench.clock.advance(1)
    (late,) = await told()
    assert late == "task.overdue no worker has claimed it for over an hour since it could: run one"
    await bench.drain()
    assert await told() == []


async def test_dead_letters_are_shown_in_the_order_of_their_death(bench: Bench) -> None:
    @bench.task(tries=1)
    async def fail() -> None:
        raise ValueError

    keys = ["d", "a", "f", "c", "e", "b"]
    for number, key in enumerate(keys):
        await bench.add(bench.tasks.after(seconds(number), fail(), key=key))
    for _ in keys:
        await bench.drain()
        bench.clock.advance(1)
    assert [letter.key for letter in await bench.dead()] == keys


async def test_a_task_without_its_function_waits_and_becomes_a_dead_letter(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(0), note("a"), key="a"))
    bench.tasks.functions.clear()
    for _ in range(20):
        await bench.drain()
        bench.clock.advance(100)
    assert await bench.dead() == []
    assert [finding.code for finding in await bench.findings()] == ["task.unknown"]
    bench.clock.advance(2000)
    await bench.drain()
    (letter,) = await bench.dead()
    assert letter.error.startswith("UnknownTask: this program has no task 'note'")
    noting(bench)
    await task_worker(bench.shell, bench.tasks).retry("a")
    await bench.drain()
    assert bench.ran == ["a"]


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_task_that_another_version_knows_waits_for_it_with_all_its_tries(
    bench: Bench, order: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Its function is new, then a parameter of it is."""

    async def remind(user: str, loud: bool = False) -> None:
        bench.ran.append((user, loud, bench.tasks.running().tries))

    new = bench.task(tries=1)(remind)
    await bench.add(bench.tasks.after(seconds(0), new("ada", loud=True), order=order))
    bench.tasks.functions.clear()
    for _ in range(10):
        await bench.drain()
        bench.clock.advance(70)

    async def older(user: str) -> None:
        bench.ran.append("of an older program")

    older.__name__ = "remind"
    bench.task(tries=1)(older)
    for _ in range(10):
        await bench.drain()
        bench.clock.advance(70)
    assert "no task 'remind'" in caplog.text
    assert "has no parameter 'loud'" in caplog.text
    assert {finding.code for finding in await task_worker(bench.shell, bench.tasks).check()} == {"task.unknown"}
    bench.tasks.functions.clear()
    bench.task(tries=1)(remind)
    assert (await bench.drain()).done == 1
    assert bench.ran == [("ada", True, 1)]
    assert await bench.findings() == []


async def test_running_says_what_a_task_may_know(bench: Bench) -> None:
    @bench.task
    async def look() -> None:
        bench.ran.append(bench.tasks.running())
        raise ValueError

    due = bench.at(-5)
    await bench.add(bench.tasks.at(due, look(), key="k"))
    await bench.drain()
    bench.clock.advance(10)
    await bench.drain()
    first, second = bench.ran
    assert (first.key, first.task, first.due, first.tries) == ("k", "look", due, 1)
    assert (second.tries, second.fence) == (2, first.fence + 1)


async def test_a_claim_of_a_lost_worker_passes_on_and_its_end_is_refused(bench: Bench) -> None:
    """The first run stands still for longer than its lease; another worker runs the task meanwhile."""
    refusals: list[object] = []

    @bench.task
    async def slow() -> None:
        bench.ran.append(bench.tasks.running().tries)
        if bench.tasks.running().tries == 1:
            bench.clock.advance(61)
            await bench.drain()
        try:
            async with bench.shell.transaction() as tx:
                tx.update(*bench.plus("a"))
                tx.add(bench.tasks.done())
        except TransactionCancelled as cancelled:
            refusals.append(cancelled.failures[-1].error)

    await bench.shell.create(bench.counter(id="a"))
    await bench.add(bench.tasks.after(seconds(0), slow()))
    await bench.drain()
    assert bench.ran == [1, 2]
    assert await bench.count("a") == 1
    assert [type(error) for error in refusals] == [ClaimLost]
    assert await bench.findings() == []


async def test_a_worker_that_always_ends_first_does_not_try_for_ever(bench: Bench) -> None:
    @bench.task(tries=2)
    async def poison() -> None:
        raise PowerCut

    await bench.add(bench.tasks.after(seconds(0), poison(), key="p"))
    for _ in range(2):
        with pytest.raises(PowerCut):
            await bench.drain()
        bench.clock.advance(61)
    assert (await bench.drain()).dead == 1
    (letter,) = await bench.dead()
    assert letter.error.startswith("Unfinished: it was begun 2 times")


async def test_many_are_run_in_any_number_of_looks(bench: Bench) -> None:
    note = noting(bench)
    for first in range(0, 500, 100):
        await bench.add(*(bench.tasks.after(seconds(0), note(str(first + n))) for n in range(100)))
    assert (await bench.drain(at_once=15)).done == 500
    assert sorted(bench.ran, key=int) == [str(n) for n in range(500)]
    assert await bench.findings() == []


async def test_no_more_run_at_once_than_asked_for(bench: Bench) -> None:
    inside = set[int]()

    @bench.task
    async def read(number: int) -> None:
        inside.add(number)
        bench.ran.append(len(inside))
        await bench.shell.get(bench.counter.by_id("a"))
        inside.remove(number)

    await bench.add(*(bench.tasks.after(seconds(0), read(number)) for number in range(40)))
    assert (await bench.drain(at_once=3)).done == 40
    assert 1 < max(bench.ran) <= 3


@pytest.mark.parametrize(("key", "name"), [(("pk", "sk"), "id"), (("id", "rng"), "taskId")])
async def test_a_task_stores_its_id_beside_the_tables_key(
    kind: str, engine_url: str, key: tuple[str, str], name: str
) -> None:
    clock = Clock()
    async with opened_at(kind, engine_url, clock=clock) as shell:
        bench = make_bench(kind, shell, clock, f"ids-{key[0]}", key=key)
        note = noting(bench)
        await bench.add(bench.tasks.after(seconds(0), note("plain"), key="k"))
        await bench.add(bench.tasks.after(seconds(0), note("ordered"), key="o", order="x"))
        items = [item for item in await all_items(shell.port, bench.table.name) if name in item and "function" in item]
        assert {item[name]["S"] for item in items} == {"k", "o"}
        await bench.drain()
        assert sorted(bench.ran) == ["ordered", "plain"]
        assert await bench.findings() == []


class InvoiceGone(NothingToDo):
    """As an application names its own."""


@pytest.mark.parametrize("order", [None, "o"], ids=["plain", "ordered"])
async def test_a_task_with_nothing_to_do_ends_without_another_try(
    bench: Bench, order: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    @bench.task
    async def remind(number: str) -> None:
        bench.ran.append(number)
        raise InvoiceGone("secret")

    for number in ("1", "2"):
        await bench.add(bench.tasks.after(seconds(0), remind(number), key=number, order=order))
    with caplog.at_level("INFO", "singletable.tasks"):
        assert (await bench.drain()).done == 2
    assert sorted(bench.ran) == ["1", "2"]
    assert await bench.dead() == []
    bench.clock.advance(10_000)
    assert (await bench.drain()).begun == 0
    assert await bench.findings() == []
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert "InvoiceGone" in caplog.text
    assert "secret" not in caplog.text
