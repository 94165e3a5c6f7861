"""Processes whose clocks are an hour or a day off, and are set at any moment: no living item is deleted or replaced.

The service's time is a simulated one: the Date of each answer. Each process has a port of its own with a wall clock of
its own; processes end, and others begin, whose first request may be any. What lives by the service's time is compared
with what is stored after each operation.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import formatdate
from typing import Any, TypeVar

import pytest

from singletable import AlreadyExists, Database, Meter, NotFound, NotUnique, Table, TransactionCancelled, attr
from singletable.exchange.entity_writes import try_create
from singletable.flow import Traits, instant
from singletable.foundation import moment_at
from singletable.tasks import Tasks
from singletable.wire import BlockingPort, PortOptions
from singletable.wire.exchange import Exchange, HttpResponse
from tests.faults.clock import NOON
from tests.rules.models import Passing, Session, shop
from tests.support.engines import fresh
from tests.support.ports import wrap_exchanges
from tests.support.raw import all_items

T = TypeVar("T")
OFF = (0.0, 3600.0, -3600.0, 86_400.0, -86_400.0)
SLACK = 3.0
"""The seconds for which a process may take an item for living or not: a Date has whole seconds."""
KEYS = 12


@dataclass
class Service:
    """The true time, which is that of all answers."""

    time: float = NOON

    def elapsed(self) -> float:
        return self.time - NOON

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class DatedExchange:
    """A transport whose answers are dated by the service's time."""

    def __init__(self, inner: Exchange, service: Service) -> None:
        self._inner, self._service = inner, service

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        answer = await self._inner.exchange(message, timeout, max_idle_seconds, epoch)
        headers = {**answer.headers, b"date": formatdate(self._service.time, usegmt=True).encode()}
        return HttpResponse(answer.status, answer.body, answer.checksum, answer.request_id, answer.bytes_in, headers)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def run_blocking(self, work: Any) -> Any:
        return await self._inner.run_blocking(work)


class Process:
    """A database with a wall clock of its own, as on AWS: nothing is sent before its first request."""

    def __init__(self, owner: Database, service: Service, off: float) -> None:
        self.off, self.service = off, service
        options = PortOptions(traits=Traits(), wall=self.wall, monotonic=service.elapsed)
        port = BlockingPort(owner.target.endpoint, owner.target.credentials, options, sleep=service.sleep)
        wrap_exchanges(port, lambda inner: DatedExchange(inner, service))
        self.db, self.close = Database(port, owner.target), port.close

    def wall(self) -> float:
        return self.service.time + self.off


