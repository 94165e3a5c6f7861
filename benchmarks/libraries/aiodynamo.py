"""aiodynamo over aiohttp, numbers as Decimal. Plain dicts, times as texts."""

from __future__ import annotations

import asyncio  # noqa: TID251 what is measured runs on it
import os
import ssl
from collections.abc import Awaitable
from decimal import Decimal

import aiohttp
from aiodynamo.client import Client as AioDynamo
from aiodynamo.credentials import Key, StaticCredentials
from aiodynamo.expressions import F, HashKey
from aiodynamo.http.aiohttp import AIOHTTP
from aiodynamo.models import BatchGetRequest, BatchWriteRequest, ReturnValues
from aiodynamo.operations import Put
from yarl import URL

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places
from benchmarks.libraries.plain import Item, item_of, key_of, values

MAX_BATCH_WRITE = 25


def open_client(url: str) -> Client:
    loop = asyncio.new_event_loop()
    session, client = loop.run_until_complete(_open(url))
    table = client.table(workload.TABLE)
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = item_of(writer, workload.PUT_NUMBER)
    four = [item_of(writer, number) for number in workload.TRANSACT_NUMBERS]

    def get() -> Awaitable[Item]:
        got: Awaitable[Item] = table.get_item(key_of(reader, workload.GET_NUMBER))
        return got

    async def at_once() -> list[Item]:
        return await asyncio.gather(*(get() for _ in range(workload.AT_ONCE)))

    async def stream(count: int) -> None:
        async for _ in table.query(HashKey("pk", workload.partition(workload.STREAM_CUSTOMER))):
            count -= 1
            if not count:
                return

    async def query(customer: str) -> list[Item]:
        return [item async for item in table.query(HashKey("pk", workload.partition(customer)))]

    async def batch_get() -> list[Item]:
        keys = [key_of(reader, number) for number in workload.BATCH_NUMBERS]
        answer = await client.batch_get({workload.TABLE: BatchGetRequest(keys=keys)})
        return answer.items[workload.TABLE]

    async def update() -> Item | None:
        expression = F("status").set(workload.UPDATED["status"]) & F("quantity").set(workload.UPDATED["quantity"])
        key = key_of(writer, workload.UPDATE_NUMBER)
        return await table.update_item(key, expression, return_values=ReturnValues.all_new)

    def write_many(places: Places) -> Call:
        """By hand, 16 requests at a time, as ours has: the library writes one request's."""
        items = [item_of(*place) for place in places]
        parts = [items[i : i + MAX_BATCH_WRITE] for i in range(0, len(items), MAX_BATCH_WRITE)]

        async def write() -> None:
            at_a_time = asyncio.Semaphore(16)

            async def one(part: list[Item]) -> None:
                async with at_a_time:
                    left = await client.batch_write({workload.TABLE: BatchWriteRequest(items_to_put=part)})
                    assert not left, "the engine left some undone"

            await asyncio.gather(*map(one, parts))

        return write

    calls = {
        "get": get,
        "put": lambda: table.put_item(new),
        "update": update,
        "query100": lambda: query(workload.FEW_CUSTOMER),
        "query1000": lambda: query(reader),
        "batch_get100": batch_get,
        "transact4": lambda: client.transact_write_items([Put(workload.TABLE, item) for item in four]),
        "mixed100": lambda: query(workload.MIXED_CUSTOMER),
        "gets32": at_once,
    }

    def close() -> None:
        loop.run_until_complete(session.close())
        loop.run_until_complete(loop.shutdown_asyncgens())

    return Client(calls, values, loop.run_until_complete, stream, write_many, close)


async def _open(url: str) -> tuple[aiohttp.ClientSession, AioDynamo]:
    """The session belongs to the loop that it is made in."""
    key = Key(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    bundle = os.environ.get("AWS_CA_BUNDLE")
    trusted = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=bundle)) if bundle else None
    session = aiohttp.ClientSession(connector=trusted)
    return session, AioDynamo(AIOHTTP(session), StaticCredentials(key), os.environ["AWS_REGION"], URL(url), Decimal)
