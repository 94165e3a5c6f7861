"""ElectroDB's items, declared here: keys in lower case, its version in each item."""

from __future__ import annotations

from dataclasses import dataclass, field as made
from datetime import datetime
from typing import Any

from singletable import ANY, Entity, Key, Table, field
from singletable.values import EpochMilliseconds

shop = Table("electrodb", indexes=["gsi1"], foreign=True, type_attribute="__edb_e__", ttl_attribute="expires")
STAMP = {"__edb_v__": "1"}


@dataclass
class Line:
    sku: str
    quantity: int


class Customer(Entity, table=shop, type="Customer", stamp=STAMP, ambiguous=True):
    id: str
    name: str
    email: str
    note: str | None = None

    @shop.key
    @staticmethod
    def of(id: str) -> Key:
        return f"$shop#id_{id:lower}", "$customer_1"

    @shop.index("gsi1")
    @staticmethod
    def by(email: str) -> Key:
        return f"$shop#email_{email:lower}", "$customer_1"


class Order(Entity, table=shop, type="order", stamp=STAMP, ambiguous=True):
    customer: str
    number: int
    status: str
    total: float
    placed: EpochMilliseconds
    tags: set[str] = field(default_factory=set[str])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"$shop#customer_{customer:lower}", f"$order_1#number_{number:raw}"

    @shop.index("gsi1")
    @staticmethod
    def by(status: str, number: int = ANY) -> Key:
        return f"$shop#status_{status:lower}", f"$order_1#number_{number:raw}"


class Invoice(Entity, table=shop, type="invoice", stamp=STAMP, ambiguous=True):
    customer: str
    number: int
    paid: bool
    lines: list[Line] = made(default_factory=list[Line])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"$shop#customer_{customer:lower}", f"$invoice_1#number_{number:08}"


class Event(Entity, table=shop, type="event", stamp=STAMP, ambiguous=True):
    customer: str
    at: int
    id: str
    meta: dict[str, Any] | None = None

    @shop.key
    @staticmethod
    def of(customer: str, at: int = ANY, id: str = ANY) -> Key:
        return f"$shop#customer_{customer:lower}", f"$event_1#at_{at:raw}#id_{id:lower}"


class Session(Entity, table=shop, type="session", stamp=STAMP, ambiguous=True):
    token: str
    user: str
    expires: datetime = field(expires=True)

    @shop.key
    @staticmethod
    def of(token: str) -> Key:
        return f"$shop#token_{token:lower}", "$session_1"


class Slot(Entity, table=shop, type="slot", stamp=STAMP):
    day: str
    slot: int
    note: str | None = None

    @shop.key
    @staticmethod
    def of(day: str, slot: int = ANY) -> Key:
        return f"DAY#{day:raw}", f"SLOT#{slot:raw}"


KINDS = {"customer": Customer, "order": Order, "invoice": Invoice, "event": Event, "session": Session, "slot": Slot}
