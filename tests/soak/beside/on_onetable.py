"""OneTable's items, declared here: times as numbers, a model's name in keys."""

from __future__ import annotations

from dataclasses import dataclass, field as made
from datetime import datetime, timezone
from typing import Any

from singletable import ANY, Entity, Index, Key, Table, field
from singletable.values import EpochMilliseconds

shop = Table(
    "onetable",
    indexes={"gs1": Index("gs1pk", "gs1sk")},
    separator=":",
    foreign=True,
    type_attribute="_type",
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
    """What OneTable has in each item, with `timestamps: true`."""

    created: EpochMilliseconds = field(default_factory=now)
    updated: EpochMilliseconds = field(default_factory=now)


class Customer(Written, table=shop, type="Customer"):
    id: str
    name: str
    email: str
    note: str | None = None

    @shop.key
    @staticmethod
    def of(id: str) -> Key:
        return f"customer:{id:raw}", "customer:"

    @shop.index("gs1")
    @staticmethod
    def by(email: str) -> Key:
        return f"email:{email:raw}", "customer:"


class Order(Written, table=shop, type="Order"):
    customer: str
    number: int
    status: str
    total: float
    placed: EpochMilliseconds
    tags: set[str] = field(default_factory=set[str])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer:{customer:raw}", f"order:{number:raw}"

    @shop.index("gs1")
    @staticmethod
    def by(status: str, number: int = ANY) -> Key:
        return f"status:{status:raw}", f"order:{number:raw}"


class Invoice(Written, table=shop, type="Invoice"):
    customer: str
    number: int
    paid: bool
    lines: list[Line] = made(default_factory=list[Line])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer:{customer:raw}", f"invoice:{number:raw}"


class Event(Written, table=shop, type="Event"):
    customer: str
    at: int
    id: str
    meta: dict[str, Any] | None = None

    @shop.key
    @staticmethod
    def of(customer: str, at: int = ANY, id: str = ANY) -> Key:
        return f"event:{customer:raw}", f"{at:raw}#{id:raw}"


class Session(Written, table=shop, type="Session"):
    token: str
    user: str
    expires: datetime = field(expires=True)

    @shop.key
    @staticmethod
    def of(token: str) -> Key:
        return f"Session#{token:raw}", "Session#"


class Slot(Written, table=shop, type="Slot"):
    day: str
    slot: int
    note: str | None = None

    @shop.key
    @staticmethod
    def of(day: str, slot: int = ANY) -> Key:
        return f"day:{day:raw}", f"slot:{slot:raw}"


KINDS = {"customer": Customer, "order": Order, "invoice": Invoice, "event": Event, "session": Session, "slot": Slot}
