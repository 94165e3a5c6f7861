"""The shop of the situations: its orders. Each program declares it anew, as each of its versions does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from singletable import ANY, AsyncDatabase, Entity, Key, Table
from singletable.streams import Changes
from singletable.tasks import AsyncTaskWorker, Tasks

ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"


async def totals(db: AsyncDatabase, keys: Iterable[Any]) -> list[int]:
    """Read orders one by one."""
    found: list[int] = []
    for key in keys:
        order = await db.get(key)
        found += [order.total] if order is not None else []
    return found


@dataclass(frozen=True)
class Shop:
    """What a program has imported. `order` and `stock` are its classes."""

    table: Table
    order: Any
    stock: Any
    tasks: Tasks
    changes: Changes


def make_shop(*, with_orders: bool = True) -> Shop:
    shop = Table("shop", indexes=["gsi1"], stream="new_and_old")
    order, stock = _classes_of(shop) if with_orders else (None, None)
    return Shop(shop, order, stock, Tasks(shop, index="gsi1"), Changes(shop, name="mail"))


def _classes_of(shop: Table) -> tuple[Any, Any]:
    class Stock(Entity, table=shop, type="stock"):
        article: str
        pieces: int = 0

        @shop.key
        @staticmethod
        def by_article(article: str) -> Key:
            return f"article#{article}", "stock"

    class Order(Entity, table=shop, type="order"):
        customer: str
        number: int
        state: str = "open"
        total: int = 0
        note: str = ""

        @shop.key
        @staticmethod
        def of_customer(customer: str, number: int = ANY) -> Key:
            return f"customer#{customer}", f"order#{number:06}"

        @shop.index("gsi1")
        @staticmethod
        def by_state(state: str, number: int = ANY) -> Key:
            return f"state#{state}", f"{number:06}"

    return Order, Stock


async def schedule(db: AsyncDatabase, shop: Shop, *calls: Any) -> None:
    for number, call in enumerate(calls):
        async with db.transaction() as tx:
            tx.add(shop.tasks.after(timedelta(0), call, key=f"charge-{number}"))


async def work(db: AsyncDatabase, shop: Shop, **options: Any) -> None:
    """A worker of tasks. It runs until the program ends."""
    await AsyncTaskWorker(db, shop.tasks).run(at_once=1, signals=False, stop=lambda: False, **options)
