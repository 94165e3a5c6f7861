"""The operations of DynamoDB Streams: their bytes, and what the answers come to."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from singletable.errors import InvalidRequest
from singletable.flow import Response
from singletable.operations.stream import (
    DescribeStream,
    GetRecords,
    GetShardIterator,
    Records,
    Shard,
    pad_sequence_number,
    read_records,
)

STREAM = "arn:aws:dynamodb:eu-central-1:123456789012:table/app/stream/2026-11-20T00:00:00.000"
LONG = "49590338271490256608559692538361571095"


def body(operation: Any) -> Any:
    return json.loads(operation.request().body)


def ok(answer: Any) -> Response:
    return Response(200, json.dumps(answer).encode())


def refusal(code: str) -> Response:
    return Response(400, json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}).encode())


def test_a_stream_is_described_page_by_page() -> None:
    assert body(DescribeStream(STREAM)) == {"StreamArn": STREAM}
    assert body(DescribeStream(STREAM, "s1")) == {"StreamArn": STREAM, "ExclusiveStartShardId": "s1"}
    closed = {"StartingSequenceNumber": "1", "EndingSequenceNumber": "9"}
    shards = [{"ShardId": "s2", "ParentShardId": "s1", "SequenceNumberRange": closed}, {"ShardId": "s3"}]
    described = {"StreamArn": STREAM, "StreamStatus": "ENABLED", "Shards": shards, "LastEvaluatedShardId": "s3"}
    found, _ = DescribeStream(STREAM).answer(ok({"StreamDescription": described}))
    assert (found.shards, found.last_evaluated_shard_id) == ([Shard("s2", "s1"), Shard("s3")], "s3")


@pytest.mark.parametrize(
    ("operation", "kind", "number"),
    [
        (GetShardIterator(STREAM, "s1"), "TRIM_HORIZON", None),
        (GetShardIterator(STREAM, "s1", latest=True), "LATEST", None),
        (GetShardIterator(STREAM, "s1", pad_sequence_number("7")), "AFTER_SEQUENCE_NUMBER", "7".zfill(21)),
        (GetShardIterator(STREAM, "s1", pad_sequence_number(LONG)), "AFTER_SEQUENCE_NUMBER", LONG),
    ],
)
def test_an_iterator_points_somewhere(operation: GetShardIterator, kind: str, number: str | None) -> None:
    sent = body(operation)
    assert (sent["ShardIteratorType"], sent.get("SequenceNumber")) == (kind, number)
    assert operation.answer(ok({"ShardIterator": "i"}))[0] == "i"
    assert operation.answer(refusal("TrimmedDataAccessException"))[0] is None
    assert operation.answer(refusal("ResourceNotFoundException"))[0] is None
    with pytest.raises(InvalidRequest, match="ValidationException"):
        operation.answer(refusal("ValidationException"))


def test_records_come_in_order_or_say_why_not() -> None:
    operation = GetRecords(STREAM, "i", 10)
    assert body(operation) == {"ShardIterator": "i", "Limit": 10}
    assert operation.answer(refusal("ExpiredIteratorException"))[0] == Records(refused="expired")
    assert operation.answer(refusal("TrimmedDataAccessException"))[0] == Records(refused="trimmed")
    assert operation.answer(refusal("ResourceNotFoundException"))[0] == Records(refused="trimmed")
    assert operation.answer(ok({"Records": []}))[0].next_shard_iterator is None


@pytest.mark.parametrize(
    "author",
    [
        {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
        {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"},
    ],
    ids=["Lambda", "GetRecords"],
)
def test_a_record_reads_as_it_was_written(author: dict[str, str]) -> None:
    written = {
        "eventName": "MODIFY",
        "userIdentity": author,
        "dynamodb": {
            "Keys": {"pk": {"S": "a"}},
            "SequenceNumber": "7",
            "OldImage": {"pk": {"S": "a"}, "b": {"B": "AAE="}},
            "ApproximateCreationDateTime": 1.5,
        },
    }
    (record,) = read_records(json.dumps([{**written, "eventID": "1", "awsRegion": "x"}]).encode())
    assert (record.event, record.sequence, bytes(record.dynamodb.new_image)) == ("MODIFY", "7".zfill(40), b"")
    assert json.loads(msgspec.json.encode(record)) == written
    assert record.author is not None
    assert record.author.is_expiry


def test_a_record_of_another_author_is_no_expiry() -> None:
    written = {"eventName": "REMOVE", "userIdentity": {"Type": "Service", "PrincipalId": "other.amazonaws.com"}}
    (record,) = read_records(json.dumps([{**written, "dynamodb": {"Keys": {}, "SequenceNumber": "7"}}]).encode())
    assert record.author is not None
    assert not record.author.is_expiry


def test_padded_numbers_sort_as_numbers() -> None:
    numbers = [1, 9, 10, 99, 75000, int(LONG)]
    assert sorted(map(pad_sequence_number, map(str, numbers))) == [pad_sequence_number(str(n)) for n in numbers]
