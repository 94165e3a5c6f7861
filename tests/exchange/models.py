"""A table whose classes have every type that a column can have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Any, Literal
from uuid import UUID

from singletable import ANY, Entity, Key, Table, field

shop = Table("exchange-shop", indexes=["gsi1"])

BEGUN = datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)


class State(Enum):
    OPEN = "open"
    PAID = "paid"


class Rank(Enum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Line:
    article: str
    count: int
    price: Decimal
    note: str | None = None
    tags: frozenset[str] = frozenset()


class Order(Entity, table=shop, type="order"):
    """What a customer has ordered."""

    customer: str
    number: int
    """Counted by customer."""
    state: State
    rank: Rank
    total: Decimal
    weight: float
    paid: bool
    placed_at: datetime
    day: date
    token: UUID
    picture: bytes
    channel: Literal["web", "shop"]
    tags: set[str]
    sizes: set[int]
    lines: list[Line]
    counts: dict[str, int]
    first: Line
    anything: Any
    remark: str | None = None
    due: datetime | None = None
    retries: int = 0

    @shop.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """A customer's orders, by number."""
        return f"customer#{customer}", f"order#{number}"

    @shop.index("gsi1")
    @staticmethod
    def by_state(state: State, placed_at: datetime = ANY) -> Key:
        """The orders of a state, oldest first."""
        return f"state#{state}", f"{placed_at}"


class Customer(Entity, table=shop, type="customer"):
    """Somebody who orders."""

    email: str = field(personal=True)
    name: str = field(unique=True)
    ends_at: datetime | None = field(default=None, expires=True)

    @shop.key
    @staticmethod
    def by_email(email: str) -> Key:
        """A customer."""
        return f"customer#{email}", "customer"


def order(number: int) -> Order:
    """One of many orders, each different."""
    random = Random(number)
    line = Line(f"a{number}", number % 7, Decimal(random.randrange(10**6)) / 100, "gift" if number % 3 else None)
    return Order(
        customer=f"c{number % 10}@example.org",
        number=number,
        state=random.choice(list(State)),
        rank=random.choice(list(Rank)),
        total=Decimal(random.randrange(10**8)) / 100,
        weight=random.random() * 100,
        paid=bool(number % 2),
        placed_at=BEGUN + timedelta(seconds=number, microseconds=number % 1000),
        day=date(2026, 1, 1) + timedelta(days=number % 365),
        token=UUID(int=random.getrandbits(128)),
        picture=random.randbytes(number % 16),
        channel="web" if number % 2 else "shop",
        tags={f"t{n}" for n in range(number % 4)},
        sizes={n * number for n in range(number % 3)},
        lines=[line] * (number % 3),
        counts={f"k{n}": n for n in range(number % 3)},
        first=Line("first", 1, Decimal("0.10"), tags=frozenset({"x"}) if number % 2 else frozenset()),
        anything=random.choice([None, 1, "text", [1, {"a": Decimal("1.5")}], {"b": True}]),
        remark=f'said "{number}",\nand more' if number % 5 else None,
        due=BEGUN if number % 2 else None,
        retries=number % 4,
    )
