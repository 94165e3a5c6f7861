"""Requests of DynamoDB against the documented limits that its model leaves out, one rule a function.

A rule takes a body and names each breach.

Source: the API reference of each operation, and the developer guide's "Quotas and constraints in Amazon DynamoDB".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.conformance.attribute_values import (
    LONGEST_HASH_KEY,
    LONGEST_RANGE_KEY,
    Typed,
    item_breaches,
    item_size,
    key_breaches,
    value_size,
)
from tests.conformance.expression_text import expression_breaches, names_in, updated

Body = dict[str, Any]
Rule = Callable[[Body], Iterator[str]]
RULES: dict[str, list[Rule]] = {}
"""By operation."""

LARGEST_TRANSACTION = 4 << 20
MOST_BATCH_WRITES = 25
MOST_BATCH_READS = 100
MOST_INDEXES = 20
MOST_LOCAL_INDEXES = 5
LOCAL_INDEXES: set[tuple[str, str]] = set()
"""Those of the tables that were created, by table and name: they alone are read consistently."""
MOST_PROJECTED = 100
_BETWEEN = re.compile(r"BETWEEN (:\w+) AND (:\w+)")
_SINGLE = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan")


def rule(*operations: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for operation in operations:
            RULES.setdefault(operation, []).append(function)
        return function

    return register


def breaches_of_limits(operation: str, body: Body) -> Iterator[str]:
    for function in RULES.get(operation, ()):
        yield from (f"{operation}: {breach}" for breach in function(body))


# --- one item ---------------------------------------------------------------------------------------------------------
@rule(*_SINGLE)
def expressions(body: Body) -> Iterator[str]:
    yield from expression_breaches(body)


@rule("PutItem")
def stored_items(body: Body) -> Iterator[str]:
    yield from item_breaches(body["Item"])


@rule("GetItem", "UpdateItem", "DeleteItem")
def keys(body: Body) -> Iterator[str]:
    yield from key_breaches(body["Key"], _range_key(body["Key"]))


@rule("UpdateItem")
def updated_paths(body: Body) -> Iterator[str]:
    if {path[0] for path in updated(body)} & set(body["Key"]):
        yield "the update changes an attribute of the item's key"


def _range_key(key: dict[str, Typed]) -> str | None:
    """The library writes the partition key first."""
    return list(key)[1] if len(key) > 1 else None


# --- queries and scans ------------------------------------------------------------------------------------------------
@rule("Query", "Scan")
def selections(body: Body) -> Iterator[str]:
    index = body.get("IndexName")
    if index and body.get("ConsistentRead") and (body["TableName"], index) not in LOCAL_INDEXES:
        yield "a consistent read of a global index"
    if body.get("ProjectionExpression") and body.get("Select", "SPECIFIC_ATTRIBUTES") != "SPECIFIC_ATTRIBUTES":
        yield "a projection beside another selection"
    if body.get("Select") == "ALL_PROJECTED_ATTRIBUTES" and not body.get("IndexName"):
        yield "projected attributes of a table"


@rule("Query")
def key_conditions(body: Body) -> Iterator[str]:
    if not body.get("KeyConditionExpression"):
        yield "a query without a key condition"
    own = names_in(body, "KeyConditionExpression")
    if names_in(body, "FilterExpression") & own:
        yield "the filter names an attribute of the key that is queried"
    if re.search(r"<>|\b(?:OR|NOT|IN|contains|attribute_\w+)\b", body.get("KeyConditionExpression", "")):
        yield "the key condition has an operator that it can't have"
    for low, high in _BETWEEN.findall(body.get("KeyConditionExpression", "")):
        yield from _range_breaches(body["ExpressionAttributeValues"][low], body["ExpressionAttributeValues"][high])


@rule("Query")
def bounds_of_keys(body: Body) -> Iterator[str]:
    """The partition key's value comes first, as the library writes it."""
    for at, name in enumerate(re.findall(r":\w+", body.get("KeyConditionExpression", ""))):
        size, most = value_size(body["ExpressionAttributeValues"][name]), LONGEST_RANGE_KEY if at else LONGEST_HASH_KEY
        if not 1 <= size <= most:
            yield f"a bound of a key has {size} bytes, not 1 to {most}"


def _range_breaches(low: Typed, high: Typed) -> Iterator[str]:
    if set(low) != set(high):
        yield "a range between values of two types"
    elif "S" in low and low["S"].encode() > high["S"].encode():
        yield "a range whose end is below its start"


@rule("Scan")
def segments(body: Body) -> Iterator[str]:
    if ("Segment" in body) != ("TotalSegments" in body):
        yield "a segment without their number"
    elif body.get("Segment", 0) >= body.get("TotalSegments", 1):
        yield "a segment that is beyond the last"


@rule("Query", "Scan")
def start_keys(body: Body) -> Iterator[str]:
    start = body.get("ExclusiveStartKey")
    if start is not None and not start:
        yield "an empty start key"


# --- several items ----------------------------------------------------------------------------------------------------
def _same(item: Body) -> str:
    return json.dumps(item, sort_keys=True)


