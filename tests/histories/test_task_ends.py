"""The ends of tasks under every fault: each once, in the order of its lane, whoever is killed when."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from singletable import Database
from singletable.tasks import TaskWorker
from tests.faults.fixtures import seed_of
from tests.histories.history import Status
from tests.histories.simulation import SimulatedPort, database_of, simulated
from tests.histories.task_checker import faults_of
from tests.histories.task_history import Ended, TaskHistory
from tests.histories.task_workload import (
    LEASE,
    Client,
    Effect,
    Log,
    Process,
    World,
    clocks,
    due_keys,
    jobs,
    settle,
    tasks,
    worker,
)
from tests.histories.unconditional import drop_conditions
from tests.support.engines import fresh

WORKERS, SCHEDULERS = 11, 5
TURN_SECONDS = 0.002
SHORT, LONG = 450, 6_000
STEADY, WILD = 0.5, 100 * LEASE
"""How far a clock may be off: far less than a lease; so far that no lease means anything."""


def history_of(seed: int, operations: int, skew_seconds: float = STEADY, *, conditions: bool = True) -> TaskHistory:
    with fresh() as db:
        db.create_table(jobs)
        history = history_on(db, seed, operations, skew_seconds, conditions=conditions)
        told = {finding.code for finding in TaskWorker(db, tasks).check()}
        assert not conditions or told <= {"task.dead-letter"}
        return history


def history_on(db: Database, seed: int, operations: int, skew_seconds: float, *, conditions: bool) -> TaskHistory:
    with simulated(db, seed, TURN_SECONDS) as (scheduler, faults, port):
        if not conditions:
            drop_conditions(port)
        world = World(scheduler, faults, random.Random(seed), operations, skew_seconds, schedulers=SCHEDULERS)

        def make(name: str) -> Process:
            own = SimulatedPort(port, scheduler)
            made = Process(world, name, own, database_of(own, db.target))
            world.processes.append(made)
            return made

        scheduler.run(
            [Client(make(f"c{number}")).live() for number in range(SCHEDULERS)]
            + [worker(world, number, make) for number in range(WORKERS)]
            + [clocks(world)]
        )
        last = make("the end")
        last.port.ahead_seconds = skew_seconds
        scheduler.run([settle(last)])
        scheduler.run([_read(world, last)])
    return world.history


async def _read(world: World, process: Process) -> None:
    """What is there in the end."""
    history, logs = world.history, defaultdict[str, list[tuple[int, str]]](list)
    history.effects = {effect.id: effect.count async for effect in process.db.scan(Effect)}
    async for log in process.db.scan(Log):
        logs[log.order].append((log.number, log.task))
    history.logs = {order: [task for _, task in sorted(entries)] for order, entries in logs.items()}
    history.left = await due_keys(process.db)
    history.dead = frozenset([task.id async for task in process.db.scan(tasks.entity)]) - history.left


@pytest.mark.parametrize("skew_seconds", [STEADY, WILD], ids=["steady", "wild"])
def test_a_history_under_faults_ends_each_task_once(request: pytest.FixtureRequest, skew_seconds: float) -> None:
    history = history_of(seed_of(request.node.nodeid, is_soak=False), SHORT, skew_seconds)
    assert faults_of(history) == []
    ends = [run.end for run in history.runs]
    assert min(ends.count(end) for end in (Ended.DONE, Ended.RETURNED, Ended.RAISED)) > 3
    assert sum(each.status is Status.DONE for each in history.cancels) > 5
    assert sum(len(log) for log in history.logs.values()) > 50


def test_claims_without_conditions_are_found_out() -> None:
    assert faults_of(history_of(1, 600, conditions=False)) != []


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_long_history_ends_each_task_once(request: pytest.FixtureRequest) -> None:
    seed = seed_of(request.node.nodeid, is_soak=True)
    assert faults_of(history_of(seed, LONG)) == []