@dataclass
class World:
    owner: Database
    chance: random.Random
    service: Service = field(default_factory=Service)
    processes: list[Process] = field(default_factory=list[Process])
    ends: dict[str, float] = field(default_factory=dict[str, float])
    """When each item ends by the service's time; none for a missing one."""
    operations: int = 0

    def run(self, operations: int) -> None:
        self.processes = [self.process() for _ in range(4)]
        verbs = [self.create] * 6 + [self.create_session] * 4 + [self.put, self.update, self.update] + [self.get] * 4
        while self.operations < operations:
            self.operations += 1
            self.service.time += self.chance.choice((0.0, 0.0, 0.4, 3.0, 20.0))
            self.disturb()
            self.chance.choice(verbs)(self.chance.choice(self.processes).db, f"k{self.chance.randrange(KEYS)}")
            if self.operations % 50 == 0:
                self.chance.choice(self.processes).db.sweep_table(shop)
                self.check_all()
        self.check_all()

    def disturb(self) -> None:
        """Clocks are set, and processes begin anew."""
        number = self.chance.randrange(len(self.processes))
        if self.chance.random() < 0.2:
            self.processes[number].off = self.chance.choice(OFF)
        if self.chance.random() < 0.1:
            self.processes[number].close()
            self.processes[number] = self.process()

    def process(self) -> Process:
        return Process(self.owner, self.service, self.chance.choice(OFF))

    def some_end(self) -> float:
        return float(int(self.service.time + self.chance.choice((5.0, 30.0, 90.0, 7200.0))))

    def lives(self, key: str) -> bool | None:
        """Whether an item lives; None where a process may take it for either."""
        left = self.ends.get(key, 0.0) - self.service.time
        return None if abs(left) <= SLACK else left > 0

    # --- verbs --------------------------------------------------------------------------------------------------------
    def create(self, db: Database, key: str) -> None:
        self.try_to_create(db, key, Passing(id=key, ends=instant(end := self.some_end())), end)

    def create_session(self, db: Database, key: str) -> None:
        """Another item each time: the guard of its unique value is what may be there, and expires."""
        session = Session(id=f"s{self.operations}", token=(key := f"t-{key}"), ends=instant(end := self.some_end()))
        self.try_to_create(db, key, session, end)

    def try_to_create(self, db: Database, key: str, entity: Any, end: float) -> None:
        lives = self.lives(key)
        try:
            db.create(entity)
        except (AlreadyExists, NotUnique):
            assert lives is not False, f"{key} has expired, and was taken for living"
        else:
            assert lives is not True, f"{key} lives, and was replaced"
            self.ends[key] = end

    def put(self, db: Database, key: str) -> None:
        end = self.some_end()
        db.put(Passing(id=key, ends=instant(end)))
        self.ends[key] = end

    def update(self, db: Database, key: str) -> None:
        """The very first request of a process whose clock is behind may change what has expired: that lives on."""
        lives, is_known = self.lives(key), db.port.clock.is_known
        try:
            db.update(Passing.by_id(key), attr(Passing.text).set("changed"))
        except NotFound:
            assert lives is not True, f"{key} lives, and was not found"
        else:
            assert lives is not False or not is_known, f"{key} has expired, and was changed"

    def get(self, db: Database, key: str) -> None:
        lives = self.lives(key)
        if lives is not None:
            assert (db.get(Passing.by_id(key)) is not None) is lives

    def check_all(self) -> None:
        living = {key for key in self.ends if self.lives(key)}
        stored = {item["pk"]["S"].rpartition("#")[2] for item in raw_items(self.owner)}
        assert living <= stored, f"deleted while living: {living - stored}"


def raw_items(db: Database) -> Iterator[dict[str, Any]]:
    return iter(db.run(all_items(db.port, shop.name)))


def run(seed: int, operations: int) -> None:
    with fresh() as owner:
        owner.create_table(shop)
        world = World(owner, random.Random(seed))
        try:
            world.run(operations)
        finally:
            for process in world.processes:
                process.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_no_living_item_is_deleted_or_replaced(seed: int) -> None:
    run(seed, 750)


def test_the_very_first_request_reads_what_lives() -> None:
    """The clock is a day ahead; the answer to the read shows the time by which its item is judged."""
    service = Service()
    with fresh() as owner:
        owner.create_table(shop)
        for name in ("deleted", "updated", "moved"):
            owner.create(Session(id=name, token=name, ends=instant(NOON + 60)))
        first = [Process(owner, service, 86_400.0) for _ in range(3)]
        assert first[0].db.delete(Session.by_id("deleted")) is not None
        assert first[1].db.update(Session.by_id("updated"), attr(Session.token).set("new")).token == "new"
        with first[2].db.transaction() as tx:
            tx.update(Session.by_id("moved"), attr(Session.token).set("deleted"))  # its guard went with the item
        assert owner.check(shop) == []
        for process in first:
            process.close()


