"""Workers by a real clock: they wait, stop when asked, and are processes that can be killed."""

from __future__ import annotations

import re
import signal
import threading  # noqa: TID251
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from examples_shared.testing.nursery import Process
from singletable import Database, InvalidRequest, connect
from singletable.errors import NotConfigured
from singletable.flow import Traits
from singletable.tasks import TaskWorker
from tests.support.children import child
from tests.support.shells import disguised
from tests.support.workers import task_worker
from tests.tasks import processes
from tests.tasks.bench import LOCAL, Bench, Stop, make_bench, noting, seconds


async def test_a_worker_waits_for_what_is_due(real: Bench) -> None:
    @real.task
    async def note(at: float) -> None:
        real.ran.append(time.time() - at)

    for wait in (0.1, 0.5, 0.9):
        await real.add(real.tasks.after(seconds(wait), note(time.time() + wait)))
    counts = await task_worker(real.shell, real.tasks).run(stop=Stop(real, 3), signals=False, poll_seconds=5)
    assert counts.done == 3
    # Not early but for the time between the two clocks' readings, and not at the next poll only.
    assert all(-0.05 < late < 3 for late in real.ran)
    assert await real.findings() == []


async def test_what_runs_is_finished_before_a_worker_stops(real: Bench) -> None:
    stopped: list[bool] = []

    @real.task
    async def slow() -> None:
        stopped.append(True)
        await real.shell.create(real.counter(id="begun"))
        real.ran.append("finished")

    await real.add(real.tasks.after(seconds(0), slow()))
    counts = await task_worker(real.shell, real.tasks).run(stop=lambda: bool(stopped), signals=False)
    assert (counts.done, real.ran) == (1, ["finished"])


async def test_an_error_that_lasts_ends_the_worker(real: Bench) -> None:
    """Not one of the service's passing troubles: there is no such table."""
    noting(real)
    real.shell.port.traits = Traits()
    with pytest.raises(NotConfigured):
        await task_worker(real.shell, real.tasks).run(stop=Stop(real, 1), signals=False)


async def test_an_error_after_the_end_is_logged(real: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @real.task
    async def stumbles() -> None:
        await real.add(real.tasks.done())
        raise ConnectionError("too late to be a failed try")

    await real.add(real.tasks.after(seconds(0), stumbles()))
    counts = await task_worker(real.shell, real.tasks).drain()
    assert (counts.done, counts.begun) == (1, 1)
    (ended,) = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"task stumbles \([0-9a-f]{16}\): try 1 of 8, done after \d+ ms with ConnectionError", ended)


def test_a_signal_that_another_thread_takes_is_heard(engine_url: str) -> None:
    """The kernel may interrupt any thread; handlers run in the main one, which waits for the others."""
    with connect(engine_url) as db:
        db.port.traits = LOCAL
        bench = make_bench("blocking", disguised(db), None)  # type: ignore[arg-type]

        @bench.tasks.task
        def interrupted() -> None:
            threading.Event().wait(0.5)  # until the main thread waits for its lanes
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

        with db.transaction() as tx:
            tx.add(bench.tasks.after(seconds(0), interrupted()))
        begun = time.monotonic()
        counts = TaskWorker(db, bench.tasks).run(stop=lambda: time.monotonic() - begun > 20)
        assert counts.done == 1
        assert time.monotonic() - begun < 10


async def test_settings_that_can_not_be_are_refused(real: Bench) -> None:
    refused: list[dict[str, Any]] = [{"at_once": 0}, {"at_once": 16}, {"poll_seconds": 0}, {"lease_seconds": -1}]
    for wrong in refused:
        with pytest.raises(InvalidRequest):
            await task_worker(real.shell, real.tasks).run(signals=False, **wrong)


def test_the_blocking_shell_refuses_async_functions(engine_url: str) -> None:
    async def wait() -> None: ...

    with connect(engine_url) as db:
        bench = make_bench("blocking", disguised(db), None)  # type: ignore[arg-type]
        worker = TaskWorker(db, bench.tasks)
        bench.tasks.task(wait)
        for begin in (worker.drain, worker.run, worker.lambda_handler):
            with pytest.raises(InvalidRequest, match=r"the task wait is an async function.*connect_async"):
                begin()


