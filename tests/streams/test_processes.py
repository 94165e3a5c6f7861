"""Workers as processes: told to stop, and killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples_shared.testing.nursery import Process
from singletable import Database, connect
from singletable.streams import Changes, ChangeWorker
from singletable_local.polling import wait_until
from singletable_local.private_files import private_directory
from tests.streams import processes
from tests.streams.models import Note, Seen, noted
from tests.support.children import start_child

pytestmark = pytest.mark.embedded("its processes share one engine's file")
ROOT = Path(__file__).parents[2]


class Workers:
    """The child processes of a test, and what they handled."""

    def __init__(self, file: Path, log: Path) -> None:
        self.file, self.log = file, log
        self.running: list[Process] = []

    def start(self, lease_seconds: float = 2.0) -> Process:
        child = start_child(processes.work, f"local:{self.file}", str(self.log), str(lease_seconds))
        self.running.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        return child

    def end(self, child: Process, number: signal.Signals) -> int:
        child.send_signal(number)
        code = child.wait(30)
        assert child.stdout is not None
        child.stdout.close()
        self.running.remove(child)
        return code

    def handled(self) -> list[tuple[str, int, float]]:
        """The changes that were handled, in the order of their handling: id, count, lag in seconds."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [(id, int(count), float(lag)) for id, count, lag in map(str.split, lines)]

    def has_handled_all(self, count: int, items: int) -> bool:
        """Whether every item has come to a count, by the last part of the log; asked once in half a second."""
        time.sleep(0.5)  # noqa: TID251
        with self.log.open("rb") as log:
            log.seek(-min(self.log.stat().st_size, 400 * items), os.SEEK_END)
            lines = log.read().decode().splitlines()[1:]
        return len({line.split()[0] for line in lines if line.split()[1] == str(count)}) == items


@pytest.fixture
def file() -> Iterator[Path]:
    """In memory where the system has room: the time of these tests is the workers', not a disk's."""
    data = private_directory(os.environ, for_data=True) / "engine.db"
    yield data
    shutil.rmtree(data.parent)


@pytest.fixture
def db(file: Path) -> Iterator[Database]:
    with connect(f"local:{file}") as made:
        made.create_table(noted)
        yield made


@pytest.fixture
def workers(db: Database, file: Path, tmp_path: Path) -> Iterator[Workers]:
    made = Workers(file, tmp_path / "handled")
    yield made
    for child in list(made.running):
        made.end(child, signal.SIGKILL)


def soon(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    return bool(wait_until(holds, seconds))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_all_written_down(db: Database, workers: Workers, number: signal.Signals) -> None:
    child = workers.start(lease_seconds=60)
    for count in range(20):
        db.put(Note(id="n1", count=count + 1))
    assert soon(lambda: len(workers.handled()) >= 5)
    assert workers.end(child, number) == 0
    counts = [count for _, count, _ in workers.handled()]
    # What is left is handled by the next, at once: the lease was let go, and nothing comes again.
    changes, seen = Changes(noted, name="processes"), Seen()
    changes.on(Note).inserted(seen)
    changes.on(Note).modified(seen)
    ChangeWorker(db, changes).drain(lease_seconds=60)
    assert counts + [change.new.count for change in seen.changes] == list(range(1, 21))
    assert ChangeWorker(db, changes).check() == []


def test_a_killed_workers_shard_goes_to_another(db: Database, workers: Workers) -> None:
    first = workers.start(lease_seconds=1)
    db.put(Note(id="n1", count=1))
    assert soon(lambda: len(workers.handled()) == 1)
    workers.end(first, signal.SIGKILL)
    db.put(Note(id="n1", count=2))
    workers.start(lease_seconds=1)
    assert soon(lambda: bool(workers.handled()) and workers.handled()[-1][1] == 2)


def test_a_paused_worker_has_lost_its_shard(db: Database, workers: Workers) -> None:
    """It is stopped for longer than its lease; when it goes on it handles nothing, and writes no checkpoint."""
    paused = workers.start(lease_seconds=1)
    db.put(Note(id="n1", count=1))
    assert soon(lambda: len(workers.handled()) == 1)
    paused.send_signal(signal.SIGSTOP)
    workers.start(lease_seconds=1)
    for count in range(2, 30):
        db.put(Note(id="n1", count=count))
    assert soon(lambda: bool(workers.handled()) and workers.handled()[-1][1] == 29)
    paused.send_signal(signal.SIGCONT)
    db.put(Note(id="n1", count=30))
    assert soon(lambda: workers.handled()[-1][1] == 30)
    check_order(workers.handled(), {"n1": list(range(1, 31))})
    assert workers.end(paused, signal.SIGTERM) == 0
    lease = Changes(noted, name="processes").consumer.state.lease
    assert [one.owner != "" for one in db.scan(lease)] == [True]


def check_order(handled: list[tuple[str, int, float]], written: dict[str, list[int]]) -> None:
    """Each at least once, and no change of an item before the one that precedes it."""
    reached: dict[str, int] = defaultdict(lambda: -1)
    for id, count, _ in handled:
        at = written[id].index(count)
        assert at <= reached[id] + 1, f"{id}: {count} came too early"
        reached[id] = max(reached[id], at)
    assert {id: len(counts) - 1 for id, counts in written.items()} == reached


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_hundred_thousand_changes_and_killed_workers(
    db: Database, workers: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds, items, dice = 50, 2000, random.Random(5)
    began = time.monotonic()
    deaths = 0
    for _ in range(3):
        workers.start()
    next_death = time.monotonic() + 2
    for count in range(rounds):
        for first in range(0, items, 250):
            now = f"{time.time():.3f}"
            db.write_many(puts=[Note(id=f"n{n}", count=count + 1, text=now) for n in range(first, first + 250)])
            if time.monotonic() > next_death:
                workers.end(dice.choice(workers.running), signal.SIGKILL)
                workers.start()
                deaths += 1
                next_death = time.monotonic() + dice.uniform(1.5, 4)
    written = time.monotonic() - began

    assert soon(lambda: workers.has_handled_all(rounds, items), 300)
    seconds = time.monotonic() - began
    for child in list(workers.running):
        workers.end(child, signal.SIGTERM)
    handled = workers.handled()
    check_order(handled, {f"n{n}": list(range(1, rounds + 1)) for n in range(items)})
    assert deaths >= 3
    changes = Changes(noted, name="processes")
    assert ChangeWorker(db, changes).check() == []
    assert ChangeWorker(db, changes).dead_letters() == []
    lags = sorted(lag for _, _, lag in handled)
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{rounds * items} changes, {len(handled)} handled, {deaths} workers killed; written in {written:.0f} s, "
            f"handled in {seconds:.0f} s ({rounds * items / seconds:.0f}/s); "
            f"lag: median {statistics.median(lags):.1f} s, 99 of 100 {lags[int(len(lags) * 0.99)]:.1f} s"
        )
