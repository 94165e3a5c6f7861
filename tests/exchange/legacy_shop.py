"""The declaration of a table that a program with boto3 writes: no type in its items, numbers and ids in keys only."""

from __future__ import annotations

from typing import Any

from singletable import ANY, Entity, Index, Key, Table, field
from singletable.values import EpochSeconds

legacy = Table("orders", key=("PK", "SK"), indexes={"GSI1": Index("GSI1PK", "GSI1SK")}, foreign=True)


class Profile(Entity, table=legacy, type="profile"):
    user: str = field(in_key=True)
    name: str
    joined: EpochSeconds

    @legacy.key
    @staticmethod
    def of(user: str) -> Key:
        return f"USER#{user:raw}", "PROFILE"


class Order(Entity, table=legacy, type="order"):
    user: str = field(in_key=True)
    number: int = field(in_key=True)
    status: str = "open"
    total: int = field(default=0, name="amt")

    @legacy.key
    @staticmethod
    def of(user: str, number: int = ANY) -> Key:
        return f"USER#{user:raw}", f"ORDER#{number:raw}"

    @legacy.index("GSI1")
    @staticmethod
    def by_status(status: str) -> Key:
        return f"STATUS#{status:raw}", "ORDER"


class Line(Entity, table=legacy, type="line"):
    order: int = field(in_key=True)
    sku: str = field(in_key=True)
    count: int

    @legacy.key
    @staticmethod
    def of(order: int, sku: str = ANY) -> Key:
        return f"LINES#{order:raw}", f"LINE#{sku:raw}"


class Stock(Entity, table=legacy, type="stock"):
    sku: str
    tags: set[str] = field(default_factory=set[str])

    @legacy.key
    @staticmethod
    def of(sku: str) -> Key:
        return f"STOCK#{sku:raw}", "STOCK"


def write(table: Any, users: int = 3, orders: int = 4) -> None:
    """Items of six kinds, of which two have no class here. `table` is boto3's."""
    with table.batch_writer() as batch:
        for n in range(users):
            user = f"u{n}"
            batch.put_item({"PK": f"USER#{user}", "SK": "PROFILE", "name": user.upper(), "joined": 1_769_817_600 + n})
            batch.put_item({"PK": f"SESSION#{user}", "SK": f"TOKEN#{n}", "until": 5})
            batch.put_item({"PK": f"AUDIT#{user}", "SK": "2026-01-31", "what": "login"})
            batch.put_item({"PK": f"STOCK#s{n}", "SK": "STOCK", "sku": f"s{n}", **({"tags": {"a", "b"}} if n else {})})
            for number in range(n * orders + 1, (n + 1) * orders + 1):
                keys = {"PK": f"USER#{user}", "SK": f"ORDER#{number}", "GSI1PK": "STATUS#paid", "GSI1SK": "ORDER"}
                batch.put_item({**keys, "status": "paid", "amt": number * 10, "note": "by the other program"})
                batch.put_item({"PK": f"LINES#{number}", "SK": "LINE#s1", "count": 2})