def worker(url: str, notes: Path, *, lease: float = 2.0) -> AbstractContextManager[Process]:
    return child(processes.work, url, str(notes), str(lease))


@contextmanager
def workers(url: str, logs: list[Path]) -> Generator[list[Process], None, None]:
    """Three workers, killed at the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(worker(url, log)) for log in logs]


def await_notes(notes: Path, wanted: int, patience: float = 30.0) -> list[str]:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        lines = notes.read_text().split() if notes.exists() else []
        if len(lines) >= wanted:
            return lines
        time.sleep(0.02)  # noqa: TID251 another process works meanwhile
    raise AssertionError(f"the worker has not noted {wanted} lines")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_drains_at_a_signal(engine_url: str, tmp_path: Path, number: signal.Signals) -> None:
    notes = tmp_path / "notes"
    with connect(engine_url) as db:
        db.port.traits = LOCAL
        with db.transaction() as tx:
            tx.create(processes.Counter(id="a"))
            tx.add(processes.tasks.after(seconds(0), processes.slow("a")))
        with worker(engine_url, notes) as process:
            assert await_notes(notes, 1) == ["begun"]
            process.send_signal(number)
            assert process.wait(20) == 0
        assert notes.read_text().split() == ["begun", "finished"]
        assert db.get(processes.Counter.by_id("a").consistent()).count == 1  # type: ignore[union-attr]
        assert TaskWorker(db, processes.tasks).check() == []


def test_a_killed_workers_task_comes_back(engine_url: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with connect(engine_url) as db:
        db.port.traits = LOCAL
        with db.transaction() as tx:
            tx.create(processes.Counter(id="a"))
            tx.add(processes.tasks.after(seconds(0), processes.slow("a")))
        with worker(engine_url, notes) as process:
            await_notes(notes, 1)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        assert TaskWorker(db, processes.tasks).drain().begun == 0
        with worker(engine_url, notes):
            assert await_notes(notes, 3) == ["begun", "begun", "finished"]
        assert db.get(processes.Counter.by_id("a").consistent()).count == 1  # type: ignore[union-attr]
        assert TaskWorker(db, processes.tasks).check() == []


@pytest.mark.soak
@pytest.mark.timeout(500)
def test_thousands_of_tasks_under_workers_that_are_killed(
    engine_url: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """1,600 tasks, half of them in 40 orders, while three workers are killed whenever they have done 60 more."""
    orders, each = 40, 20
    wanted, logs = orders * each * 2, [tmp_path / f"notes{n}" for n in range(3)]
    with connect(engine_url) as db:
        db.port.traits = LOCAL
        begun, kills = time.monotonic(), 0
        _schedule(db, orders, each)
        while sum(counter.count for counter in _counters(db)) < wanted and time.monotonic() - begun < 400:
            with workers(engine_url, logs) as running:
                _await_more(db, 60)
            kills += len(running)
        assert [counter.count for counter in _counters(db)] == [each * 2] * orders
        for counter in _counters(db):
            assert [n for n in counter.steps if n >= 0] == list(range(each)), counter.id
        early = [line for log in logs if log.exists() for line in log.read_text().split()]
        assert early == []
        assert kills > 20
        assert TaskWorker(db, processes.tasks).dead_letters() == []
        assert TaskWorker(db, processes.tasks).check() == []
        record_property("tasks", wanted)
        record_property("workers killed", kills)
        record_property("seconds", round(time.monotonic() - begun, 1))


def _schedule(db: Database, orders: int, each: int) -> None:
    for order in range(orders):
        id = f"o{order}"
        with db.transaction() as tx:
            tx.create(processes.Counter(id=id))
            for number in range(each):
                wait = seconds(number / 10)
                tx.add(processes.tasks.after(wait, processes.step(id, number), order=id))
                tx.add(processes.tasks.after(wait, processes.step(id, -1)))


def _counters(db: Database) -> list[processes.Counter]:
    return list(db.scan(processes.Counter, consistent=True))


def _await_more(db: Database, more: int) -> None:
    """Until so much more was done, or a while has gone: what is left may wait for leases."""
    before, until = sum(counter.count for counter in _counters(db)), time.monotonic() + 5
    while time.monotonic() < until and sum(counter.count for counter in _counters(db)) < before + more:
        time.sleep(0.05)  # noqa: TID251 the workers work meanwhile
