"""boto3: its client, with its own `TypeSerializer` and `TypeDeserializer`. Plain dicts, times as texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from benchmarks import workload
from benchmarks.libraries import Client, at_once
from benchmarks.libraries.plain import Item, item_of, key_of, values


def open_client(url: str) -> Client:
    client = boto3.client("dynamodb", endpoint_url=url)
    serialize, deserialize = TypeSerializer().serialize, TypeDeserializer().deserialize
    reader, writer, table = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER, workload.TABLE
    new = item_of(writer, workload.PUT_NUMBER)
    four = [item_of(writer, number) for number in workload.TRANSACT_NUMBERS]

    def out(item: Item) -> Item:
        return {name: serialize(value) for name, value in item.items()}

    def back(item: Item) -> Item:
        return {name: deserialize(value) for name, value in item.items()}

    def asked(customer: str) -> Item:
        given = out({":pk": workload.partition(customer)})
        return {
            "TableName": table,
            "KeyConditionExpression": "#pk = :pk",
            "ExpressionAttributeNames": {"#pk": "pk"},
            "ExpressionAttributeValues": given,
        }

    def query(customer: str) -> list[Item]:
        return [back(item) for item in client.query(**asked(customer))["Items"]]

    def pages() -> Iterator[Item]:
        """By hand: its paginator stops where the same page comes twice, as it does from the replay server."""
        page = client.query(**asked(workload.STREAM_CUSTOMER))
        while True:
            yield from map(back, page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            page = client.query(**asked(workload.STREAM_CUSTOMER), ExclusiveStartKey=page["LastEvaluatedKey"])

    def stream(count: int) -> None:
        deque(islice(pages(), count), maxlen=0)

    def get() -> Item:
        return back(client.get_item(TableName=table, Key=out(key_of(reader, workload.GET_NUMBER)))["Item"])

    def update() -> Item:
        answer = client.update_item(
            TableName=table,
            Key=out(key_of(writer, workload.UPDATE_NUMBER)),
            UpdateExpression="SET #status = :status, #quantity = :quantity",
            ExpressionAttributeNames={f"#{name}": name for name in workload.UPDATED},
            ExpressionAttributeValues=out({f":{name}": value for name, value in workload.UPDATED.items()}),
            ReturnValues="ALL_NEW",
        )
        return back(answer["Attributes"])

    def batch_get() -> list[Item]:
        keys = [out(key_of(reader, number)) for number in workload.BATCH_NUMBERS]
        answer = client.batch_get_item(RequestItems={table: {"Keys": keys}})
        return [back(item) for item in answer["Responses"][table]]

    calls = {
        "get": get,
        "put": lambda: client.put_item(TableName=table, Item=out(new)),
        "update": update,
        "query100": lambda: query(workload.FEW_CUSTOMER),
        "query1000": lambda: query(reader),
        "batch_get100": batch_get,
        "transact4": lambda: client.transact_write_items(
            TransactItems=[{"Put": {"TableName": table, "Item": out(item)}} for item in four]
        ),
        "mixed100": lambda: query(workload.MIXED_CUSTOMER),
        "gets32": at_once(get),
    }
    return Client(calls, values, stream=stream)
