"""boto3: the resource's `Table`, which takes and gives Python values itself. Plain dicts, times as texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import boto3
from boto3.dynamodb.conditions import Key

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places, at_once
from benchmarks.libraries.plain import Item, item_of, key_of, values


def open_client(url: str) -> Client:
    resource = boto3.resource("dynamodb", endpoint_url=url)
    table = resource.Table(workload.TABLE)
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = item_of(writer, workload.PUT_NUMBER)
    four = [item_of(writer, number) for number in workload.TRANSACT_NUMBERS]

    def get() -> Item:
        found: Item = table.get_item(Key=key_of(reader, workload.GET_NUMBER))["Item"]
        return found

    def query(customer: str, **more: Any) -> Item:
        found: Item = table.query(KeyConditionExpression=Key("pk").eq(workload.partition(customer)), **more)
        return found

    def update() -> Item:
        answer = table.update_item(
            Key=key_of(writer, workload.UPDATE_NUMBER),
            UpdateExpression="SET #status = :status, #quantity = :quantity",
            ExpressionAttributeNames={f"#{name}": name for name in workload.UPDATED},
            ExpressionAttributeValues={f":{name}": value for name, value in workload.UPDATED.items()},
            ReturnValues="ALL_NEW",
        )
        changed: Item = answer["Attributes"]
        return changed

    def batch_get() -> list[Item]:
        keys = [key_of(reader, number) for number in workload.BATCH_NUMBERS]
        answer = resource.batch_get_item(RequestItems={workload.TABLE: {"Keys": keys}})
        found: list[Item] = answer["Responses"][workload.TABLE]
        return found

    def pages() -> Iterator[Item]:
        page = query(workload.STREAM_CUSTOMER)
        while True:
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            page = query(workload.STREAM_CUSTOMER, ExclusiveStartKey=page["LastEvaluatedKey"])

    def write_many(places: Places) -> Call:
        items = [item_of(*place) for place in places]

        def write() -> None:
            with table.batch_writer() as batch:
                for item in items:
                    batch.put_item(Item=item)

        return write

    def stream(count: int) -> None:
        deque(islice(pages(), count), maxlen=0)

    calls = {
        "get": get,
        "put": lambda: table.put_item(Item=new),
        "update": update,
        "query100": lambda: query(workload.FEW_CUSTOMER)["Items"],
        "query1000": lambda: query(reader)["Items"],
        "batch_get100": batch_get,
        "transact4": lambda: resource.meta.client.transact_write_items(
            TransactItems=[{"Put": {"TableName": workload.TABLE, "Item": item}} for item in four]
        ),
        "mixed100": lambda: query(workload.MIXED_CUSTOMER)["Items"],
        "gets32": at_once(get),
    }
    return Client(calls, values, stream=stream, write_many=write_many)
