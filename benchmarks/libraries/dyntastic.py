"""dyntastic: pydantic models over boto3's resource. An update gives nothing back unless it reads the item again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from dyntastic import Attr, Dyntastic, transaction
from pydantic import BaseModel, Field

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places, at_once


class Address(BaseModel):
    street: str
    city: str
    floor: int


class Record(Dyntastic):
    __table_name__ = workload.TABLE
    __hash_key__ = "pk"
    __range_key__ = "sk"

    pk: str
    sk: str
    kind: str = Field(alias=workload.TYPE_ATTRIBUTE)
    version: int = Field(default=1, alias="_v")
    customer: str
    number: int

    @classmethod
    def get_model(cls, item: dict[str, Any]) -> type[Any]:
        return Note if item[workload.TYPE_ATTRIBUTE] == "Note" else Order


class Order(Record):
    placed_at: datetime
    status: str
    total: Decimal
    quantity: int
    paid: bool
    email: str
    note: str
    tags: set[str]
    skus: list[str]
    address: Address


class Note(Record):
    written_at: datetime
    author: str
    text: str
    pinned: bool


def open_client(url: str) -> Client:
    for kind in (Record, Order, Note):
        kind.__table_host__ = url
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    changed: Any = make(writer, workload.UPDATE_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]

    def get() -> Any:
        return Order.get(workload.partition(reader), workload.sort(workload.GET_NUMBER))

    def update() -> None:
        changed.ignore_unrefreshed()  # or it would read the item again before it is used again
        changed.update(*(attribute.set(workload.UPDATED[name]) for name, attribute in attributes), refresh=False)

    def query(customer: str) -> Iterator[Any]:
        return iter(Record.query(workload.partition(customer)))

    def transact() -> None:
        with transaction():
            for order in four:
                order.save()

    def stream(count: int) -> None:
        deque(islice(query(workload.STREAM_CUSTOMER), count), maxlen=0)

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]

        def write() -> None:
            with Order.batch_writer():
                for order in orders:
                    order.save()

        return write

    attributes: list[tuple[str, Any]] = [(name, Attr(name)) for name in workload.UPDATED]
    keys = [(workload.partition(reader), workload.sort(number)) for number in workload.BATCH_NUMBERS]
    calls = {
        "get": get,
        "put": new.save,
        "update": update,
        "query100": lambda: list(query(workload.FEW_CUSTOMER)),
        "query1000": lambda: list(query(reader)),
        "batch_get100": lambda: Order.batch_get(keys),
        "transact4": transact,
        "mixed100": lambda: list(query(workload.MIXED_CUSTOMER)),
        "gets32": at_once(get),
    }
    return Client(calls, values, stream=stream, write_many=write_many)


def make(customer: str, number: int) -> Order:
    keys = {"pk": workload.partition(customer), "sk": workload.sort(number), workload.TYPE_ATTRIBUTE: "Order"}
    return Order(**{**keys, **workload.order(customer, number)})


def values(found: Any) -> Mapping[str, Any]:
    names = workload.NOTE_NAMES if isinstance(found, Note) else workload.ORDER_NAMES
    got = {name: getattr(found, name) for name in names}
    return got | ({"address": found.address.model_dump()} if "address" in got else {})
