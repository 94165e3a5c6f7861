"""pydynantic: pydantic entities over boto3's client."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Annotated, Any

import boto3
from pydantic import AfterValidator, BaseModel
from pydynantic import Collection, Entity, Table, key, transaction

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places, at_once


class Number(int):
    """An order's number as its key has it: a key's template has no width."""

    def __str__(self) -> str:
        return f"{int(self):06}"


class Address(BaseModel):
    street: str
    city: str
    floor: int


def open_client(url: str) -> Client:
    table = Table(name=workload.TABLE, pk="pk", sk="sk", client=boto3.client("dynamodb", endpoint_url=url))

    class Order(Entity, table=table, name="Order"):
        customer: str
        number: Annotated[int, AfterValidator(Number)]
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

        class Meta:
            primary = key(pk="customer#{customer}", sk="order#{number}")

    class Note(Entity, table=table, name="Note"):
        customer: str
        number: Annotated[int, AfterValidator(Number)]
        written_at: datetime
        author: str
        text: str
        pinned: bool

        class Meta:
            primary = key(pk="customer#{customer}", sk="note#{number}")

    class OfCustomer(Collection):
        members = [Order, Note]  # noqa: RUF012 as its documentation has it

    def make(customer: str, number: int) -> Order:
        return Order(**workload.order(customer, number))

    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]
    keys = [(reader, Number(number)) for number in workload.BATCH_NUMBERS]

    def get() -> Any:
        return Order.get(customer=reader, number=Number(workload.GET_NUMBER))

    def put() -> None:
        Order.put(new)

    def transact() -> None:
        with transaction(table) as tx:
            for order in four:
                tx.put(order)

    def mixed() -> list[Any]:
        found = OfCustomer.query(customer=workload.MIXED_CUSTOMER).all()
        return [*found.Orders, *found.Notes]

    def stream(count: int) -> None:
        deque(islice(Order.query.primary(customer=workload.STREAM_CUSTOMER).iter(), count), maxlen=0)

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]
        return lambda: Order.batch_write(puts=orders)

    calls = {
        "get": get,
        "put": put,
        "update": lambda: Order.update(
            customer=writer, number=Number(workload.UPDATE_NUMBER), set=dict(workload.UPDATED)
        ),
        "query100": lambda: Order.query.primary(customer=workload.FEW_CUSTOMER).all(),
        "query1000": lambda: Order.query.primary(customer=reader).all(),
        "batch_get100": lambda: Order.batch_get(keys),
        "transact4": transact,
        "mixed100": mixed,
        "gets32": at_once(get),
    }
    return Client(calls, values, stream=stream, write_many=write_many)


def values(found: Any) -> Mapping[str, Any]:
    names = workload.NOTE_NAMES if hasattr(found, "author") else workload.ORDER_NAMES
    got = {name: getattr(found, name) for name in names}
    return got | ({"address": found.address.model_dump()} if "address" in got else {})
