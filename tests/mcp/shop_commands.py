"""An application's commands, as `singletable mcp --command` takes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from functools import partial, wraps
from typing import Any

from anyio import get_cancelled_exc_class
from msgspec import Struct

from singletable import (
    ANY,
    AsyncDatabase,
    Database,
    Entity,
    InvalidRequest,
    Key,
    Table,
    attr,
    field,
)
from singletable.foundation import flows
from singletable.records import Transaction

depot = Table("depot", indexes=["gsi1"])


class Stock(Entity, table=depot, type="stock"):
    sku: str
    left: int
    supplier_mail: str = field(default="", personal=True)

    @depot.key
    @staticmethod
    def by_sku(sku: str) -> Key:
        return f"stock#{sku}", "stock"


class Order(Entity, table=depot, type="order"):
    tenant: str
    number: int
    sku: str
    pieces: int
    price: Decimal = Decimal(0)

    @depot.key
    @staticmethod
    def of_tenant(tenant: str, number: int = ANY) -> Key:
        return f"tenant#{tenant}", f"order#{number}"


class Speed(Enum):
    SLOW = "slow"
    FAST = "fast"


@dataclass
class Line:
    sku: str
    pieces: int


@dataclass
class Seen:
    stocks: tuple[Stock | None, ...]


def place(
    db: Database, tx: Transaction, tenant: str, number: int, lines: list[Line], price: Decimal = Decimal(0)
) -> list[Order]:
    """Place an order, and take its lines from stock."""
    orders: list[Order] = []
    for place, line in enumerate(lines):
        stock = db.get(Stock.by_sku(line.sku).consistent())
        if stock is None:
            raise InvalidRequest("there is no such article in stock", hint="Read Stock.by_sku first.")
        enough = attr(Stock.left) >= line.pieces
        tx.update(Stock.by_sku(line.sku), attr(Stock.left).add(-line.pieces), where=enough)
        orders.append(Order(tenant=tenant, number=number + place, sku=line.sku, pieces=line.pieces, price=price))
        tx.create(orders[-1])
    return orders


async def restock(
    tx: Transaction, db: AsyncDatabase, sku: str, pieces: int, on: date | None = None, *, speed: Speed = Speed.SLOW
) -> dict[str, Any]:
    """Add pieces to an article."""
    stock = await db.get(Stock.by_sku(sku))
    left = stock.left if stock else 0
    tx.put(Stock(sku=sku, left=left + pieces, supplier_mail="s@example.org"))
    return {"before": Seen((stock,)), "on": on, "speed": speed}


def fill(tx: Transaction, articles: int) -> None:
    """Write articles of 380 KB."""
    for number in range(articles):
        tx.put(Stock(sku=f"a{number}", left=1, supplier_mail="x" * 380_000))


def count_only(tx: Transaction, sku: str) -> int:
    """Count nothing, and write nothing."""
    assert not tx.pending
    return len(sku)


async def writes_beside(db: AsyncDatabase, tx: Transaction, sku: str) -> None:
    """Write outside of the transaction."""
    tx.put(Stock(sku=sku, left=1))
    await db.put(Stock(sku=f"{sku}-2", left=1))


def writes_beside_in_a_thread(db: Database, tx: Transaction, sku: str) -> None:
    """Write outside of the transaction."""
    tx.put(Stock(sku=sku, left=1))
    db.write_many(puts=[Stock(sku=f"{sku}-2", left=1)])


async def deletes_the_table(db: AsyncDatabase, tx: Transaction, sku: str) -> None:
    """Delete the table."""
    tx.put(Stock(sku=sku, left=1))
    await db.delete_table(depot)


def fails(tx: Transaction, sku: str) -> None:
    """Fail with a value in the text."""
    tx.put(Stock(sku=sku, left=1))
    raise ValueError(f"secret {sku}")


def returns_what_has_no_json(tx: Transaction, sku: str) -> object:
    """Return an object."""
    tx.put(Stock(sku=sku, left=1))
    return object()


def leaves(tx: Transaction, sku: str) -> None:
    """End the program."""
    sys.exit(f"secret {sku}")


async def leaves_too(tx: Transaction, sku: str) -> None:
    """End the program, in the server's own thread."""
    sys.exit(f"secret {sku}")


async def awaits_what_was_cancelled(tx: Transaction, sku: str) -> None:
    """Wait for work that was cancelled."""
    raise get_cancelled_exc_class()(f"secret {sku}")


def nests_without_end(tx: Transaction, sku: str) -> list[Any]:
    """Return a list that has itself."""
    tx.put(Stock(sku=sku, left=1))
    nested: list[Any] = []
    nested.append(nested)
    return nested


def long(tx: Transaction, letters: int) -> str:
    """Return a long text."""
    tx.put(Stock(sku="long", left=1))
    return "x" * letters


def reads_in_threads(db: Database, tx: Transaction, sku: str) -> list[Stock | None]:
    """Read as layers do that call several at once."""
    read = partial(flows.get, db.port, Stock.by_sku(sku))
    return db.run(db.port.call_all([read] * 3))


class Note(Struct):
    about: Stock


def returns_a_struct(tx: Transaction, sku: str) -> Note:
    """Return an item in a structure."""
    return Note(Stock(sku=sku, left=1, supplier_mail="secret@example.org"))


late: list[Transaction] = []


def writes_late(tx: Transaction, sku: str) -> None:
    """Write by the transaction of the call before."""
    late.append(tx)
    late[0].put(Stock(sku=sku, left=1))


held: list[Database] = []


def holds(db: Database, tx: Transaction, sku: str) -> Stock | None:
    """Keep the database, and read by it."""
    held.append(db)
    return db.get(Stock.by_sku(sku))


async def reads_by_what_is_held(tx: Transaction, sku: str) -> Stock | None:
    """Read by the database of another function."""
    return held[-1].get(Stock.by_sku(sku))


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        return function(*args, **given)

    return call


@logged
async def decorated(db: AsyncDatabase, tx: Transaction, sku: str) -> bool:
    """Look for an article."""
    return await db.get(Stock.by_sku(sku)) is not None


class Grade(IntEnum):
    LOW = 1
    HIGH = 2


def grade(tx: Transaction, grade: Grade, weight: float, price: Decimal, others: list[Grade] | None = None) -> list[Any]:
    """Tell what was given."""
    return [grade.name, weight, price, others]


def anything(tx: Transaction, value: Any) -> int:
    """Take anything."""
    return len(value)


def _private(tx: Transaction, sku: str) -> None:
    """Not offered with the module."""


def helper(sku: str) -> str:
    """No transaction: not offered with the module."""
    return sku
