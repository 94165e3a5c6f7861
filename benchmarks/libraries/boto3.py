"""boto3: its client, with its own `TypeSerializer` and `TypeDeserializer`. Plain dicts, times as texts.

The client, not the resource's `Table`: that one does the same and takes a tenth longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from benchmarks import workload
from benchmarks.libraries import Client

Item = dict[str, Any]


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

    def query(customer: str) -> list[Item]:
        names, given = {"#pk": "pk"}, out({":pk": workload.partition(customer)})
        answer = client.query(
            TableName=table,
            KeyConditionExpression="#pk = :pk",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=given,
        )
        return [back(item) for item in answer["Items"]]

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
        "get": lambda: back(client.get_item(TableName=table, Key=out(key_of(reader, workload.GET_NUMBER)))["Item"]),
        "put": lambda: client.put_item(TableName=table, Item=out(new)),
        "update": update,
        "query100": lambda: query(workload.FEW_CUSTOMER),
        "query1000": lambda: query(reader),
        "batch_get100": batch_get,
        "transact4": lambda: client.transact_write_items(
            TransactItems=[{"Put": {"TableName": table, "Item": out(item)}} for item in four]
        ),
    }
    return Client(calls, values)


def key_of(customer: str, number: int) -> Item:
    return {"pk": workload.partition(customer), "sk": workload.sort(number)}


def item_of(customer: str, number: int) -> Item:
    """An item as it is given to boto3, which has no form for a datetime."""
    order = workload.order(customer, number)
    own = {"_type": "order", "_v": 1, "placed_at": order["placed_at"].isoformat()}
    return key_of(customer, number) | order | own


def values(item: Any) -> Mapping[str, Any]:
    found = {name: item[name] for name in workload.order("", 0)}
    return found | {"placed_at": datetime.fromisoformat(found["placed_at"])}
