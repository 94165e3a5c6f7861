"""DynamoDB-Toolbox's items, declared here: its times of the first and the last write are attributes as any other."""

from __future__ import annotations

from dataclasses import dataclass, field as made
from datetime import datetime, timezone
from typing import Any

from singletable import ANY, Entity, Index, Key, Table, field
from singletable.values import IsoMilliseconds

shop = Table(
    "toolbox",
    key=("PK", "SK"),
    indexes={"GSI1": Index("GSI1PK", "GSI1SK")},
    foreign=True,
    type_attribute="_et",
    ttl_attribute="expires",
)


@dataclass
class Line:
    sku: str
    quantity: int


def now() -> datetime:
    """The time of a write, as JavaScript has it."""
    at = datetime.now(timezone.utc)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


class Written(Entity):
    """What Toolbox has in each item."""

    created: IsoMilliseconds = field(name="_ct", default_factory=now)
    modified: IsoMilliseconds = field(name="_md", default_factory=now)


class Customer(Written, table=shop, type="CUSTOMER"):
    id: str
    name: str
    email: str
    note: str | None = None

    @shop.key
    @staticmethod
    def of(id: str) -> Key:
        return f"CUSTOMER#{id:raw}", f"CUSTOMER#{id:raw}"

    @shop.index("GSI1")
    @staticmethod
    def by(email: str) -> Key:
        return f"EMAIL#{email:lower}", "CUSTOMER"


class Order(Written, table=shop, type="ORDER"):
    customer: str
    number: int
    status: str
    total: float = field(name="t")
    placed: IsoMilliseconds
    tags: set[str] = field(default_factory=set[str])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"CUSTOMER#{customer:raw}", f"ORDER#{number:04}"

    @shop.index("GSI1")
    @staticmethod
    def by(status: str, number: int = ANY) -> Key:
        return f"STATUS#{status:raw}", f"ORDER#{number:04}"


class Invoice(Written, table=shop, type="INVOICE"):
    customer: str
    number: int
    paid: bool
    lines: list[Line] = made(default_factory=list[Line])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"CUSTOMER#{customer:raw}", f"INVOICE#{number:raw}"


class Event(Written, table=shop, type="EVENT"):
    customer: str
    at: int
    id: str
    meta: dict[str, Any] | None = None

    @shop.key
    @staticmethod
    def of(customer: str, at: int = ANY, id: str = ANY) -> Key:
        return f"EVENTS#{customer:raw}", f"{at:013}#{id:ulid}"


class Session(Written, table=shop, type="SESSION"):
    token: str
    user: str
    expires: datetime = field(expires=True)

    @shop.key
    @staticmethod
    def of(token: str) -> Key:
        return f"SESSION#{token:raw}", "SESSION"


class Slot(Written, table=shop, type="SLOT"):
    day: str
    slot: int
    note: str | None = None

    @shop.key
    @staticmethod
    def of(day: str, slot: int = ANY) -> Key:
        return f"DAY#{day:raw}", f"SLOT#{slot:raw}"


KINDS = {"customer": Customer, "order": Order, "invoice": Invoice, "event": Event, "session": Session, "slot": Slot}
