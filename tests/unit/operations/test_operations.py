"""An operation is a value: the same value gives the same bytes, and its answer is read from bytes alone."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from singletable import ConditionFailed, InvalidRequest, InvalidValue
from singletable.errors import NotConfigured, TooLarge
from singletable.flow import Response
from singletable.operations import (
    BatchWriteItem,
    DeleteItem,
    GetItem,
    PutItem,
    Query,
    RawCondition,
    Scan,
    Selection,
    TransactWriteItems,
    UpdateItem,
    batch_write,
    place_of,
)
from singletable.operations.answers import RefusedWrite
from singletable.operations.transact import ReasonedCancellation
from tests.support.raw import RawReader

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
READER = RawReader()
OPERATIONS: list[Any] = [
    GetItem("t", KEY, READER, True),
    PutItem("t", KEY, RawCondition("attribute_not_exists(#0)", {"#0": "pk"})),
    UpdateItem("t", KEY, "SET #0 = :0", RawCondition(None, {"#0": "x"}, {":0": {"S": "y"}}), READER),
    DeleteItem("t", KEY, RawCondition(), READER),
    Query("t", "#0 = :0", Selection(names={"#0": "pk"}, values={":0": {"S": "a"}}, limit=3, after=KEY), READER, False),
    Scan("t", Selection(limit=5), READER, 1, 3),
    batch_write("t", [KEY], [KEY]),
    TransactWriteItems([PutItem("t", KEY)], "token"),
]


def answer(operation: Any, status: int = 200, **body: object) -> Any:
    return operation.answer(Response(status, msgspec.json.encode(body), False, "id"))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: type(o).__name__)
def test_a_request_is_a_function_of_its_value(operation: Any) -> None:
    one, other = operation.request(), operation.request()
    assert one == other
    assert one.operation == type(operation).__name__
    body = msgspec.json.decode(one.body)
    assert body["ReturnConsumedCapacity"] == "TOTAL"


def test_what_may_be_repeated() -> None:
    repeatable = {type(o).__name__: o.request().repeatable for o in OPERATIONS}
    assert not repeatable["UpdateItem"]
    assert repeatable["PutItem"]
    assert repeatable["TransactWriteItems"]
    assert OPERATIONS[-1].request().tokened


def test_an_answer_and_its_cost() -> None:
    item, consumed = answer(OPERATIONS[0], Item=KEY, ConsumedCapacity={"TableName": "t", "CapacityUnits": 1.5})
    assert (item, consumed.read_units) == (KEY, 1.5)
    assert answer(OPERATIONS[0])[0] is None
    found, consumed = answer(
        OPERATIONS[4], Items=[KEY], Count=1, ScannedCount=7, LastEvaluatedKey=KEY, ConsumedCapacity={"CapacityUnits": 2}
    )
    assert (found.items, found.after, found.looked_at, consumed.read_units) == ([KEY], KEY, 7, 2)


def test_unprocessed_writes_are_given_back() -> None:
    other = {"pk": {"S": "a"}, "sk": {"S": "other"}}
    rest, consumed = answer(
        OPERATIONS[6],
        UnprocessedItems={"t": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": other}}]},
        ConsumedCapacity=[{"CapacityUnits": 1}, {"CapacityUnits": 2}],
    )
    assert ([*map(place_of, rest)], consumed.write_units) == ([KEY, other], 3)
    body = json.loads(BatchWriteItem("t", rest).request().body)
    assert body["RequestItems"] == {"t": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": other}}]}


def test_a_refusal_carries_the_stored_item() -> None:
    fault = {"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "no", "Item": KEY}
    with pytest.raises(RefusedWrite) as caught:
        answer(OPERATIONS[1], 400, **fault)
    assert caught.value.stored == KEY
    assert isinstance(caught.value, ConditionFailed)


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_a_full_partition_is_too_large(number: int) -> None:
    """Whatever was sent: the limit is that of a table with local indexes."""
    with pytest.raises(TooLarge, match="with their entries in local indexes, would be over 10 GB"):
        answer(OPERATIONS[number], 400, __type="x#ItemCollectionSizeLimitExceededException", message="of 10 GB")


def test_a_cancelled_transaction_has_its_reasons_in_order() -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "no", "Item": KEY}]
    with pytest.raises(ReasonedCancellation) as caught:
        answer(OPERATIONS[7], 400, __type="x#TransactionCanceledException", CancellationReasons=reasons)
    assert [(r.code, r.stored) for r in caught.value.reasons] == [("None", None), ("ConditionalCheckFailed", KEY)]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: type(o).__name__)
def test_a_missing_table_says_how_to_create_it(operation: Any) -> None:
    with pytest.raises(NotConfigured, match=r"create_table"):
        answer(operation, 400, __type="x#ResourceNotFoundException", message="Requested resource not found")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: type(o).__name__)
def test_a_validation_error_does_not_quote_values(operation: Any) -> None:
    message = "1 validation error: Value 'secret' at \"secret\" failed; Value: secret"
    with pytest.raises(InvalidRequest) as caught:
        answer(operation, 400, __type="x#ValidationException", message=message)
    assert "secret" not in str(caught.value)


def test_a_lone_surrogate_is_refused_before_sending() -> None:
    with pytest.raises(InvalidValue, match="surrogate"):
        PutItem("t", {**KEY, "x": {"S": "\ud800"}}).request()
