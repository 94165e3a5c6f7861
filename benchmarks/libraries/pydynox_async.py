"""pydynox: its `Model`, on asyncio. Objects of the same typed models; an update gives nothing back."""

from __future__ import annotations

import asyncio  # noqa: TID251 what is measured runs on it
from collections.abc import Awaitable
from typing import Any

from pydynox import BatchWriter, Collection, DynamoDBClient, Transaction, set_default_client

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places
from benchmarks.libraries.pydynox import Note, Order, key_of, make, values


def open_client(url: str) -> Client:
    client = DynamoDBClient(endpoint_url=url)
    set_default_client(client)
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]

    def get() -> Awaitable[Any]:
        got: Awaitable[Any] = Order.get(**key_of(reader, workload.GET_NUMBER))
        return got

    async def at_once() -> list[Any]:
        return await asyncio.gather(*(get() for _ in range(workload.AT_ONCE)))

    async def query(customer: str) -> list[Any]:
        return [order async for order in Order.query(partition_key=workload.partition(customer))]

    async def mixed() -> list[Any]:
        found = await Collection([Order, Note]).query(pk=workload.partition(workload.MIXED_CUSTOMER))
        return [*found.get(Order), *found.get(Note)]

    async def transact() -> None:
        async with Transaction(client) as tx:
            for order in four:
                tx.save_model(order)

    async def stream(count: int) -> None:
        async for _ in Order.query(partition_key=workload.partition(workload.STREAM_CUSTOMER)):
            count -= 1
            if not count:
                return

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]

        async def write() -> None:
            async with BatchWriter(client, workload.TABLE) as batch:
                for order in orders:
                    batch.put(order.to_dict())

        return write

    calls = {
        "get": get,
        "put": lambda: new.save(full_replace=True),
        "update": lambda: Order.update_by_key(**key_of(writer, workload.UPDATE_NUMBER), **workload.UPDATED),
        "query100": lambda: query(workload.FEW_CUSTOMER),
        "query1000": lambda: query(reader),
        "batch_get100": lambda: Order.batch_get([key_of(reader, number) for number in workload.BATCH_NUMBERS]),
        "transact4": transact,
        "mixed100": mixed,
        "gets32": at_once,
    }
    return Client(calls, values, asyncio.new_event_loop().run_until_complete, stream, write_many)
