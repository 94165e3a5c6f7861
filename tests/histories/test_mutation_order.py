"""The order of mutations under every fault: one order, each client's in its own, each once; every pull is of it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import Database
from singletable.documents import Documents, ObjectBlobs
from singletable.documents.service_async import AsyncDocuments
from tests.faults.fixtures import seed_of
from tests.histories.history import Status
from tests.histories.mutation_checker import disorders
from tests.histories.mutation_history import DocumentHistory, Entry, Name
from tests.histories.mutation_workload import Client, Server, Sheet, World, processor
from tests.histories.simulation import SimulatedPort, database_of, simulated
from tests.histories.unconditional import drop_conditions
from tests.support.engines import fresh
from tests.support.findings import but_garbage

CLIENTS, SERVERS, PROCESSORS = 16, 3, 2
TURN_SECONDS = 0.005
SHORT, LONG = 700, 12_000


def histories(seed: int, operations: int, *, conditions: bool = True) -> list[DocumentHistory]:
    with fresh() as db:
        return histories_on(db, seed, operations, conditions=conditions)


def histories_on(db: Database, seed: int, operations: int, *, conditions: bool) -> list[DocumentHistory]:
    blobs = ObjectBlobs(MemoryStore())
    calm: Documents[Sheet] = Documents(db, Sheet, blobs=blobs)
    calm.create("o1", "first")  # and the table with it: no client may wait for another's lock on this one thread
    with simulated(db, seed, TURN_SECONDS) as (scheduler, faults, port):
        if not conditions:
            drop_conditions(port)
        store: AsyncDocuments[Sheet] = AsyncDocuments(
            database_of(SimulatedPort(port, scheduler), db.target), Sheet, blobs=blobs
        )
        world = World(scheduler, faults, random.Random(seed), operations, store, left=CLIENTS)
        if not conditions:
            world.patience, world.may_lose = 5, True
        world.servers = [Server(world, SimulatedPort(port, scheduler)) for _ in range(SERVERS)]
        for name in world.names():
            calm.create("o1", name)
            world.histories[name] = DocumentHistory()
        scheduler.run(
            [Client(world, number).live() for number in range(CLIENTS)]
            + [processor(world, SimulatedPort(port, scheduler)) for _ in range(PROCESSORS)]
        )
    for name, history in world.histories.items():
        calm.process(name)
        history.versions = versions_of(calm, name)
        assert not conditions or but_garbage(calm.check(name)) == []
    return list(world.histories.values())


def versions_of(documents: Documents[Sheet], name: str) -> list[list[Entry]]:
    found: list[Any] = []
    after: str | None = None
    while True:
        page = documents.history(name, limit=500, after=after)
        found += page.items
        after = page.cursor
        if after is None:
            break
    ordered = sorted(found, key=lambda version: version.number)
    assert [version.number for version in ordered] == list(range(len(ordered)))
    return [[Entry(Name(m.client, m.id), m.rejected) for m in version.mutations] for version in ordered[1:]]


def test_a_history_under_faults_has_one_order(request: pytest.FixtureRequest) -> None:
    (history,) = histories(seed_of(request.node.nodeid, is_soak=False), SHORT)
    assert disorders(history) == []
    statuses = [push.status for push in history.pushes]
    assert min(statuses.count(Status.DONE), statuses.count(Status.UNKNOWN)) > 3, "some answers are lost"
    assert len(history.versions) > 10
    assert sum(entry.rejected for entries in history.versions for entry in entries) > 5
    assert {name.client for name in history.made} == {entry.name.client for es in history.versions for entry in es}


def test_a_store_without_conditions_is_found_out() -> None:
    (history,) = histories(1, 500, conditions=False)
    assert disorders(history) != []


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_long_history_has_one_order(request: pytest.FixtureRequest) -> None:
    seed = seed_of(request.node.nodeid, is_soak=True)
    for history in histories(seed, LONG):
        assert disorders(history) == []
