"""Clients that append to lists and read them, by every verb that can, and note what they did and saw."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from singletable import AlreadyExists, AsyncDatabase, Entity, Key, OutcomeUnknown, Table, attr, field as attribute
from singletable.errors import Applied, Conflict, Unavailable
from singletable.operations import GetItem, TransactGetItems
from singletable.records.read import get_operation
from tests.faults.rules import Faults
from tests.histories.history import NEVER, Append, Read, Status, Transaction
from tests.histories.simulation import Scheduler, Turn

lists = Table("lists")
KEYS_AT_ONCE = 4
LONGEST = 40
"""Appends to a key; then a new one takes its place, as each read takes in the whole list."""


class Values(Entity, table=lists, type="values"):
    """A list that grows; its count of writes lets a writer see that another was faster."""

    id: str
    values: list[int] = attribute(default_factory=list)
    writes: int = attribute(version=True, default=0)

    @lists.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"values#{id}", "values"


@dataclass
class World:
    """What the clients of one run share."""

    db: AsyncDatabase
    faults: Faults
    scheduler: Scheduler
    chance: random.Random
    operations: int
    """Of all clients together; each stops when there are so many."""
    history: list[Transaction] = field(default_factory=list[Transaction])
    _next: int = 0
    _appended: dict[str, int] = field(default_factory=dict[str, int])

    def keys(self, count: int) -> list[str]:
        """Different keys of those that are in use."""
        live = [key for key, appended in self._appended.items() if appended < LONGEST]
        live += [f"k{len(self._appended) + n}" for n in range(KEYS_AT_ONCE - len(live))]
        for key in live:
            self._appended.setdefault(key, 0)
        return self.chance.sample(live, count)

    def value(self, key: str) -> int:
        """One that nobody else appends."""
        self._next += 1
        self._appended[key] += 1
        return self._next


class Client:
    """One program that uses the table."""

    def __init__(self, name: str, world: World) -> None:
        self.name, self.world, self.db = name, world, world.db
        self.verbs: list[tuple[int, Callable[[Transaction], Awaitable[None]]]] = [
            (20, self.append),
            (15, self.append_exactly_once),
            (20, self.append_to_several),
            (15, self.read_then_write),
            (15, self.read),
            (15, self.read_several),
        ]

    async def live(self) -> None:
        weights, verbs = [weight for weight, _ in self.verbs], [verb for _, verb in self.verbs]
        while len(self.world.history) < self.world.operations:
            await self.attempt(self.world.chance.choices(verbs, weights)[0])
            await Turn()

    async def attempt(self, verb: Callable[[Transaction], Awaitable[None]]) -> None:
        tx = Transaction(self.name, self.world.scheduler.moment)
        self.world.history.append(tx)
        self.world.faults.forget()  # it keeps each request that passed
        try:
            await verb(tx)
        except (Conflict, Unavailable):
            tx.status = Status.FAILED
        except OutcomeUnknown:
            return
        else:
            tx.status = Status.DONE
        tx.ended = self.world.scheduler.moment

    # --- verbs --------------------------------------------------------------------------------------------------------
    async def append(self, tx: Transaction) -> None:
        """Without a token. The answer has the whole list, of the moment of the write."""
        [key] = self.world.keys(1)
        value = await self._there(key)
        tx.operations = [Append(key, value)]
        found = await self.db.update(Values.by_id(key), attr(Values.values).append(value))
        tx.operations.append(Read(key, tuple(found.values)))

    async def append_exactly_once(self, tx: Transaction) -> None:
        """With a token; the list is read after the write, so it says nothing of its moment."""
        [key] = self.world.keys(1)
        value = await self._there(key)
        tx.operations = [Append(key, value)]
        try:
            await self.db.update(Values.by_id(key), attr(Values.values).append(value), exactly_once=True)
        except Applied:
            return

    async def append_to_several(self, tx: Transaction) -> None:
        keys = self.world.keys(self.world.chance.choice((2, 3)))
        values = {key: await self._there(key) for key in keys}
        tx.operations = [Append(key, value) for key, value in values.items()]
        async with self.db.transaction() as transaction:
            for key, value in values.items():
                transaction.update(Values.by_id(key), attr(Values.values).append(value))

    async def read_then_write(self, tx: Transaction) -> None:
        """The whole list is put, if no other write came between."""
        [key] = self.world.keys(1)
        value = await self._there(key)
        found = await self.db.get(Values.by_id(key).consistent())
        assert found is not None
        tx.operations = [Read(key, tuple(found.values)), Append(key, value)]
        found.values = [*found.values, value]
        await self.db.put(found)

    async def read(self, tx: Transaction) -> None:
        [key] = self.world.keys(1)
        found = await self.db.get(Values.by_id(key).consistent())
        tx.operations = [Read(key, tuple(found.values) if found else ())]

    async def read_several(self, tx: Transaction) -> None:
        """At one moment."""
        keys = self.world.keys(3)
        gets: list[GetItem[Values]] = [get_operation(Values.by_id(key), consistent=True) for key in keys]
        found = await self.db.port.send(TransactGetItems(gets))
        tx.operations = [Read(key, tuple(each.values) if each else ()) for key, each in zip(keys, found, strict=True)]

    async def _there(self, key: str) -> int:
        """Create the list unless it is there; a value to append to it."""
        value = self.world.value(key)
        if await self.db.get(Values.by_id(key).consistent()) is None:
            with suppress(AlreadyExists):
                await self.db.create(Values(id=key))
        return value


async def read_all(world: World) -> None:
    """What is there in the end, of every key."""
    for key in list(world._appended):
        tx = Transaction("the end", world.scheduler.moment)
        found = await world.db.get(Values.by_id(key).consistent())
        tx.operations, tx.status, tx.ended = [Read(key, tuple(found.values) if found else ())], Status.DONE, NEVER
        world.history.append(tx)
        await Turn()
