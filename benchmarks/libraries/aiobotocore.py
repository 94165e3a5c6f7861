"""aiobotocore: botocore's client on asyncio, with boto3's `TypeSerializer`. Plain dicts, times as texts."""

from __future__ import annotations

import asyncio  # noqa: TID251 what is measured runs on it
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from typing import Any

from aiobotocore.session import get_session
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from benchmarks import workload
from benchmarks.libraries import Client
from benchmarks.libraries.plain import Item, item_of, key_of, values


def open_client(url: str) -> Client:
    loop, stack = asyncio.new_event_loop(), AsyncExitStack()
    client: Any = loop.run_until_complete(
        stack.enter_async_context(get_session().create_client("dynamodb", endpoint_url=url))
    )
    serialize, deserialize = TypeSerializer().serialize, TypeDeserializer().deserialize
    reader, writer, table = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER, workload.TABLE
    new = item_of(writer, workload.PUT_NUMBER)
    four = [item_of(writer, number) for number in workload.TRANSACT_NUMBERS]

    def out(item: Item) -> Item:
        return {name: serialize(value) for name, value in item.items()}

    def back(item: Item) -> Item:
        return {name: deserialize(value) for name, value in item.items()}

    def asked(customer: str) -> Item:
        return {
            "TableName": table,
            "KeyConditionExpression": "#pk = :pk",
            "ExpressionAttributeNames": {"#pk": "pk"},
            "ExpressionAttributeValues": out({":pk": workload.partition(customer)}),
        }

    async def get() -> Item:
        answer = await client.get_item(TableName=table, Key=out(key_of(reader, workload.GET_NUMBER)))
        return back(answer["Item"])

    async def at_once() -> list[Item]:
        return await asyncio.gather(*(get() for _ in range(workload.AT_ONCE)))

    async def query(customer: str) -> list[Item]:
        return [back(item) for item in (await client.query(**asked(customer)))["Items"]]

    async def update() -> Item:
        answer = await client.update_item(
            TableName=table,
            Key=out(key_of(writer, workload.UPDATE_NUMBER)),
            UpdateExpression="SET #status = :status, #quantity = :quantity",
            ExpressionAttributeNames={f"#{name}": name for name in workload.UPDATED},
            ExpressionAttributeValues=out({f":{name}": value for name, value in workload.UPDATED.items()}),
            ReturnValues="ALL_NEW",
        )
        return back(answer["Attributes"])

    async def batch_get() -> list[Item]:
        keys = [out(key_of(reader, number)) for number in workload.BATCH_NUMBERS]
        answer = await client.batch_get_item(RequestItems={table: {"Keys": keys}})
        return [back(item) for item in answer["Responses"][table]]

    async def stream(count: int) -> None:
        given = asked(workload.STREAM_CUSTOMER)
        while count > 0:
            page = await client.query(**given)
            for item in page["Items"][:count]:
                back(item)
            count -= len(page["Items"])
            given["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def put() -> Awaitable[Any]:
        made: Awaitable[Any] = client.put_item(TableName=table, Item=out(new))
        return made

    calls = {
        "get": get,
        "put": put,
        "update": update,
        "query100": lambda: query(workload.FEW_CUSTOMER),
        "query1000": lambda: query(reader),
        "batch_get100": batch_get,
        "transact4": lambda: client.transact_write_items(
            TransactItems=[{"Put": {"TableName": table, "Item": out(item)}} for item in four]
        ),
        "mixed100": lambda: query(workload.MIXED_CUSTOMER),
        "gets32": at_once,
    }
    return Client(calls, values, loop.run_until_complete, stream, close=lambda: loop.run_until_complete(stack.aclose()))
