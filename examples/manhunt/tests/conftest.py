"""A database with a clock of its own for each test, ended by the checks of everything that must always hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.manhunt.tests.support import Clock, Outbox, World, make_world
from examples_shared.testing.databases import fresh
from manhunt import Service, manhunt
from manhunt.check import check
from manhunt.model import tasks
from singletable import Database
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Database]:
    with fresh(clock=clock) as db:
        db.create_table(manhunt)
        yield db


@pytest.fixture
def app(db: Database) -> Service:
    return Service(db)


@pytest.fixture
def outbox() -> Outbox:
    return Outbox()


@pytest.fixture
def world(app: Service, clock: Clock, outbox: Outbox) -> Iterator[World]:
    """The application with a worker, whose messages are kept in the outbox."""
    made = make_world(app, clock, outbox)
    yield made
    clock.let_go()
    made.drain()
    assert check(made.db, drained=True) == []
    assert made.db.check(manhunt) == []
    assert TaskWorker(made.db, tasks).check() == []
    assert ChangeWorker(made.db, made.escalation.changes).check() == []
