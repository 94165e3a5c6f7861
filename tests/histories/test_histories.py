"""Histories of many clients under every fault are strictly serializable."""

from __future__ import annotations

import random

import pytest

from singletable import attr
from tests.faults.fixtures import seed_of
from tests.histories.checker import anomalies
from tests.histories.history import Append, Read, Status, Transaction
from tests.histories.simulation import SimulatedPort, database_of, simulated
from tests.histories.workload import Client, Values, World, lists, read_all
from tests.support.engines import fresh

CLIENTS = 16
TURN_SECONDS = 0.1
SHORT, LONG = 1_000, 25_000


class Careless(Client):
    """Reads a list and writes it whole, whoever wrote it meanwhile."""

    async def read_then_write(self, tx: Transaction) -> None:
        [key] = self.world.keys(1)
        value = await self._there(key)
        found = await self.db.get(Values.by_id(key).consistent())
        assert found is not None
        tx.operations = [Read(key, tuple(found.values)), Append(key, value)]
        await self.db.update(Values.by_id(key), attr(Values.values).set([*found.values, value]))


def histories(seed: int, operations: int, kind: type[Client] = Client) -> list[Transaction]:
    with fresh() as db:
        db.create_table(lists)  # no client may wait for another's lock on this one thread
        with simulated(db, seed, TURN_SECONDS) as (scheduler, faults, port):
            own = database_of(SimulatedPort(port, scheduler), db.target)
            world = World(own, faults, scheduler, random.Random(seed), operations)
            scheduler.run([kind(f"c{number}", world).live() for number in range(CLIENTS)])
            faults.clear()
            scheduler.run([read_all(world)])
    return world.history


def test_a_history_under_faults_is_strictly_serializable(request: pytest.FixtureRequest) -> None:
    history = histories(seed_of(request.node.nodeid, is_soak=False), SHORT)
    assert anomalies(history) == []
    counts = {status: sum(tx.status is status for tx in history) for status in Status}
    assert all(count > SHORT // 50 for count in counts.values()), counts


def test_updates_that_are_lost_are_found() -> None:
    found = anomalies(histories(1, 200, Careless))
    assert any(text.startswith(("lost", "two orders", "G-single")) for text in found), found


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_long_history_is_too(request: pytest.FixtureRequest) -> None:
    seed = seed_of(request.node.nodeid, is_soak=True)
    assert anomalies(histories(seed, LONG)) == []
