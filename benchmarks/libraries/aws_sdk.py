"""aws-sdk-dynamodb, the official SDK that Smithy generates, on asyncio over aiohttp. Needs Python 3.12.

It has no plain values: its objects of attribute values are made and read here, by a function each. Times stay texts.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 what is measured runs on it
from collections.abc import Awaitable, Mapping
from decimal import Decimal
from typing import Any

from aws_sdk_dynamodb.client import AsyncDynamoDBClient
from aws_sdk_dynamodb.config import AsyncDynamoDBConfig
from aws_sdk_dynamodb.models import (
    AttributeValueBOOL,
    AttributeValueL,
    AttributeValueM,
    AttributeValueN,
    AttributeValueS,
    AttributeValueSS,
    BatchGetItemInput,
    GetItemInput,
    KeysAndAttributes,
    Put,
    PutItemInput,
    QueryInput,
    TransactWriteItem,
    TransactWriteItemsInput,
    UpdateItemInput,
)

from benchmarks import workload
from benchmarks.libraries import Client
from benchmarks.libraries.plain import Item, item_of, key_of, values


def open_client(url: str) -> Client:
    run = asyncio.new_event_loop().run_until_complete
    client = run(_open(url))
    reader, writer, table = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER, workload.TABLE
    new = item_of(writer, workload.PUT_NUMBER)
    four = [item_of(writer, number) for number in workload.TRANSACT_NUMBERS]

    async def get() -> Item:
        key = out(key_of(reader, workload.GET_NUMBER))
        return back((await client.get_item(GetItemInput(table_name=table, key=key))).item)

    async def at_once() -> list[Item]:
        return await asyncio.gather(*(get() for _ in range(workload.AT_ONCE)))

    def put() -> Awaitable[Any]:
        sent: Awaitable[Any] = client.put_item(PutItemInput(table_name=table, item=out(new)))
        return sent

    async def update() -> Item:
        asked = UpdateItemInput(
            table_name=table,
            key=out(key_of(writer, workload.UPDATE_NUMBER)),
            update_expression="SET #status = :status, #quantity = :quantity",
            expression_attribute_names={f"#{name}": name for name in workload.UPDATED},
            expression_attribute_values=out({f":{name}": value for name, value in workload.UPDATED.items()}),
            return_values="ALL_NEW",
        )
        return back((await client.update_item(asked)).attributes)

    async def page(customer: str, after: Any = None) -> Any:
        asked = QueryInput(
            table_name=table,
            key_condition_expression="#pk = :pk",
            expression_attribute_names={"#pk": "pk"},
            expression_attribute_values=out({":pk": workload.partition(customer)}),
            exclusive_start_key=after,
        )
        return await client.query(asked)

    async def query(customer: str) -> list[Item]:
        return [back(item) for item in (await page(customer)).items]

    async def batch_get() -> list[Item]:
        keys = KeysAndAttributes(keys=[out(key_of(reader, number)) for number in workload.BATCH_NUMBERS])
        answer = await client.batch_get_item(BatchGetItemInput(request_items={table: keys}))
        return [back(item) for item in answer.responses[table]]

    def transact() -> Awaitable[Any]:
        puts = [TransactWriteItem(put=Put(table_name=table, item=out(item))) for item in four]
        sent: Awaitable[Any] = client.transact_write_items(TransactWriteItemsInput(transact_items=puts))
        return sent

    async def stream(count: int) -> None:
        after = None
        while count > 0:
            answer = await page(workload.STREAM_CUSTOMER, after)
            for item in answer.items[:count]:
                back(item)
            count, after = count - len(answer.items), answer.last_evaluated_key

    calls = {
        "get": get,
        "put": put,
        "update": update,
        "query100": lambda: query(workload.FEW_CUSTOMER),
        "query1000": lambda: query(reader),
        "batch_get100": batch_get,
        "transact4": transact,
        "mixed100": lambda: query(workload.MIXED_CUSTOMER),
        "gets32": at_once,
    }
    return Client(calls, values, run, stream, close=lambda: run(client.close()))


async def _open(url: str) -> AsyncDynamoDBClient:
    return AsyncDynamoDBClient(await AsyncDynamoDBConfig.resolve(endpoint_uri=url))


def out(item: Mapping[str, Any]) -> Item:
    return {name: attribute_value(value) for name, value in item.items()}


def back(item: Mapping[str, Any]) -> Item:
    return {name: plain(value) for name, value in item.items()}


def attribute_value(value: Any) -> Any:
    if isinstance(value, str):
        return AttributeValueS(value)
    if isinstance(value, bool):
        return AttributeValueBOOL(value)
    if isinstance(value, int | Decimal):
        return AttributeValueN(str(value))
    if isinstance(value, set):
        return AttributeValueSS(sorted(value))
    if isinstance(value, list):
        return AttributeValueL([attribute_value(part) for part in value])
    return AttributeValueM(out(value))


def plain(value: Any) -> Any:
    kind = type(value)
    if kind is AttributeValueS or kind is AttributeValueBOOL:
        return value.value
    if kind is AttributeValueN:
        return Decimal(value.value)
    if kind is AttributeValueSS:
        return set(value.value)
    if kind is AttributeValueL:
        return [plain(part) for part in value.value]
    return back(value.value)