def test_another_threads_first_answer_comes_while_a_write_is_planned() -> None:
    """The clock is a day ahead: a time that was read before that answer must not be taken for the service's."""
    service = Service()
    with fresh() as owner:
        owner.create_table(shop)
        owner.create(Passing(id="lives", ends=instant(NOON + 60)))
        for write in ("create", "transaction"):
            process = Process(owner, service, 86_400.0)
            clock: Any = process.db.port.clock
            date = {b"date": formatdate(service.time, usegmt=True).encode()}

            def read_late(clock: Any = clock, date: Any = date, now: Any = clock.now) -> float:
                time = now()
                clock.look(date, time)
                return float(time)

            process.db.port.__dict__["now"] = read_late
            taken, passing = (AlreadyExists, Passing(id="lives", ends=instant(NOON + 90)))
            if write == "create":
                with pytest.raises(taken):
                    process.db.create(passing)
            else:
                with pytest.raises(TransactionCancelled), process.db.transaction() as tx:
                    tx.create(passing)
            process.close()


@pytest.mark.parametrize("order", [None, "o"])
def test_a_task_of_a_first_request_is_due_by_the_services_time(order: str | None) -> None:
    """The clock is a day behind. One read more; none for a task of a given time, or of a later request."""
    service, tasks = Service(), Tasks(Table("jobs", indexes=["gsi1"]), index="gsi1")

    @tasks.task
    def mail() -> None: ...

    def scheduled(process: Process, key: str, due: datetime | timedelta, *before: Any) -> tuple[set[datetime], int]:
        with Meter() as meter, process.db.transaction() as tx:
            for write in before:
                tx.add(write)
            tx.add((tasks.at if isinstance(due, datetime) else tasks.after)(due, mail(), key=key, order=order))  # type: ignore[arg-type]
        mine = [item for kind in (tasks.entities.task, tasks.entities.ordered) for item in owner.scan(kind)]
        return {item.due for item in mine if item.id == key and item.due.year > 1}, meter.requests

    hour, at = timedelta(hours=1), instant(NOON + 60)
    with fresh() as owner:
        owner.create_table(tasks.table)
        first, second, third = (Process(owner, service, -86_400.0) for _ in range(3))
        dues, requests = scheduled(first, "relative", hour)
        assert all(abs(due - instant(NOON) - hour) <= timedelta(seconds=1) for due in dues)
        assert (len(dues), requests) == (1, 2 if order is None else 3)
        assert scheduled(first, "later", hour)[1] == 1
        assert scheduled(second, "given", at) == ({at}, 1)
        if order is None:  # one that replaces another
            dues, _ = scheduled(third, "later", 2 * hour, tasks.cancel("later"))
            assert all(abs(due - instant(NOON) - 2 * hour) <= timedelta(seconds=1) for due in dues)
            assert len(dues) == 1
        for process in (first, second, third):
            process.close()


def test_a_refusal_is_compared_as_seldom_as_a_success() -> None:
    service, looks = Service(), list[float]()
    with fresh() as owner:
        owner.create_table(shop)
        owner.create(Passing(id="lives", ends=instant(NOON + 60)))
        process = Process(owner, service, 3600.0)
        clock: Any = process.db.port.clock
        look = clock.look

        def looked(headers: Any, asked_at: float) -> float:
            looks.append(asked_at)
            return float(look(headers, asked_at))

        clock.look = looked
        for _ in range(5):
            with pytest.raises(AlreadyExists):
                process.db.create(Passing(id="lives"))
        process.close()
    assert len(looks) == 1
    assert clock.is_known


def test_nor_by_what_is_written_many_at_once() -> None:
    """An import sends its creates by the moment of its port: the very first request of a process may be one."""
    service = Service()
    with fresh() as owner:
        owner.create_table(shop)
        owner.create(Passing(id="lives", ends=instant(NOON + 60)))
        process = Process(owner, service, 86_400.0)
        port = process.db.port
        create = try_create(Passing(id="lives", ends=instant(NOON + 90_000)), moment_at(port))
        assert create is not None
        assert not process.db.run(port.send(create))
        process.close()
        assert owner.get(Passing.by_id("lives")) == Passing(id="lives", ends=instant(NOON + 60))


@pytest.mark.soak
@pytest.mark.parametrize("seed", [3, 4])
def test_no_living_item_is_deleted_or_replaced_in_many_operations(seed: int) -> None:
    run(seed, 25_000)