@rule("TransactWriteItems")
def written_together(body: Body) -> Iterator[str]:
    actions = [next(iter(action.items())) for action in body["TransactItems"] if len(action) == 1]
    if len(actions) < len(body["TransactItems"]):
        yield "an action that is not one"
    for kind, action in actions:
        yield from _action_breaches(kind, action)
    targets = [_target(action) for _, action in actions if "Key" in action]
    if len(set(targets)) < len(targets):
        yield "two actions on one item"
    if sum(item_size(action["Item"]) for kind, action in actions if kind == "Put") > LARGEST_TRANSACTION:
        yield "more than 4 MB"


def _action_breaches(kind: str, action: Body) -> Iterator[str]:
    if kind == "ConditionCheck" and not action.get("ConditionExpression"):
        yield "a check without a condition"
    if kind == "Update" and not action.get("UpdateExpression"):
        yield "an update without an expression"
    operation = {"ConditionCheck": "DeleteItem"}.get(kind, f"{kind}Item")
    yield from breaches_of_limits(operation, action)


@rule("TransactGetItems")
def read_together(body: Body) -> Iterator[str]:
    reads = [action["Get"] for action in body["TransactItems"]]
    if len({_target(read) for read in reads}) < len(reads):
        yield "two reads of one item"
    for read in reads:
        yield from breaches_of_limits("GetItem", read)


def _target(action: Body) -> tuple[str, str]:
    return action["TableName"], _same(action["Key"])


@rule("BatchGetItem")
def read_in_batch(body: Body) -> Iterator[str]:
    count = sum(len(read["Keys"]) for read in body["RequestItems"].values())
    if not 1 <= count <= MOST_BATCH_READS:
        yield f"{count} keys, not 1 to {MOST_BATCH_READS}"
    for read in body["RequestItems"].values():
        yield from expression_breaches(read)
        if len({_same(key) for key in read["Keys"]}) < len(read["Keys"]):
            yield "a key twice"
        for key in read["Keys"]:
            yield from key_breaches(key, _range_key(key))


@rule("BatchWriteItem")
def written_in_batch(body: Body) -> Iterator[str]:
    writes = [write for each in body["RequestItems"].values() for write in each]
    if not 1 <= len(writes) <= MOST_BATCH_WRITES:
        yield f"{len(writes)} writes, not 1 to {MOST_BATCH_WRITES}"
    deleted = [write["DeleteRequest"]["Key"] for write in writes if "DeleteRequest" in write]
    put = [write["PutRequest"]["Item"] for write in writes if "PutRequest" in write]
    for key in deleted:
        yield from key_breaches(key, _range_key(key))
    for item in put:
        yield from item_breaches(item)
    if len({_same(each) for each in [*deleted, *put]}) < len(writes):
        yield "the same write twice"


# --- tables -----------------------------------------------------------------------------------------------------------
@rule("CreateTable")
def schemas(body: Body) -> Iterator[str]:
    local = body.get("LocalSecondaryIndexes", [])
    LOCAL_INDEXES.update((body["TableName"], each["IndexName"]) for each in local)
    indexes = [*body.get("GlobalSecondaryIndexes", []), *local]
    defined = {each["AttributeName"] for each in body["AttributeDefinitions"]}
    used = {each["AttributeName"] for schema in (body, *indexes) for each in schema["KeySchema"]}
    if defined != used:
        yield f"attributes are defined and not used, or used and not defined: {', '.join(sorted(defined ^ used))}"
    if len(indexes) - len(local) > MOST_INDEXES or len(local) > MOST_LOCAL_INDEXES:
        yield f"more than {MOST_INDEXES} indexes, or {MOST_LOCAL_INDEXES} local ones"
    if any(each["KeySchema"][0] != body["KeySchema"][0] or "ProvisionedThroughput" in each for each in local):
        yield "a local index with a partition key or a throughput of its own"
    if [] in (body.get("GlobalSecondaryIndexes"), body.get("LocalSecondaryIndexes")):
        yield "an empty list of indexes"
    projected = [index["Projection"].get("NonKeyAttributes", []) for index in indexes]
    if sum(map(len, projected)) > MOST_PROJECTED:
        yield f"more than {MOST_PROJECTED} projected attributes"
    for schema in (body, *indexes):
        kinds = [each["KeyType"] for each in schema["KeySchema"]]
        most = 4 if schema in body.get("GlobalSecondaryIndexes", []) else 1
        hashes, ranges = kinds.count("HASH"), kinds.count("RANGE")
        if kinds != ["HASH"] * hashes + ["RANGE"] * ranges or not 1 <= hashes <= most or ranges > most:
            yield f"a key schema of {', '.join(kinds)}"


@rule("UpdateTable")
def changed_indexes(body: Body) -> Iterator[str]:
    changes = body.get("GlobalSecondaryIndexUpdates", [])
    if sum(1 for change in changes if "Create" in change or "Delete" in change) > 1:
        yield "more than one index is created or deleted"
    defined = {each["AttributeName"] for each in body.get("AttributeDefinitions", [])}
    for change in changes:
        schema = change.get("Create", {}).get("KeySchema", [])
        if {each["AttributeName"] for each in schema} - defined:
            yield "a new index's key is not defined"
