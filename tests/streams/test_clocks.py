"""Somebody sets a worker's wall clock, on or back: intervals don't notice."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Database
from singletable.operations.stream import pad_sequence_number
from tests.streams.test_held_up import LEASE_SECONDS, Pair
from tests.streams.test_shards import START, in_order
from tests.streams.test_tail import Watching, told

HOUR = 3600.0
STEPS = [HOUR, -HOUR, 30 * 24 * HOUR, -30 * 24 * HOUR]


@pytest.mark.parametrize("step", STEPS)
def test_an_idle_worker_reads_on(engine: Database, step: float) -> None:
    pair = Pair(engine, 1)
    pair.write(range(1, 2))
    pair.start("first")
    pair.world.run_for(30)
    pair.world.set_by["first"] = step
    pair.write(range(2, 3))
    pair.world.run_for(5)
    assert {key: len(handled) for key, handled in pair.handled.items()} == {"k1": 2, "k2": 2, "k3": 2}
    pair.end()
    pair.check()


@pytest.mark.parametrize("step", STEPS)
def test_it_keeps_its_leases_beside_another_worker(engine: Database, step: float) -> None:
    """It goes on showing life, and the other's leases live for it as long as they do."""
    pair = Pair(engine, 2)
    pair.script.split(START)
    pair.start("first")
    pair.start("second")
    pair.world.run_for(6 * LEASE_SECONDS)
    before = {lease.shard: (lease.owner, lease.fence) for lease in pair.leases() if not lease.is_over}
    assert len({owner for owner, _ in before.values()}) == 2
    pair.world.set_by["first"] = step
    for count in range(1, 60):
        pair.write(range(count, count + 1))
        pair.world.run_for(LEASE_SECONDS / 10)
    assert {lease.shard: (lease.owner, lease.fence) for lease in pair.leases() if not lease.is_over} == before
    pair.end()
    pair.check()


@pytest.mark.parametrize("step", STEPS)
def test_one_that_lost_its_lease_hands_on_nothing_old(engine: Database, step: float) -> None:
    """It is held up past its lease, and its clock is set meanwhile, as when a machine sleeps and wakes."""
    pair = Pair(engine, 3)
    pair.start("first")
    pair.world.run_for(LEASE_SECONDS)
    pair.start("second")
    for count in range(1, 80):
        pair.write(range(count, count + 1))
        if count == 20:
            pair.world.hold_up("first", 3 * LEASE_SECONDS)
            pair.world.set_by["first"] = step
        pair.world.run_for(LEASE_SECONDS / 10)
    pair.end()
    assert pair.gaps == []
    for key, written in pair.script.written.items():
        in_order(pair.handled[key], [pad_sequence_number(sequence) for sequence in written])


@pytest.mark.parametrize("step", STEPS)
def test_a_change_that_failed_is_tried_again_in_time(engine: Database, step: float) -> None:
    pair = Pair(engine, 4)
    failures: list[Any] = [ValueError("once")]

    def fail_once(key: str, sequence: str) -> None:
        if failures:
            raise failures.pop()

    pair.before = fail_once
    pair.write(range(1, 2))
    pair.start("first")
    while failures:
        pair.world.run_for(0.005)
    pair.world.run_for(0.05)  # less than the wait for the second try
    pair.world.set_by["first"] = step
    pair.world.run_for(10)
    assert sum(map(len, pair.handled.values())) == 3
    pair.end()
    pair.check()


@pytest.mark.parametrize("step", STEPS)
def test_a_watcher_goes_on(engine: Database, step: float) -> None:
    """It finds the children of a shard that has closed."""
    watching = Watching(engine)
    first = watching.write(1, 2)
    assert told(watching.read()) == first
    watching.world.set_by["t"] = step
    watching.script.split(watching.world.now)
    second = watching.write(3, 4)
    watching.world.run_for(20)
    assert told(watching.read()) == second
