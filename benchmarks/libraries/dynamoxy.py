"""dynamoxy: objects of its `Model` through a repository, on asyncio. Needs Python 3.12."""

# mypy: disable-error-code="call-arg, misc"
# The Python that checks types can't have it.
from __future__ import annotations

import asyncio  # noqa: TID251 what is measured runs on it
from collections.abc import Awaitable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import dynamoxy
from dynamoxy import Attr, Document, Model, field, partition_key, sort_key

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places


class Address(Document):
    street: Attr[str]
    city: Attr[str]
    floor: Attr[int]


class Order(Model, table=workload.TABLE, entity="Order", type_attribute=workload.TYPE_ATTRIBUTE):
    pk: Attr[str] = partition_key(template="customer#{customer}")
    sk: Attr[str] = sort_key(template="order#{number:06}")
    schema_version: Attr[int] = field(default=1, attribute_name="_v")
    customer: Attr[str]
    number: Attr[int]
    placed_at: Attr[datetime]
    status: Attr[str]
    total: Attr[Decimal]
    quantity: Attr[int]
    paid: Attr[bool]
    email: Attr[str]
    note: Attr[str]
    tags: Attr[set[str]]
    skus: Attr[list[str]]
    address: Attr[Address]


class Note(Model, table=workload.TABLE, entity="Note", type_attribute=workload.TYPE_ATTRIBUTE):
    pk: Attr[str] = partition_key(template="customer#{customer}")
    sk: Attr[str] = sort_key(template="note#{number:06}")
    schema_version: Attr[int] = field(default=1, attribute_name="_v")
    customer: Attr[str]
    number: Attr[int]
    written_at: Attr[datetime]
    author: Attr[str]
    text: Attr[str]
    pinned: Attr[bool]


def open_client(url: str) -> Client:
    loop = asyncio.new_event_loop()
    client = dynamoxy.Client(endpoint_url=url)
    orders_of, mixed = client.repository(Order), client.collection(Order, Note)
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]
    updates = [getattr(Order, name).set(value) for name, value in workload.UPDATED.items()]

    def get() -> Awaitable[Any]:
        got: Awaitable[Any] = orders_of.get(customer=reader, number=workload.GET_NUMBER)
        return got

    async def at_once() -> list[Any]:
        return await asyncio.gather(*(get() for _ in range(workload.AT_ONCE)))

    async def transact() -> None:
        async with client.transaction() as tx:
            for order in four:
                tx.put(order)

    async def stream(count: int) -> None:
        async for _ in orders_of.query(customer=workload.STREAM_CUSTOMER):
            count -= 1
            if not count:
                return

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]
        return lambda: orders_of.batch_put(orders)

    calls = {
        "get": get,
        "put": lambda: orders_of.put(new),
        "update": lambda: orders_of.update(orders_of.key(customer=writer, number=workload.UPDATE_NUMBER), *updates),
        "query100": lambda: orders_of.query(customer=workload.FEW_CUSTOMER).all(),
        "query1000": lambda: orders_of.query(customer=reader).all(),
        "batch_get100": lambda: orders_of.batch_get(
            [orders_of.key(customer=reader, number=number) for number in workload.BATCH_NUMBERS]
        ),
        "transact4": transact,
        "mixed100": lambda: mixed.query(customer=workload.MIXED_CUSTOMER).all(),
        "gets32": at_once,
    }
    run = loop.run_until_complete
    return Client(calls, values, run, stream, write_many, lambda: run(client.close()))


def make(customer: str, number: int) -> Order:
    order = workload.order(customer, number)
    return Order(**order | {"address": Address(**order["address"])})


def values(found: Any) -> Mapping[str, Any]:
    if isinstance(found, Note):
        return {name: getattr(found, name) for name in workload.NOTE_NAMES}
    order = {name: getattr(found, name) for name in workload.ORDER_NAMES}
    return order | {"address": {name: getattr(order["address"], name) for name in ("street", "city", "floor")}}
