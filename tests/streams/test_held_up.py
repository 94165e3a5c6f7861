"""A worker that is held up, as by SIGSTOP, between any two of its requests, while another takes over and goes on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from singletable import Database, Unavailable
from singletable.flow import Request
from singletable.operations.stream import pad_sequence_number
from singletable.streams import AsyncChangeWorker, Changes, Inserted, Modified
from tests.streams.models import Note, noted
from tests.streams.script import DAY, Script
from tests.streams.simulation import (
    AwaitedDatabase,
    SimulatedPort,
    Task,
    Trouble,
    Until,
    World,
    simulated,
    simulated_worker,
)
from tests.streams.test_shards import LABEL, NAMES, START, in_order
from tests.support.sampling import fewer_elsewhere, sampled

LEASE_SECONDS = 5.0
READS = ("GetItem", "BatchGetItem", "Query", "DescribeStream", "GetShardIterator", "GetRecords", "DescribeTable")
REQUESTS = 25
"""More than a worker sends from one look for shards to the next."""


class Pair:
    """Two workers over a stream whose first shard is split while one of them is held up."""

    def __init__(self, engine: Database, seed: int, shards: int = 2) -> None:
        self.engine, self.world, self.script = engine, World(seed, START), Script(seed, shards=shards)
        self.script.repeats = self.script.expires_early = self.script.empty_answers = 0.0
        self.name = f"pair-{next(NAMES)}"
        self.handled: dict[str, list[str]] = defaultdict(list)
        self.gaps: list[Any] = []
        self.stopping: set[str] = set()
        self.tasks: dict[str, Task] = {}
        self.asked: dict[str, list[str]] = defaultdict(list)
        self.before: Callable[[str, str], None] = lambda key, sequence: None
        """Called by the handlers before they note a change."""

    def start(self, worker: str, *, start: Any = "horizon") -> None:
        changes = Changes(noted, name=self.name)
        changes.on_gap(self.gaps.append)

        @changes.on(Note).inserted
        def inserted(change: Inserted[Note]) -> None:
            self.handle(change.new.id, change.sequence)

        @changes.on(Note).modified
        def modified(change: Modified[Note]) -> None:
            self.handle(change.new.id, change.sequence)

        db = simulated(self.world, self.engine, self.script, worker)
        options: dict[str, Any] = {"lease_seconds": LEASE_SECONDS, "poll_seconds": 0.5, "start": start}
        flow: Any = simulated_worker(db, changes).run(stop=lambda: worker in self.stopping, signals=False, **options)
        self.tasks[worker] = self.world.start(flow, worker)

    def handle(self, key: str, sequence: str) -> None:
        self.before(key, sequence)
        self.handled[key].append(sequence)

    def hold_up(self, worker: str, after: int, seconds: float) -> None:
        """After its request of that number, counted from now."""

        def trouble(who: str, request: Request) -> Trouble | None:
            if who != worker:
                return None
            self.asked[who].append(request.operation)
            return Trouble(held_up_seconds=seconds) if len(self.asked[who]) == after else None

        self.world.trouble = trouble

    def write(self, counts: range) -> None:
        for count in counts:
            for key in ("k1", "k2", "k3"):
                self.script.write(key, count, self.world.now)

    def leases(self) -> list[Any]:
        lease = Changes(noted, name=self.name).consumer.state.lease
        return self.engine.all(lease.by_shard(self.name, LABEL))

    def end(self) -> None:
        self.stopping |= set(self.tasks)
        self.world.run_until(*self.tasks.values())

    def check(self) -> None:
        assert self.gaps == []
        for key, written in self.script.written.items():
            in_order(self.handled[key], [pad_sequence_number(sequence) for sequence in written])


@pytest.mark.parametrize("after", sampled(range(1, REQUESTS, 3), 2))
@pytest.mark.parametrize("ends", [True, False])
def test_it_harms_no_lease_that_lives(engine: Database, after: int, ends: bool) -> None:
    """Meanwhile shards close and begin, and leases are made for them, end, and are let go where the other one stops."""
    for number in range(after, after + fewer_elsewhere(3)):
        pair = Pair(engine, number)
        pair.write(range(1, 4))
        pair.start("first")
        pair.world.run_for(LEASE_SECONDS)
        pair.hold_up("first", number, 20 * LEASE_SECONDS)
        pair.world.run_for(LEASE_SECONDS)
        pair.start("second")
        pair.world.run_for(4 * LEASE_SECONDS)
        pair.script.split(pair.world.now)
        pair.write(range(4, 9))
        pair.world.run_for(4 * LEASE_SECONDS)
        pair.write(range(9, 11))
        pair.world.run_for(LEASE_SECONDS)
        if ends:
            pair.stopping.add("second")
        pair.world.run_for(20 * LEASE_SECONDS)
        pair.end()
        pair.check()
        assert {lease.shard for lease in pair.leases()} == set(pair.script.shards)


def test_a_worker_that_comes_gets_its_share(engine: Database) -> None:
    """It asks the one that has them all for one shard after the other, until both have as many."""
    pair = Pair(engine, 11, shards=4)
    pair.start("first")
    pair.world.run_for(10 * LEASE_SECONDS)
    assert Counter(owner_of(lease) for lease in pair.leases()) == {"first": 4}
    pair.start("second")
    pair.world.run_for(60 * LEASE_SECONDS)
    assert Counter(owner_of(lease) for lease in pair.leases()) == {"first": 2, "second": 2}
    pair.end()
    assert pair.gaps == []


def owner_of(lease: Any) -> str:
    worker: str = lease.owner.partition("-")[0]
    return worker


def test_it_buries_what_has_gone(engine: Database) -> None:
    """A day later: shards that were read to their end have gone from the stream, and then from the leases."""
    pair = Pair(engine, 1)
    pair.write(range(1, 4))
    pair.start("first")
    pair.world.run_for(LEASE_SECONDS)
    first = set(pair.script.shards)
    pair.script.split(pair.world.now)
    pair.world.run_for(4 * LEASE_SECONDS)
    pair.stopping.add("first")
    pair.world.run_for(DAY + 60)
    pair.script.trim(pair.world.now)
    gone = first - set(pair.script.shards)
    assert gone
    pair.start("second")
    pair.world.run_for(4 * LEASE_SECONDS)
    pair.end()
    assert {lease.shard for lease in pair.leases()} == set(pair.script.shards)
    assert not gone & {gap.shard for gap in pair.gaps}


def test_a_shard_that_a_list_leaves_out_has_not_gone(engine: Database) -> None:
    """A list of shards may be older than the answer before it; the shard itself is asked."""
    pair = Pair(engine, 2)
    pair.write(range(1, 4))
    pair.start("first")
    pair.world.run_for(LEASE_SECONDS)
    pair.stopping.add("first")
    pair.world.run_until(pair.tasks["first"])
    hidden = sorted(pair.script.shards)[0]
    pair.script.unlisted.add(hidden)
    pair.start("second")
    pair.world.run_for(4 * LEASE_SECONDS)
    pair.script.unlisted.clear()
    pair.world.run_for(4 * LEASE_SECONDS)
    pair.write(range(4, 6))
    pair.world.run_for(LEASE_SECONDS)
    pair.end()
    pair.check()


@pytest.mark.parametrize("after", sampled(range(1, 16), 3))
def test_one_that_begins_with_what_comes_misses_nothing_of_it(engine: Database, after: int) -> None:
    """Held up anywhere in its beginning: what is written once the consumer is written down is handled."""
    pair = Pair(engine, 100 + after)
    pair.script.write("k1", 1, START - DAY / 2)
    pair.hold_up("first", after, 20 * 60.0)
    pair.start("first", start="now")
    pair.world.run_for(1)
    consumer = Changes(noted, name=pair.name).consumer.state.consumer
    is_written_down = pair.engine.get(consumer.by_name(pair.name)) is not None
    sequence = pad_sequence_number(pair.script.write("k1", 2, pair.world.now))
    pair.world.run_for(40 * 60)
    pair.end()
    assert pair.gaps == []
    assert (sequence in pair.handled["k1"]) or not is_written_down
    assert pad_sequence_number(pair.script.written["k1"][0]) not in pair.handled["k1"]


def test_a_busy_worker_keeps_its_lease(engine: Database) -> None:
    """Its checkpoints show life as its heartbeats do; an idle worker beside it takes nothing from it."""
    pair = Pair(engine, 5, shards=1)
    pair.start("first")
    pair.world.run_for(LEASE_SECONDS)
    pair.start("second")
    for count in range(1, 120):
        pair.write(range(count, count + 1))
        pair.world.run_for(LEASE_SECONDS / 20)
    (lease,) = pair.leases()
    assert (lease.owner.partition("-")[0], lease.fence) == ("first", 1)
    pair.world.run_for(LEASE_SECONDS)
    pair.end()
    pair.check()
    assert {key: len(handled) for key, handled in pair.handled.items()} == {"k1": 119, "k2": 119, "k3": 119}


def test_a_worker_pauses_for_less_than_its_lease(engine: Database) -> None:
    """Then it is still its own, and nothing is handled twice."""
    pair = Pair(engine, 6, shards=1)
    pair.start("first")
    pair.world.run_for(LEASE_SECONDS)
    pair.start("second")
    for count in range(1, 160):
        pair.write(range(count, count + 1))
        if count % 40 == 0:
            pair.world.hold_up("first", LEASE_SECONDS / 3)
        pair.world.run_for(LEASE_SECONDS / 20)
    pair.world.run_for(LEASE_SECONDS)
    pair.end()
    pair.check()
    assert {len(handled) for handled in pair.handled.values()} == {159}


def test_no_handler_is_called_under_a_lease_that_was_not_renewed(engine: Database) -> None:
    """A handler takes longer than the lease while its renewals fail: another worker may hold the shard by then."""
    pair = Pair(engine, 3, shards=1)
    world, calls = pair.world, list[float]()
    changes = Changes(noted, name=pair.name)

    @changes.on(Note).inserted
    async def inserted(change: Inserted[Note]) -> None:
        pair.handle(change.new.id, change.sequence)

    @changes.on(Note).modified
    async def modified(change: Modified[Note]) -> None:
        calls.append(world.now)
        pair.handle(change.new.id, change.sequence)
        if len(calls) == 1:
            world.trouble = refuse_writes
            await Until(world.now + 3 * LEASE_SECONDS)

    def refuse_writes(_: str, request: Request) -> Trouble | None:
        return None if request.operation in READS else Trouble(Unavailable("as in an outage"))

    pair.write(range(1, 6))
    db: Any = AwaitedDatabase(SimulatedPort(world, engine.port, pair.script, "first"))
    flow = AsyncChangeWorker(db, changes).run(
        stop=lambda: "first" in pair.stopping, signals=False, lease_seconds=LEASE_SECONDS, poll_seconds=0.5
    )
    pair.tasks["first"] = world.start(flow, "first")
    world.run_for(6 * LEASE_SECONDS)
    assert [at - calls[0] for at in calls if at >= calls[0] + LEASE_SECONDS] == []
    world.trouble = lambda *_: None
    world.run_for(4 * LEASE_SECONDS)
    pair.end()
    pair.check()
