"""What a request asks leave for: the actions, resources and condition keys by which IAM judges it.

Source: the service authorization reference of DynamoDB and the developer guide's "Specifying conditions". A batch is
judged whole, table by table. So are the actions of one kind in a transaction: the documents leave open whether each
item is judged by itself, and what is allowed whole is allowed one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from singletable.tables import TableDefinition
from tests.support.iam import Attempt

REGION, ACCOUNT = "eu-central-1", "123456789012"
STREAMS, SQS = "DynamoDBStreams_20120810", "AmazonSQS"
Definitions = Mapping[str, TableDefinition]
"""By the table's name."""
Body = Mapping[str, Any]
_IN_TRANSACTION = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}
_SELECTING = ("GetItem", "BatchGetItem", "Query", "Scan")
_EXPRESSIONS = (
    *("ConditionExpression", "FilterExpression", "KeyConditionExpression", "ProjectionExpression", "UpdateExpression"),
)


def attempts_of(prefix: str, operation: str, body: Body, tables: Definitions) -> list[Attempt]:
    """The attempts of one request. KeyError for a table that is not known."""
    if prefix == SQS:
        return [_of_queue(operation, body)]
    if prefix == STREAMS:
        return [Attempt(f"dynamodb:{operation}", body.get("StreamArn", ""))]
    return list(_of_dynamodb(operation, body, tables))


def table_arn(name: str, part: str = "") -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}{part}"


def stream_arn(name: str) -> str:
    return table_arn(name, "/stream/2026-01-01T00:00:00.000")


def queue_arn(name: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


def _of_queue(operation: str, body: Body) -> Attempt:
    action = operation.removesuffix("Batch")
    return Attempt(f"sqs:{action}", queue_arn(body["QueueUrl"].rpartition("/")[2]))


def _of_dynamodb(operation: str, body: Body, tables: Definitions) -> Iterator[Attempt]:
    if operation.startswith("Transact"):
        yield from _of_transaction(body["TransactItems"], tables)
    elif operation == "BatchGetItem":
        for name, asked in body["RequestItems"].items():
            keys = [_partition(key, tables[name]) for key in asked["Keys"]]
            yield _attempt(operation, name, keys, asked)
    elif operation == "BatchWriteItem":
        for name, asked in body["RequestItems"].items():
            items = [w["PutRequest"]["Item"] if "PutRequest" in w else w["DeleteRequest"]["Key"] for w in asked]
            yield _attempt(operation, name, [_partition(item, tables[name]) for item in items], {})
    elif operation in ("GetItem", "PutItem", "UpdateItem", "DeleteItem"):
        name = body["TableName"]
        yield _attempt(operation, name, [_partition(body.get("Key") or body["Item"], tables[name])], body)
    elif operation == "Query":
        yield _attempt(operation, body["TableName"], [_queried(body, tables)], body, _index(body))
    elif operation == "Scan":
        yield _attempt(operation, body["TableName"], [], body, _index(body))
    else:
        # An engine's ARNs are of an account of its own.
        name = body["TableName"] if "TableName" in body else body["ResourceArn"].rpartition("/")[2]
        yield Attempt(f"dynamodb:{operation}", table_arn(name))


def _of_transaction(actions: list[Body], tables: Definitions) -> Iterator[Attempt]:
    together: dict[tuple[str, str], list[Body]] = {}
    for action in actions:
        ((kind, asked),) = action.items()
        together.setdefault((_IN_TRANSACTION[kind], asked["TableName"]), []).append(asked)
    for (name, table), several in together.items():
        keys = [_partition(each.get("Key") or each["Item"], tables[table]) for each in several]
        yield _attempt(name, table, keys, {})


def _attempt(operation: str, table: str, keys: list[str], body: Body, part: str = "") -> Attempt:
    context: dict[str, tuple[str, ...]] = {}
    if keys:
        context["dynamodb:LeadingKeys"] = tuple(dict.fromkeys(keys))
    if operation in _SELECTING:
        context["dynamodb:Select"] = (_select(body),)
    if "ProjectionExpression" in body:
        context["dynamodb:Attributes"] = _attributes(body)
    return Attempt(f"dynamodb:{operation}", table_arn(table, part), context)


def _select(body: Body) -> str:
    default = "SPECIFIC_ATTRIBUTES" if "ProjectionExpression" in body else "ALL_ATTRIBUTES"
    return str(body.get("Select", default))


def _attributes(body: Body) -> tuple[str, ...]:
    """The top-level attributes that any of its expressions names, and those of its key."""
    names = body.get("ExpressionAttributeNames", {})
    text = " ".join(body.get(expression, "") for expression in _EXPRESSIONS)
    first = re.findall(r"(?<![.\w])#\w+", text)
    return tuple(dict.fromkeys((*body.get("Key", {}), *(names[placeholder] for placeholder in first))))


def _index(body: Body) -> str:
    return f"/index/{body['IndexName']}" if "IndexName" in body else ""


def _queried(body: Body, tables: Definitions) -> str:
    """The partition of a query: of the table, or of the index."""
    partition = tables[body["TableName"]].index_keys(body.get("IndexName"))[0]
    names, values = body["ExpressionAttributeNames"], body["ExpressionAttributeValues"]
    for name, value in re.findall(r"(#\w+) = (:\w+)", body["KeyConditionExpression"]):
        if names[name] == partition:
            return str(values[value]["S"])
    raise ValueError("a query without its partition")


def _partition(key: Body, table: TableDefinition) -> str:
    return str(key[table.key[0]]["S"])
