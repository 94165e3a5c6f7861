"""The rules that requests are held to: each finds what it is for, in a request that is otherwise sound."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import pytest

from tests.conformance import attribute_values, dynamodb_rules, expression_text, service_models, sqs_rules
from tests.conformance.requests import breaches, form_of

DYNAMODB, SQS = "DynamoDB_20120810", "AmazonSQS"
FIFO = "https://sqs.eu-central-1.amazonaws.com/1/work.fifo"
Change = Callable[[dict[str, Any]], object]

KEY = {"pk": {"S": "user#1"}, "sk": {"S": "user"}}
GUARDED: dict[str, Any] = {
    "ConditionExpression": "(#0 = :0 AND attribute_not_exists(#1))",
    "ExpressionAttributeNames": {"#0": "_type", "#1": "gone"},
    "ExpressionAttributeValues": {":0": {"S": "user"}},
}
SOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "GetItem": (
        DYNAMODB,
        {
            "TableName": "app",
            "Key": KEY,
            "ProjectionExpression": "#0.#1, #2[0]",
            "ExpressionAttributeNames": {"#0": "a", "#1": "b", "#2": "c"},
        },
    ),
    "PutItem": (
        DYNAMODB,
        {
            "TableName": "app",
            "Item": {**KEY, "list": {"L": [{"N": "1"}, {"M": {"a": {"B": "AAE="}}}]}, "set": {"NS": ["1", "2"]}},
            **GUARDED,
        },
    ),
    "UpdateItem": (
        DYNAMODB,
        {
            "TableName": "app",
            "Key": KEY,
            "UpdateExpression": "SET #a = if_not_exists(#a, :a) + :b, #b.#c = :a REMOVE #b.#a",
            "ExpressionAttributeNames": {"#a": "a", "#b": "b", "#c": "c"},
            "ExpressionAttributeValues": {":a": {"N": "1"}, ":b": {"N": "-2.5"}},
        },
    ),
    "Query": (
        DYNAMODB,
        {
            "TableName": "app",
            "IndexName": "gsi1",
            "Limit": 10,
            "KeyConditionExpression": "#0 = :0 AND #1 BETWEEN :1 AND :2",
            "FilterExpression": "#2 IN (:0, :1)",
            "ExpressionAttributeNames": {"#0": "gsi1pk", "#1": "gsi1sk", "#2": "_type"},
            "ExpressionAttributeValues": {":0": {"S": "a"}, ":1": {"S": "a"}, ":2": {"S": "b"}},
        },
    ),
    "Scan": (DYNAMODB, {"TableName": "app", "Segment": 1, "TotalSegments": 2, "ConsistentRead": True}),
    "TransactWriteItems": (
        DYNAMODB,
        {
            "ClientRequestToken": "t" * 22,
            "TransactItems": [
                {"Put": {"TableName": "app", "Item": KEY}},
                {"ConditionCheck": {"TableName": "app", "Key": {"pk": {"S": "2"}, "sk": {"S": "s"}}, **GUARDED}},
                {
                    "Update": {
                        "TableName": "app",
                        "Key": {"pk": {"S": "3"}, "sk": {"S": "s"}},
                        "UpdateExpression": "REMOVE #0",
                        "ExpressionAttributeNames": {"#0": "a"},
                    }
                },
            ],
        },
    ),
    "TransactGetItems": (DYNAMODB, {"TransactItems": [{"Get": {"TableName": "app", "Key": KEY}}]}),
    "BatchGetItem": (DYNAMODB, {"RequestItems": {"app": {"Keys": [KEY]}}}),
    "BatchWriteItem": (
        DYNAMODB,
        {
            "RequestItems": {
                "app": [
                    {"PutRequest": {"Item": KEY}},
                    {"DeleteRequest": {"Key": {"pk": {"S": "2"}, "sk": {"S": "s"}}}},
                ]
            }
        },
    ),
    "CreateTable": (
        DYNAMODB,
        {
            "TableName": "app",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk", "gsi1pk")],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "gsi1",
                    "KeySchema": [{"AttributeName": "gsi1pk", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]},
                }
            ],
        },
    ),
    "UpdateTable": (
        DYNAMODB,
        {
            "TableName": "app",
            "AttributeDefinitions": [{"AttributeName": "gsi2pk", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [
                {
                    "Create": {
                        "IndexName": "gsi2",
                        "KeySchema": [{"AttributeName": "gsi2pk", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                }
            ],
        },
    ),
    "SendMessageBatch": (
        SQS,
        {
            "QueueUrl": FIFO,
            "Entries": [{"Id": "1", "MessageBody": "b", "MessageGroupId": "g", "MessageDeduplicationId": "d"}],
        },
    ),
    "SendMessage": (SQS, {"QueueUrl": FIFO[:-5], "MessageBody": "b", "DelaySeconds": 900}),
}


def deep(levels: int) -> dict[str, Any]:
    return {"L": [deep(levels - 1)]} if levels else {"N": "1"}


def index(name: str) -> dict[str, Any]:
    made: dict[str, Any] = copy.deepcopy(SOUND["CreateTable"][1]["GlobalSecondaryIndexes"][0])
    return {**made, "IndexName": name}


def key(text: str) -> dict[str, Any]:
    return {"pk": {"S": text}, "sk": {"S": "s"}}


def put(value: dict[str, Any], name: str = "value") -> Change:
    return lambda b: b["Item"].update({name: value})


def entry(**more: Any) -> Change:
    return lambda b: b["Entries"][0].update(more)


def action(number: int, kind: str, **more: Any) -> Change:
    return lambda b: b["TransactItems"][number][kind].update(more)


BACKWARDS = {":1": {"S": "\U00010000"}, ":2": {"S": "\uffff"}}
"""In the order of UTF-8, which is DynamoDB's; UTF-16 has them the other way round."""
WIDE = {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": [*"abcdefghijklmnopqrst"]}}
PLANTED: list[tuple[str, Change, str]] = [
    # the services' models
    ("GetItem", lambda b: b.update(TableNames="app"), "unknown member TableNames"),
    ("GetItem", lambda b: b.pop("Key"), "Missing required parameter"),
    ("GetItem", lambda b: b.update(ReturnConsumedCapacity="ALL"), "is none of INDEXES, TOTAL, NONE"),
    ("Query", lambda b: b.update(IndexName="a b"), "does not match"),
    ("TransactWriteItems", lambda b: b.update(ClientRequestToken="t" * 37), "longer than 36"),
    ("SendMessageBatch", lambda b: b["Entries"][0].update(DelaySeconds="1"), "Invalid type"),
    ("TransactGetItems", lambda b: b.update(TransactItems=b["TransactItems"] * 101), "more than 100 elements"),
    ("Scan", lambda b: b.update(TotalSegments=1_000_001), "more than 1000000"),
    ("PutItem", put({"B": "?"}), "not base64"),
    # attribute values
    ("PutItem", put({}), "0 types"),
    ("PutItem", put(deep(32)), "nested deeper"),
    ("PutItem", put({"SS": []}), "an SS is empty"),
    ("PutItem", put({"SS": ["a", "a"]}), "a member twice"),
    ("PutItem", put({"NS": ["1", "1.0"]}), "a member twice"),
    ("PutItem", put({"N": "NaN"}), "a number is none"),
    ("PutItem", put({"N": "1" * 39}), "more than 38 digits"),
    ("PutItem", put({"N": "1E126"}), "out of range"),
    ("PutItem", put({"L": [{"NS": ["1E-131"]}]}), "out of range"),
    ("PutItem", put({"S": "a"}, ""), "name is empty or too long"),
    ("PutItem", put({"S": "é" * 204_800}), "more than 400 KB"),
    ("GetItem", lambda b: b.update(Key={"k" * 256: {"S": "a"}}), "a key attribute's name is too long"),
    ("GetItem", lambda b: b.update(Key={**KEY, "sk": {"BOOL": True}}), "a key attribute has the type BOOL"),
    ("GetItem", lambda b: b.update(Key={**KEY, "sk": {"S": "é" * 513}}), "a key attribute has 1026 bytes"),
    ("GetItem", lambda b: b.update(Key={**KEY, "pk": {"B": ""}}), "a key attribute has 0 bytes"),
    # expressions
    ("UpdateItem", lambda b: b.update(ConditionExpression=""), "ConditionExpression is empty"),
    ("PutItem", lambda b: b.update(ConditionExpression="#0 = :0 OR " * 400 + "#1 = :0"), "longer than 4096"),
    ("PutItem", lambda b: b.update(ConditionExpression="#0=:0 OR " * 160 + "#1 = :0"), "more than 300 operators"),
    ("Query", lambda b: b.update(FilterExpression=f"#2 IN ({', '.join([':0'] * 101)})"), "IN of more than 100"),
    ("UpdateItem", lambda b: b.update(UpdateExpression=b["UpdateExpression"] + " SET #c = :a"), "a section twice"),
    ("PutItem", lambda b: b.update(ConditionExpression="#0 = :0 AND name = #1"), "names name without a placeholder"),
    ("PutItem", lambda b: b.update(ExpressionAttributeValues={}), "the table of : is empty"),
    ("PutItem", lambda b: b["ExpressionAttributeNames"].pop("#1"), "of # is not in its table"),
    ("PutItem", lambda b: b["ExpressionAttributeNames"].update({"#9": "a"}), "of # is not used"),
    ("PutItem", lambda b: b["ExpressionAttributeNames"].update({"#" + "9" * 255: "a"}), "longer than 255"),
    ("PutItem", lambda b: b["ExpressionAttributeNames"].update({"#1": ""}), "an attribute's name is empty"),
    ("PutItem", lambda b: b["ExpressionAttributeValues"].update({":0": {"N": "x"}}), "a number is none"),
    ("GetItem", lambda b: b.update(ProjectionExpression="#0, #0.#1, #2"), "two paths overlap"),
    ("UpdateItem", lambda b: b["ExpressionAttributeNames"].update({"#c": "a"}), "two paths overlap"),
    # one item
    ("UpdateItem", lambda b: b["ExpressionAttributeNames"].update({"#a": "pk"}), "an attribute of the item's key"),
    # queries and scans
    ("Query", lambda b: b.update(Limit=0), "valid min value: 1"),
    ("Query", lambda b: b.update(ConsistentRead=True), "a consistent read of a global index"),
    ("Query", lambda b: b.update(ProjectionExpression="#2", Select="COUNT"), "beside another selection"),
    ("Scan", lambda b: b.update(Select="ALL_PROJECTED_ATTRIBUTES"), "projected attributes of a table"),
    ("Query", lambda b: b.pop("KeyConditionExpression"), "without a key condition"),
    ("Query", lambda b: b.update(FilterExpression="#1 = :0 AND #2 = :1"), "an attribute of the key"),
    ("Query", lambda b: b.update(KeyConditionExpression="#0 = :0 OR #1 BETWEEN :1 AND :2"), "an operator that it"),
    ("Query", lambda b: b["ExpressionAttributeValues"].update({":2": {"N": "1"}}), "values of two types"),
    (
        "Query",
        lambda b: b["ExpressionAttributeValues"].update(BACKWARDS),
        "below",
    ),
    ("Query", lambda b: b["ExpressionAttributeValues"].update({":2": {"S": "b" * 1025}}), "a bound of a key has 1025"),
    ("Query", lambda b: b["ExpressionAttributeValues"].update({":1": {"S": ""}}), "a bound of a key has 0"),
    ("Scan", lambda b: b.pop("TotalSegments"), "a segment without their number"),
    ("Scan", lambda b: b.update(Segment=2), "beyond the last"),
    ("Scan", lambda b: b.update(ExclusiveStartKey={}), "an empty start key"),
    # several items
    ("TransactWriteItems", lambda b: b["TransactItems"][0].update(Delete={"TableName": "a", "Key": KEY}), "not one"),
    ("TransactWriteItems", lambda b: b.update(ClientRequestToken=""), "valid min length: 1"),
    ("TransactWriteItems", action(1, "ConditionCheck", ConditionExpression=""), "a check without a condition"),
    ("TransactWriteItems", action(2, "Update", UpdateExpression=""), "an update without an expression"),
    ("TransactWriteItems", action(2, "Update", Key=key("2")), "two actions on one item"),
    (
        "TransactWriteItems",
        lambda b: b.update(
            TransactItems=[
                {"Put": {"TableName": "app", "Item": {**key(str(n)), "a": {"S": "a" * 400_000}}}} for n in range(11)
            ]
        ),
        "more than 4 MB",
    ),
    ("TransactGetItems", lambda b: b.update(TransactItems=[]), "valid min length: 1"),
    ("TransactGetItems", lambda b: b.update(TransactItems=b["TransactItems"] * 2), "two reads of one item"),
    ("BatchGetItem", lambda b: b["RequestItems"]["app"].update(Keys=[key(str(n)) for n in range(101)]), "100"),
    (
        "BatchGetItem",
        lambda b: b["RequestItems"].update({t: {"Keys": [key(str(n)) for n in range(60)]} for t in ("one", "two")}),
        "121 keys",
    ),
    ("BatchGetItem", lambda b: b["RequestItems"]["app"].update(Keys=[KEY, KEY]), "a key twice"),
    (
        "BatchWriteItem",
        lambda b: b["RequestItems"].update(
            {t: [{"PutRequest": {"Item": key(str(n))}} for n in range(13)] for t in ("one", "two")}
        ),
        "28 writes",
    ),
    ("BatchWriteItem", lambda b: b["RequestItems"]["app"].append(b["RequestItems"]["app"][0]), "same write twice"),
    # tables
    ("CreateTable", lambda b: b["AttributeDefinitions"].pop(), "used and not defined: gsi1pk"),
    ("CreateTable", lambda b: b.update(GlobalSecondaryIndexes=[index(f"g{n:02}") for n in range(21)]), "20 indexes"),
    (
        "CreateTable",
        lambda b: b.update(GlobalSecondaryIndexes=[], AttributeDefinitions=b["AttributeDefinitions"][:2]),
        "an empty list of indexes",
    ),
    (
        "CreateTable",
        lambda b: b["GlobalSecondaryIndexes"].extend({**index(f"g{n:02}"), **WIDE} for n in range(5)),
        "more than 100 projected",
    ),
    ("CreateTable", lambda b: b.update(LocalSecondaryIndexes=[index("g01")]), "a local index with a partition key"),
    ("CreateTable", lambda b: b["KeySchema"].reverse(), "a key schema of RANGE, HASH"),
    (
        "UpdateTable",
        lambda b: b["GlobalSecondaryIndexUpdates"].append({"Delete": {"IndexName": "gsi1"}}),
        "more than one index",
    ),
    ("UpdateTable", lambda b: b["AttributeDefinitions"].clear(), "a new index's key is not defined"),
    # SQS
    ("SendMessageBatch", lambda b: b.update(Entries=[]), "0 entries"),
    ("SendMessageBatch", lambda b: b.update(Entries=b["Entries"] * 2), "an id twice"),
    ("SendMessageBatch", entry(Id="a/b"), "an id of other characters"),
    ("SendMessageBatch", entry(MessageGroupId="a b"), "MessageGroupId has other characters"),
    ("SendMessageBatch", entry(MessageBody=""), "an empty message"),
    ("SendMessageBatch", entry(MessageBody="\0"), "a character that a message can't have"),
    ("SendMessageBatch", entry(DelaySeconds=901), "a delay of more than 900 s"),
    ("SendMessageBatch", entry(DelaySeconds=1), "delay on a FIFO queue"),
    ("SendMessageBatch", lambda b: b["Entries"][0].pop("MessageGroupId"), "without a group"),
    ("SendMessage", lambda b: b.update(MessageBody="b" * 262_145), "more than 256 KB"),
]


@pytest.mark.parametrize("operation", SOUND)
def test_a_sound_request_has_no_breach(operation: str) -> None:
    prefix, body = SOUND[operation]
    assert breaches(prefix, operation, json.dumps(body).encode()) == []


def found_in(operation: str, change: Change) -> list[str]:
    prefix, body = SOUND[operation]
    changed = copy.deepcopy(body)
    change(changed)
    return breaches(prefix, operation, json.dumps(changed).encode())


@pytest.mark.parametrize(("operation", "change", "wanted"), PLANTED, ids=[f"{o}-{w}" for o, _, w in PLANTED])
def test_a_planted_breach_is_found(operation: str, change: Change, wanted: str) -> None:
    assert any(wanted in breach for breach in found_in(operation, change)), found_in(operation, change)


def test_an_unknown_operation_and_a_huge_request() -> None:
    assert breaches(DYNAMODB, "GetItems", b"{}") == ["GetItems is not an operation of dynamodb"]
    assert breaches(DYNAMODB, "GetItem", b" " * ((16 << 20) + 1)) == ["GetItem: a request of 16,777,217 bytes"]


MODULES = (attribute_values, dynamodb_rules, expression_text, service_models, sqs_rules)


def breach_lines(module: ModuleType) -> dict[int, str]:
    """The lines that name a breach, each with what it yields."""
    source = inspect.getsource(module)
    yields = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Yield) and node.value is not None]
    return {
        node.lineno: ast.unparse(node.value) for node in yields if isinstance(node.value, ast.Constant | ast.JoinedStr)
    }


@contextmanager
def tracing(reached: set[tuple[str, int]]) -> Generator[None]:
    files = {module.__file__ for module in MODULES}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_every_breach_that_a_rule_can_name_is_planted() -> None:
    reached: set[tuple[str, int]] = set()
    with tracing(reached):
        for operation, change, _ in PLANTED:
            found_in(operation, change)
        test_an_unknown_operation_and_a_huge_request()
    missing = [
        f"{module.__name__}: {text}"
        for module in MODULES
        for line, text in breach_lines(module).items()
        if (module.__file__, line) not in reached
    ]
    assert missing == []


def test_the_form_of_a_request_leaves_its_data_out() -> None:
    one, other = ({"Key": key(text), "ClientRequestToken": text, "Limit": 1} for text in ("a", "b"))
    assert form_of(one) == form_of(other)
    assert form_of(one) != form_of({**one, "Limit": 2})
    assert form_of({**one, "TableName": "shop"}) == form_of({**one, "TableName": "shop-2"})
    for wrong in ("a shop", "s", "s" * 256, 1):
        assert form_of({**one, "TableName": wrong}) != form_of({**one, "TableName": "shop"})
    assert form_of({"Keys": [key("a")]}) != form_of({"Keys": [key("a"), key("b")]})
