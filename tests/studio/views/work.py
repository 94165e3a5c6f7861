"""A shop with a consumer and tasks, for what the applications' data has none of: dead letters, dead tasks, orders."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from singletable import Database, Entity, Key, Table, field as attribute
from singletable.streams import Changes, ChangeWorker
from singletable.streams.inspect.consumers import ConsumerName, consumers_of
from singletable.tasks import Tasks, TaskWorker
from tests.support.engines import fresh

NASTY = "<script>alert(1)</script>\u202eevil\x1b[31m"


@dataclass(eq=False)
class Shop:
    """The table with its consumer and tasks. `broken` orders fail in the consumer and in the task `ship`."""

    db: Database
    table: Table
    order: type[Any]
    changes: Changes
    tasks: Tasks
    broken: set[str]
    seen: list[str] = field(default_factory=list[str])

    @property
    def consumer(self) -> ConsumerName:
        return consumers_of(self.table)[0]

    def drain(self) -> None:
        ChangeWorker(self.db, self.changes).drain(tries=1, backoff_seconds=0)

    def work(self) -> None:
        TaskWorker(self.db, self.tasks).drain()

    def schedule(self, id: str, minutes: float, *, order: str | None = None) -> None:
        call = self.tasks.functions["ship"](id)
        with self.db.transaction() as tx:
            tx.add(self.tasks.after(timedelta(minutes=minutes), call, key=id, order=order))


def declare(db: Database) -> Shop:
    """Classes of their own for each shop."""
    table = Table("shop", indexes=["gsi1"], stream="new_and_old")
    tasks = Tasks(table, index="gsi1")

    class Order(Entity, table=table, type="order"):
        id: str
        name: str = attribute(personal=True)
        total: int = 0

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            """One order."""
            return f"order#{id}", "order"

    changes = Changes(table, name="bills")
    made = Shop(db, table, Order, changes, tasks, set())

    @changes.on(Order).inserted
    def bill(change: Any) -> None:
        if change.new.id in made.broken:
            raise ValueError(f"no bill for {change.new.name}")
        made.seen.append(change.new.id)

    @tasks.task(tries=1)
    def ship(id: str) -> None:
        if id in made.broken:
            raise ConnectionError(f"no ship for {id} {NASTY}")
        made.seen.append(f"shipped {id}")

    return made


@contextmanager
def open_shop(**options: Any) -> Generator[Shop]:
    with fresh(**options) as db:
        shop = declare(db)
        db.create_table(shop.table)
        yield shop
