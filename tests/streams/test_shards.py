"""Workers, killed and held up at will, over a scripted stream whose shards split, repeat, expire and are trimmed.

Any of their requests may end in any error, or be the last for a while; their clocks are set on and back; some changes
are poison to their handlers.

Whatever happens: each change is handled, an item's changes in their order, and no checkpoint passes one that was not.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from singletable import Database
from singletable.errors import (
    PASSING,
    Corrupt,
    Denied,
    InvalidRequest,
    NotConfigured,
    OutcomeUnknown,
    Throttled,
    Unavailable,
)
from singletable.flow import Request
from singletable.operations.stream import pad_sequence_number
from singletable.streams import Changes, ChangeWorker, Inserted, Modified
from singletable.streams.state import StateEntities
from singletable.wire import RetryPolicy
from tests.faults.actions import ApplyThen500, ApplyThenCut, DropBefore, PartialPage, Throttle, TruncateBody
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.streams.models import Note, noted
from tests.streams.script import ARN, Script
from tests.streams.simulation import SimulatedPort, Task, Trouble, World, simulated, simulated_worker
from tests.streams.test_poison import Untellable
from tests.support.engines import fresh

LEASE_SECONDS = 2.0
NAMES = count()
START = 1_800_000_000.0
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"}
ENDING = (Denied, Corrupt, InvalidRequest, NotConfigured)
POISON: tuple[Callable[[], BaseException], ...] = (
    lambda: ValueError("poison"),
    lambda: ValueError("half \ud800"),
    lambda: MemoryError(),
    lambda: SystemExit(1),
    lambda: RecursionError(),
    Untellable,
)
LABEL = ARN.rpartition("/stream/")[2]


class Run:
    """One world: a script, its workers, and what they handled."""

    def __init__(self, engine: Database, seed: int) -> None:
        self.engine, self.random = engine, random.Random(seed)
        self.script = Script(seed)
        self.world = World(seed, START)
        self.name = f"run-{next(NAMES)}"
        self.handled: dict[str, list[str]] = defaultdict(list)
        self.done: set[str] = set()
        self.gaps: list[Any] = []
        self.stopping: set[str] = set()
        self.workers: dict[str, Task] = {}
        self.passed: list[str] = []
        self.fail_once: set[str] = set()
        self.poison: dict[str, BaseException] = {}
        self.longest_absence = 0.0
        self.world.trouble = self.trouble
        self.counts: dict[str, int] = defaultdict(int)

    def changes(self, *, tells_gaps: bool = True) -> Changes:
        """A worker's own registry, as each process has it."""
        changes = Changes(noted, name=self.name)

        @changes.on(Note).inserted
        def inserted(change: Inserted[Note]) -> None:
            self.handle(change.new.id, change.sequence)

        @changes.on(Note).modified
        def modified(change: Modified[Note]) -> None:
            self.handle(change.new.id, change.sequence)

        if tells_gaps:
            changes.on_gap(self.gaps.append)
        return changes

    def handle(self, key: str, sequence: str) -> None:
        if sequence in self.poison:
            raise self.poison[sequence]
        if sequence in self.fail_once:
            self.fail_once.remove(sequence)
            raise ConnectionError("passing")
        self.handled[key].append(sequence)
        self.done.add(sequence)

    def start_worker(self) -> str:
        worker = f"w{len(self.workers)}"
        db = simulated(self.world, self.engine, self.script, worker)
        watch(db.port, self)
        flow = simulated_worker(db, self.changes()).run(
            stop=lambda: worker in self.stopping, signals=False, lease_seconds=LEASE_SECONDS, backoff_seconds=0.05
        )
        self.workers[worker] = self.world.start(flow, worker)
        return worker

    def trouble(self, worker: str, request: Request) -> Trouble | None:
        """Of a hundred requests one holds its worker up and one fails and passes; now and then one ends it."""
        happens = self.random.random()
        if happens < 0.01:
            return Trouble(held_up_seconds=self.random.uniform(0.1, 3 * LEASE_SECONDS))
        writes = request.operation in WRITES
        if happens < 0.02:
            error = self.random.choice(PASSING if writes else (Unavailable, Throttled))("passing")
            return Trouble(error, isinstance(error, OutcomeUnknown) and self.random.random() < 0.5)
        if happens < 0.0205:
            return Trouble(self.random.choice(ENDING)("the end"), self.random.random() < 0.5)
        return None

    def set_clock(self, worker: str, most_seconds: float) -> None:
        """Somebody sets a worker's clock, on or back."""
        self.world.set_by[worker] = self.random.uniform(-most_seconds, most_seconds)

    def alive(self) -> list[str]:
        return [w for w, task in self.workers.items() if not task.is_done and w not in self.world.killed]

    def write(self) -> None:
        for _ in range(self.random.randrange(1, 12)):
            key = f"k{self.random.randrange(25)}"
            self.counts[key] += 1
            sequence = pad_sequence_number(self.script.write(key, self.counts[key], self.world.now))
            if self.random.random() < 0.02:
                self.fail_once.add(sequence)
            elif self.random.random() < 0.02:
                self.poison[sequence] = self.random.choice(POISON)()

    def all_die_for(self, seconds: float) -> None:
        """Hours without a worker, in which the stream goes on."""
        self.longest_absence = max(self.longest_absence, seconds)
        for worker in self.alive():
            self.world.kill(worker)
        for _ in range(3):
            self.world.run_for(seconds / 3)
            self.write()
            if self.random.random() < 0.5:
                self.script.split(self.world.now)
        self.script.trim(self.world.now)

    def finish(self) -> None:
        """Stop the living, then let one worker handle what is left.

        An empty answer is the end for a drain over the embedded engine, as the simulated port says it is one.
        """
        self.script.empty_answers = 0.0
        self.world.trouble = lambda worker, request: None
        self.stopping |= set(self.workers)
        self.world.run_until(*(self.workers[worker] for worker in self.alive()))
        db = simulated(self.world, self.engine, self.script, "last")
        watch(db.port, self)
        flow: Any = simulated_worker(db, self.changes()).drain(lease_seconds=LEASE_SECONDS, backoff_seconds=0.05)
        self.world.run_until(self.world.start(flow, "last"))

    def everything(self) -> dict[str, list[str]]:
        return {key: [pad_sequence_number(s) for s in written] for key, written in self.script.written.items()}

    def aside(self) -> set[str]:
        return {letter.sequence for letter in ChangeWorker(self.engine, self.changes()).dead_letters()}

    def check(self) -> None:
        assert self.passed == []
        ended = [task.error for task in self.workers.values() if task.error is not None]
        assert {type(error) for error in ended} <= set(ENDING)
        aside = self.aside()
        assert aside <= self.poison.keys()
        missed = {s for written in self.everything().values() for s in written} - self.done - aside
        assert missed == {pad_sequence_number(s) for s in self.script.lost} & missed
        for key, written in self.everything().items():
            in_order(self.handled[key], [s for s in written if s in self.done])


