"""pydynox: its `Model`, blocking. Objects of a typed model; an update gives nothing back."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from pydynox import Collection, DynamoDBClient, Model, ModelConfig, SyncTransaction, set_default_client
from pydynox.attributes import (
    BooleanAttribute,
    DatetimeAttribute,
    DecimalAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    StringAttribute,
    StringSetAttribute,
)
from pydynox.batch_operations import SyncBatchWriter

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places, at_once


@dataclass
class Address:
    street: str
    city: str
    floor: int


class Order(Model):
    model_config = ModelConfig(table=workload.TABLE)

    pk = StringAttribute(partition_key=True)
    sk = StringAttribute(sort_key=True)
    __entity__ = StringAttribute(discriminator=True)
    version = NumberAttribute(alias="_v")
    customer = StringAttribute()
    number = NumberAttribute()
    placed_at = DatetimeAttribute()
    status = StringAttribute()
    total = DecimalAttribute()
    quantity = NumberAttribute()
    paid = BooleanAttribute()
    email = StringAttribute()
    note = StringAttribute()
    tags = StringSetAttribute()
    skus = ListAttribute()
    address = MapAttribute(Address)


class Note(Model):
    model_config = ModelConfig(table=workload.TABLE)

    pk = StringAttribute(partition_key=True)
    sk = StringAttribute(sort_key=True)
    __entity__ = StringAttribute(discriminator=True)
    version = NumberAttribute(alias="_v")
    customer = StringAttribute()
    number = NumberAttribute()
    written_at = DatetimeAttribute()
    author = StringAttribute()
    text = StringAttribute()
    pinned = BooleanAttribute()


def open_client(url: str) -> Client:
    client = DynamoDBClient(endpoint_url=url)
    set_default_client(client)
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]

    def transact() -> None:
        with SyncTransaction(client) as tx:
            for order in four:
                tx.save_model(order)

    def get() -> Any:
        return Order.sync_get(**key_of(reader, workload.GET_NUMBER))

    def mixed() -> list[Any]:
        found = Collection([Order, Note]).sync_query(pk=workload.partition(workload.MIXED_CUSTOMER))
        return [*found.get(Order), *found.get(Note)]

    def stream(count: int) -> None:
        orders = Order.sync_query(partition_key=workload.partition(workload.STREAM_CUSTOMER))
        deque(islice(orders, count), maxlen=0)

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]

        def write() -> None:
            with SyncBatchWriter(client, workload.TABLE) as batch:
                for order in orders:
                    batch.put(order.to_dict())

        return write

    calls = {
        "get": get,
        "put": lambda: new.sync_save(full_replace=True),
        "update": lambda: Order.sync_update_by_key(**key_of(writer, workload.UPDATE_NUMBER), **workload.UPDATED),
        "query100": lambda: list(Order.sync_query(partition_key=workload.partition(workload.FEW_CUSTOMER))),
        "query1000": lambda: list(Order.sync_query(partition_key=workload.partition(reader))),
        "batch_get100": lambda: Order.sync_batch_get([key_of(reader, number) for number in workload.BATCH_NUMBERS]),
        "transact4": transact,
        "mixed100": mixed,
        "gets32": at_once(get),
    }
    return Client(calls, values, stream=stream, write_many=write_many)


def key_of(customer: str, number: int) -> dict[str, Any]:
    return {"pk": workload.partition(customer), "sk": workload.sort(number)}


def make(customer: str, number: int) -> Order:
    order = workload.order(customer, number)
    order["address"] = Address(**order["address"])
    return Order(**key_of(customer, number), __entity__="Order", version=1, **order)


def values(order: Any) -> Mapping[str, Any]:
    names = workload.NOTE_NAMES if isinstance(order, Note) else workload.ORDER_NAMES
    found = {name: getattr(order, name) for name in names}
    return found | ({"address": asdict(found["address"])} if "address" in found else {})
