"""An application's commands, as `singletable mcp --command` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

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


def _private(tx: Transaction, sku: str) -> None:
    """Not offered with the module."""


def helper(sku: str) -> str:
    """No transaction: not offered with the module."""
    return sku
