"""PynamoDB: its `Model`. Objects of typed models; an update changes the object that it was called on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from itertools import islice
from typing import Any

from pynamodb.attributes import (
    Attribute,
    BooleanAttribute,
    DiscriminatorAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places, at_once


class IsoTime(Attribute[datetime]):
    """A time as the other libraries store it; PynamoDB's own attribute reads one form of text only."""

    attr_type = "S"

    def serialize(self, value: datetime) -> str:
        return value.isoformat()

    def deserialize(self, value: str) -> datetime:
        return datetime.fromisoformat(value).astimezone(timezone.utc)


class ExactNumber(Attribute[Decimal]):
    """Its own NumberAttribute reads a float."""

    attr_type = "N"

    def serialize(self, value: Decimal) -> str:
        return str(value)

    def deserialize(self, value: str) -> Decimal:
        return Decimal(value)


class Address(MapAttribute[str, Any]):
    street = UnicodeAttribute()
    city = UnicodeAttribute()
    floor = NumberAttribute()


class Record(Model):
    class Meta:
        table_name = workload.TABLE

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    kind = DiscriminatorAttribute(attr_name=workload.TYPE_ATTRIBUTE)
    version = NumberAttribute(attr_name="_v", default=1)


class Order(Record, discriminator="Order"):
    customer = UnicodeAttribute()
    number = NumberAttribute()
    placed_at = IsoTime()
    status = UnicodeAttribute()
    total = ExactNumber()
    quantity = NumberAttribute()
    paid = BooleanAttribute()
    email = UnicodeAttribute()
    note = UnicodeAttribute()
    tags = UnicodeSetAttribute()
    skus: Any = ListAttribute(of=UnicodeAttribute)
    address = Address()  # type: ignore[no-untyped-call]


class Note(Record, discriminator="Note"):
    customer = UnicodeAttribute()
    number = NumberAttribute()
    written_at = IsoTime()
    author = UnicodeAttribute()
    text = UnicodeAttribute()
    pinned = BooleanAttribute()


def open_client(url: str) -> Client:
    Record.Meta.host = url  # type: ignore[attr-defined]
    Order.Meta.host = Note.Meta.host = url  # type: ignore[attr-defined]
    connection = Connection(host=url)
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    changed = make(writer, workload.UPDATE_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]

    def get() -> Order:
        return Order.get(workload.partition(reader), workload.sort(workload.GET_NUMBER))

    def update() -> Order:
        changed.update(
            actions=[
                Order.status.set(workload.UPDATED["status"]),
                Order.quantity.set(workload.UPDATED["quantity"]),
            ],
            add_version_condition=False,
        )
        return changed

    def query(customer: str) -> Iterator[Any]:
        return iter(Record.query(workload.partition(customer)))

    def transact() -> None:
        with TransactWrite(connection=connection) as transaction:
            for order in four:
                transaction.save(order)

    def stream(count: int) -> None:
        deque(islice(query(workload.STREAM_CUSTOMER), count), maxlen=0)

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]

        def write() -> None:
            with Order.batch_write() as batch:
                for order in orders:
                    batch.save(order)

        return write

    keys = [(workload.partition(reader), workload.sort(number)) for number in workload.BATCH_NUMBERS]
    calls = {
        "get": get,
        "put": lambda: new.save(add_version_condition=False),
        "update": update,
        "query100": lambda: list(Order.query(workload.partition(workload.FEW_CUSTOMER))),
        "query1000": lambda: list(Order.query(workload.partition(reader))),
        "batch_get100": lambda: list(Order.batch_get(keys)),
        "transact4": transact,
        "mixed100": lambda: list(query(workload.MIXED_CUSTOMER)),
        "gets32": at_once(get),
    }
    return Client(calls, values, stream=stream, write_many=write_many)


def make(customer: str, number: int) -> Order:
    order = workload.order(customer, number)
    order["address"] = Address(**order["address"])  # type: ignore[no-untyped-call]
    return Order(workload.partition(customer), workload.sort(number), **order)


def values(found: Any) -> Mapping[str, Any]:
    if isinstance(found, Note):
        return {name: getattr(found, name) for name in workload.NOTE_NAMES}
    address = {name: getattr(found.address, name) for name in ("street", "city", "floor")}
    return {name: getattr(found, name) for name in workload.ORDER_NAMES} | {"address": address}
