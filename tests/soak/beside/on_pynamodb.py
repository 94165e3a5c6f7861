"""The table of a program with PynamoDB: a discriminator, its own form of times, JSON in a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field as made
from datetime import datetime
from typing import Annotated, Any, Final

from pynamodb.attributes import (
    BooleanAttribute,
    DiscriminatorAttribute,
    JSONAttribute,
    ListAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
)
from pynamodb.exceptions import DoesNotExist
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model

from singletable import ANY, Entity, Key, Table, field
from singletable.values import PynamoIso, json_text
from tests.soak.beside.records import Record
from tests.soak.beside.sides import as_record, in_time

shop = Table("pynamodb", indexes=["gsi1"], foreign=True, type_attribute="cls", ttl_attribute="expires")


@dataclass
class Line:
    sku: str
    quantity: int


class Customer(Entity, table=shop, type="customer"):
    id: str
    name: str
    email: str
    note: str | None = None

    @shop.key
    @staticmethod
    def of(id: str) -> Key:
        return f"customer/{id:raw}", "customer"

    @shop.index("gsi1")
    @staticmethod
    def by(email: str) -> Key:
        return f"{email:raw}", "customer"


class Order(Entity, table=shop, type="order"):
    customer: str
    number: int
    status: str
    total: float
    placed: PynamoIso
    tags: set[str] = field(default_factory=set[str])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer/{customer:raw}", f"order/{number:05}"

    @shop.index("gsi1")
    @staticmethod
    def by(status: str, number: int = ANY) -> Key:
        return f"state/{status:raw}", f"order/{number:05}"


class Invoice(Entity, table=shop, type="invoice"):
    customer: str
    number: int
    paid: bool
    lines: list[Line] = made(default_factory=list[Line])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer/{customer:raw}", f"invoice/{number:raw}"


class Event(Entity, table=shop, type="event"):
    customer: str
    at: int
    id: str
    meta: Annotated[dict[str, Any], json_text] | None = None

    @shop.key
    @staticmethod
    def of(customer: str, at: int = ANY, id: str = ANY) -> Key:
        return f"events/{customer:raw}", f"{at:013}/{id:ulid}"


class Session(Entity, table=shop, type="session"):
    token: str
    user: str
    expires: datetime = field(expires=True)

    @shop.key
    @staticmethod
    def of(token: str) -> Key:
        return f"session/{token:raw}", "session"


class Slot(Entity, table=shop, type="slot"):
    day: str
    slot: int
    note: str | None = None

    @shop.key
    @staticmethod
    def of(day: str, slot: int = ANY) -> Key:
        return f"day/{day:raw}", f"slot/{slot:raw}"


KINDS = {"customer": Customer, "order": Order, "invoice": Invoice, "event": Event, "session": Session, "slot": Slot}


class ByIndex(GlobalSecondaryIndex["Stored"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "gsi1"
        projection = AllProjection()

    gsi1pk = UnicodeAttribute(hash_key=True)
    gsi1sk = UnicodeAttribute(range_key=True)


class Stored(Model):
    """What all items of PynamoDB have."""

    class Meta:
        table_name = "pynamodb"
        region = "local"
        host = ""
        aws_access_key_id = "x"
        aws_secret_access_key = "x"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    gsi1pk = UnicodeAttribute(null=True)
    gsi1sk = UnicodeAttribute(null=True)
    cls = DiscriminatorAttribute()
    by_index = ByIndex()


class CustomerModel(Stored, discriminator="customer"):
    id = UnicodeAttribute()
    name = UnicodeAttribute()
    email = UnicodeAttribute()
    note = UnicodeAttribute(null=True)


class OrderModel(Stored, discriminator="order"):
    customer = UnicodeAttribute()
    number = NumberAttribute()
    status = UnicodeAttribute()
    total = NumberAttribute()
    placed = UTCDateTimeAttribute()
    tags = UnicodeSetAttribute(null=True)


class InvoiceModel(Stored, discriminator="invoice"):
    customer = UnicodeAttribute()
    number = NumberAttribute()
    paid = BooleanAttribute()
    lines: Any = ListAttribute(null=True)


class EventModel(Stored, discriminator="event"):
    customer = UnicodeAttribute()
    at = NumberAttribute()
    id = UnicodeAttribute()
    meta = JSONAttribute(null=True)


class SessionModel(Stored, discriminator="session"):
    token = UnicodeAttribute()
    user = UnicodeAttribute()
    expires = TTLAttribute()


class SlotModel(Stored, discriminator="slot"):
    day = UnicodeAttribute()
    slot = NumberAttribute()
    note = UnicodeAttribute(null=True)


_MODELS: Final[Mapping[str, Any]] = {
    "customer": CustomerModel,
    "order": OrderModel,
    "invoice": InvoiceModel,
    "event": EventModel,
    "session": SessionModel,
    "slot": SlotModel,
}
_PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "customer": ("customer/{id}", "customer"),
    "order": ("customer/{customer}", "order/{number:05}"),
    "invoice": ("customer/{customer}", "invoice/{number}"),
    "event": ("events/{customer}", "{at}/{id}"),
    "session": ("session/{token}", "session"),
    "slot": ("day/{day}", "slot/{slot}"),
}


def place(kind: str, record: Record) -> tuple[str, ...]:
    """The key of a record."""
    return tuple(text.format(**record) for text in _PLACES[kind])


def index_key(kind: str, record: Record) -> Record:
    """The attributes of the index's key, as far as a record has what they are made of."""
    if kind == "customer" and "email" in record:
        return {"gsi1pk": record["email"], "gsi1sk": "customer"}
    return {"gsi1pk": f"state/{record['status']}"} if kind == "order" and "status" in record else {}


def values(kind: str, record: Record) -> Record:
    """The attributes of a record, as PynamoDB takes them."""
    times: Record = {name: in_time(name, record[name]) for name in ("placed", "expires") if name in record}
    tags = {"tags": set(record["tags"])} if "tags" in record else {}
    return {**record, **times, **tags, **index_key(kind, record)}


def connect_to(url: str) -> None:
    """Let all models ask this address: each keeps the connection that it made."""
    Stored.Meta.host = url
    models: list[type[Stored]] = [Stored, *Stored.__subclasses__()]
    for model in models:
        model._connection = None


class Theirs:
    """A program with PynamoDB."""

    def put(self, kind: str, record: Record) -> None:
        sort = {"gsi1sk": f"order/{record['number']:05}"} if kind == "order" else {}
        _MODELS[kind](*place(kind, record), **values(kind, record), **sort).save()

    def get(self, kind: str, key: Record) -> Record | None:
        try:
            return self._record(_MODELS[kind].get(*place(kind, key), consistent_read=True))
        except DoesNotExist:
            return None

    def update(self, kind: str, key: Record, given: Record, removed: Sequence[str]) -> None:
        model = _MODELS[kind]
        sets = [getattr(model, name).set(value) for name, value in values(kind, given).items()]
        actions = [*sets, *(getattr(model, name).remove() for name in removed)]
        model.get(*place(kind, key)).update(actions)

    def delete(self, kind: str, key: Record) -> None:
        _MODELS[kind](*place(kind, key)).delete()

    def all(self, kind: str) -> list[Record]:
        return [self._record(model) for model in _MODELS[kind].scan()]

    def by(self, kind: str, asked: Record) -> list[Record]:
        return [self._record(model) for model in Stored.by_index.query(index_key(kind, asked)["gsi1pk"])]

    @staticmethod
    def _record(model: Any) -> Record:
        own = {*Stored.get_attributes()}
        return as_record({name: value for name, value in model.attribute_values.items() if name not in own})