def in_order(handled: list[str], written: list[str]) -> None:
    """Handled one after the other; what is repeated is repeated from an earlier one on, in its order again."""
    reached = -1
    for sequence in handled:
        at = written.index(sequence)
        assert at <= reached + 1, "a change came before one that precedes it"
        reached = max(reached, at)
    assert reached == len(written) - 1


def watch(port: SimulatedPort, run: Run) -> None:
    """After each write of a lease: everything up to its position was handled."""
    state = run.changes().consumer.state

    def look(request: Request) -> None:
        if (request.operation, request.table) == ("UpdateItem", state.table.name):
            run.passed += unhandled_before_checkpoint(run, state)

    port.on_write = look


def unhandled_before_checkpoint(run: Run, state: StateEntities) -> list[str]:
    leases = run.engine.all(state.lease.by_shard(run.name, LABEL))
    positions = {lease.shard: lease.position for lease in leases}
    written = {pad_sequence_number(s): shard for s, shard in run.script.shard_of_sequence.items()}
    lost = {pad_sequence_number(s) for s in run.script.lost}
    return [
        sequence
        for sequence, shard in written.items()
        if sequence <= positions.get(shard, "") and sequence not in run.done | run.poison.keys() | lost
    ]


def live(run: Run, steps: int, *, trims: bool) -> None:
    """Some time of a stream and its workers, with all that can happen to them."""
    run.start_worker()
    for _ in range(steps):
        happens = run.random.random()
        if happens < 0.5:
            run.write()
        elif happens < 0.6:
            run.script.split(run.world.now)
        elif happens < 0.7 and len(run.alive()) < 4:
            run.start_worker()
        elif happens < 0.78 and run.alive():
            run.world.kill(run.random.choice(run.alive()))
        elif happens < 0.86 and run.alive():
            run.world.hold_up(run.random.choice(run.alive()), run.random.uniform(0.1, 3 * LEASE_SECONDS))
        elif happens < 0.88 and run.alive():
            run.stopping.add(run.random.choice(run.alive()))
        elif happens < 0.9 and run.alive():
            run.set_clock(run.random.choice(run.alive()), 1200.0 if trims else 7200.0)
        elif happens < 0.95 and trims:
            run.all_die_for(run.random.uniform(1, 30) * 3600)
        run.world.run_for(run.random.choice((0.01, 0.1, 1.0, 5.0)))


