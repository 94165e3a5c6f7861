"""singletable, awaiting: `connect_async`. The same entities over the same flows, on asyncio."""

from __future__ import annotations

import asyncio  # noqa: TID251 what is measured runs on it
import os
from collections.abc import Awaitable
from typing import Any

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places
from benchmarks.libraries.ours import UPDATES, Note, Order, make, values
from singletable import connect_async


def open_client(url: str) -> Client:
    db = connect_async(url, ca_file=os.environ.get("AWS_CA_BUNDLE"))
    db.meter().__enter__()  # for as long as the process lives
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]

    def get() -> Awaitable[Order | None]:
        return db.get(Order.of_customer(reader, workload.GET_NUMBER))

    async def transact() -> None:
        async with db.transaction() as tx:
            for order in four:
                tx.put(order)

    async def at_once() -> list[Any]:
        return await asyncio.gather(*(get() for _ in range(workload.AT_ONCE)))

    async def stream(count: int) -> None:
        async for _ in db.iter(Order.of_customer(workload.STREAM_CUSTOMER)):
            count -= 1
            if not count:
                return

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]
        return lambda: db.write_many(puts=orders)

    calls = {
        "get": get,
        "put": lambda: db.put(new),
        "update": lambda: db.update(Order.of_customer(writer, workload.UPDATE_NUMBER), *UPDATES),
        "query100": lambda: db.all(Order.of_customer(workload.FEW_CUSTOMER)),
        "query1000": lambda: db.all(Order.of_customer(reader)),
        "batch_get100": lambda: db.get_many([Order.of_customer(reader, n) for n in workload.BATCH_NUMBERS]),
        "transact4": transact,
        "mixed100": lambda: db.all(Order.of_customer(workload.MIXED_CUSTOMER).also(Note)),
        "gets32": at_once,
    }
    run = asyncio.new_event_loop().run_until_complete
    return Client(calls, values, run, stream, write_many, lambda: run(db.close()))