@pytest.mark.parametrize("seed", range(10))
def test_each_change_is_handled_in_its_items_order(engine: Database, seed: int) -> None:
    run = Run(engine, seed)
    live(run, 40, trims=False)
    run.finish()
    run.check()
    assert run.gaps == []


@pytest.mark.parametrize("seed", range(10))
def test_trimmed_records_are_reported(engine: Database, seed: int) -> None:
    run = Run(engine, 1000 + seed)
    live(run, 40, trims=True)
    run.finish()
    run.check()
    missed = {pad_sequence_number(s) for s in run.script.lost} - run.done - run.aside()
    assert run.gaps or not missed
    assert missed or not run.gaps or run.longest_absence > 22 * 3600


def test_a_worker_that_was_held_up_handles_and_writes_nothing_more(engine: Database) -> None:
    """It stops in the middle of an item's changes; another takes over and finishes; then the first goes on."""
    run = Run(engine, 77)
    run.world.trouble = lambda worker, request: None
    run.script.repeats = run.script.expires_early = run.script.empty_answers = 0.0
    handlers: list[tuple[str, str]] = []
    held: list[str] = []

    def start(worker: str) -> None:
        changes = Changes(noted, name=run.name)

        @changes.on(Note).inserted
        def inserted(change: Inserted[Note]) -> None:
            handlers.append((worker, change.sequence))

        @changes.on(Note).modified
        def modified(change: Modified[Note]) -> None:
            handlers.append((worker, change.sequence))
            if change.new.count == 4 and not held:
                held.append(worker)
                run.world.hold_up(worker, 5 * LEASE_SECONDS)

        db = simulated(run.world, engine, run.script, worker)
        flow: Any = simulated_worker(db, changes).run(
            stop=lambda: worker in run.stopping, signals=False, lease_seconds=LEASE_SECONDS
        )
        run.workers[worker] = run.world.start(flow, worker)

    written = [pad_sequence_number(run.script.write("k1", count + 1, START)) for count in range(6)]
    start("first")
    run.world.run_for(1)
    start("second")
    run.world.run_for(20 * LEASE_SECONDS)
    assert [sequence for worker, sequence in handlers if worker == "first"] == written[:4]
    assert [sequence for worker, sequence in handlers if worker == "second"] == written
    leases = engine.all(run.changes().consumer.state.lease.by_shard(run.name, LABEL))
    (lease,) = [lease for lease in leases if lease.position]
    assert (lease.position, lease.owner.partition("-")[0]) == (written[-1], "second")
    run.stopping |= {"first", "second"}
    run.world.run_until(*run.workers.values())


def losing() -> list[Rule]:
    """Answers lost on the way, some after the write was done; refusals; pages cut short."""
    losses = (ApplyThenCut(), ApplyThen500(), DropBefore(), TruncateBody(), Throttle())
    return [
        *(Rule(Match(probability=0.03), loss) for loss in losses),
        Rule(Match("Query", probability=0.2), PartialPage(1)),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_lost_answers_lose_no_change(seed: int) -> None:
    with fresh(retry=RetryPolicy(attempts=40, base_seconds=0.0001, cap_seconds=0.001)) as engine:
        run = Run(engine, 2000 + seed)
        faults = Faults(seed)
        make_faulty(engine.port, faults)
        faults.add(*losing())
        live(run, 25, trims=False)
        run.finish()
        faults.clear()
        run.check()
        assert run.gaps == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(24))
def test_each_change_is_handled_for_long(engine: Database, seed: int) -> None:
    run = Run(engine, 5000 + seed)
    live(run, 80, trims=seed % 2 == 0)
    run.finish()
    run.check()
    missed = {pad_sequence_number(s) for s in run.script.lost} - run.done - run.aside()
    assert run.gaps or not missed
    assert missed or not run.gaps or run.longest_absence > 22 * 3600
