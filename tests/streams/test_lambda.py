"""AWS Lambda: events in the shape that AWS publishes, partial batch failures, and the worker's very handlers."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from singletable import Database, attr
from singletable.errors import InvalidRequest
from singletable.flow import DYNAMODB_STREAMS
from singletable.operations import TableCall
from singletable.streams import Changes, ChangeWorker, Inserted, Modified
from tests.streams.models import Note, Seen, Ticket, noted
from tests.support.engines import fresh
from tests.support.shells import Shell
from tests.support.workers import change_worker

# As in "Using AWS Lambda with Amazon DynamoDB", the test event; its attributes are those of a note and a ticket.
EVENT: dict[str, Any] = {
    "Records": [
        {
            "eventID": "1",
            "eventVersion": "1.0",
            "dynamodb": {
                "ApproximateCreationDateTime": 1479499740.5,
                "Keys": {"pk": {"S": "note#n1"}, "sk": {"S": "note"}},
                "NewImage": {
                    "pk": {"S": "note#n1"},
                    "sk": {"S": "note"},
                    "_type": {"S": "note"},
                    "_v": {"N": "1"},
                    "id": {"S": "n1"},
                    "text": {"S": "New item!"},
                    "count": {"N": "101"},
                },
                "StreamViewType": "NEW_AND_OLD_IMAGES",
                "SequenceNumber": "111",
                "SizeBytes": 26,
            },
            "awsRegion": "us-west-2",
            "eventName": "INSERT",
            "eventSourceARN": "arn:aws:dynamodb:us-west-2:111122223333:table/noted/stream/2015-06-27T00:48:05.899",
            "eventSource": "aws:dynamodb",
        },
        {
            "eventID": "2",
            "eventVersion": "1.0",
            "dynamodb": {
                "ApproximateCreationDateTime": 1479499741.0,
                "OldImage": {
                    "_type": {"S": "ticket"},
                    "_v": {"N": "1"},
                    "id": {"S": "t1"},
                    "_ttl": {"N": "1479499800"},
                },
                "Keys": {"pk": {"S": "ticket#t1"}, "sk": {"S": "ticket"}},
                "SequenceNumber": "333",
                "SizeBytes": 38,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "awsRegion": "us-west-2",
            "eventName": "REMOVE",
            "eventSourceARN": "arn:aws:dynamodb:us-west-2:111122223333:table/noted/stream/2015-06-27T00:48:05.899",
            "eventSource": "aws:dynamodb",
            "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
        },
    ]
}


@pytest.fixture
def changes() -> Changes:
    return Changes(noted)


def test_an_event_of_aws_reaches_its_handlers(engine: Database, changes: Changes) -> None:
    seen = Seen()
    changes.on(Note).inserted(seen)
    changes.on(Ticket).removed(seen)
    changes.on(Ticket).expired(seen)
    answer = ChangeWorker(engine, changes).lambda_handler()(EVENT, None)
    assert answer == {"batchItemFailures": []}
    assert seen.told == ["Inserted note n1", "Expired ticket t1"]  # the last by DynamoDB's TTL
    assert seen.changes[0].new.count == 101
    assert seen.changes[0].time.timestamp() == 1479499740.5


@pytest.mark.parametrize(("ends", "told"), [("1479499741", "Expired"), ("1479499742", "Removed")])
def test_an_item_that_somebody_deletes_at_its_time_has_expired(
    engine: Database, changes: Changes, ends: str, told: str
) -> None:
    seen = Seen()
    changes.on(Ticket).removed(seen)
    changes.on(Ticket).expired(seen)
    event = json.loads(json.dumps(EVENT))
    deletion = event["Records"][1]
    del deletion["userIdentity"]
    deletion["dynamodb"]["OldImage"]["_ttl"]["N"] = ends
    ChangeWorker(engine, changes).lambda_handler()(event, None)
    assert seen.told == [f"{told} ticket t1"]


def test_the_first_failure_ends_the_batch(engine: Database, changes: Changes, caplog: pytest.LogCaptureFixture) -> None:
    seen = Seen()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        raise ValueError("not today")

    changes.on(Ticket).expired(seen)
    answer = ChangeWorker(engine, changes).lambda_handler()(EVENT, None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "111"}]}
    assert seen.changes == []
    assert re.search(r"note#INSERT \([0-9a-f]{16}\) failed with ValueError", caplog.text)


@pytest.mark.parametrize("event", [{}, {"Records": [{}]}, {"Records": [{"eventName": "INSERT"}]}, {"Records": 1}])
def test_another_services_event_is_refused(engine: Database, changes: Changes, event: Any) -> None:
    with pytest.raises(InvalidRequest, match="not come from DynamoDB Streams"):
        ChangeWorker(engine, changes).lambda_handler()(event, None)


async def test_an_awaiting_database_has_an_async_handler(kind: str, shell: Shell, changes: Changes) -> None:
    seen = Seen()
    changes.on(Note).inserted(seen.later if kind == "awaiting" else seen)
    assert await change_worker(shell, changes).lambda_handler()(EVENT, None) == {"batchItemFailures": []}
    assert seen.told == ["Inserted note n1"]


# --- the same handlers, under both ------------------------------------------------------------------------------------
def by_worker(changes: Changes, db: Database) -> None:
    ChangeWorker(db, changes).drain()


def by_lambda(changes: Changes, db: Database) -> None:
    """The engine's own records, as Lambda's poller would hand them over: in batches, as JSON."""
    source = db.port.to(DYNAMODB_STREAMS)

    def call(operation: str, **body: Any) -> dict[str, Any]:
        return db.run(source.send(TableCall(operation, body))) or {}

    description = db.describe_table(noted)
    assert description is not None
    stream = description.raw["LatestStreamArn"]
    (shard,) = call("DescribeStream", StreamArn=stream)["StreamDescription"]["Shards"]
    place = {"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    records = call("GetRecords", ShardIterator=call("GetShardIterator", **place)["ShardIterator"])["Records"]
    handler = ChangeWorker(db, changes).lambda_handler()
    for first in range(0, len(records), 3):
        event = json.loads(json.dumps({"Records": records[first : first + 3]}))
        assert handler(event, None) == {"batchItemFailures": []}


@pytest.mark.parametrize("handle", [by_worker, by_lambda])
def test_every_handler_runs_the_same_under_both(handle: Callable[[Changes, Database], None]) -> None:
    changes, told = Changes(noted), list[str]()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        if change.new.id != "total":
            told.append(f"+ {change.new.text}")
            db.upsert(Note(id="total"), attr(Note.count).add(change.new.count))

    @changes.on(Note).modified(Note.text)
    def renamed(change: Modified[Note]) -> None:
        told.append(f"{change.old.text} -> {change.new.text}")

    @changes.on(Note).removed
    def removed(change: Any) -> None:
        told.append(f"- {change.old.text}")

    with fresh() as db:
        for number in range(4):
            db.create(Note(id=f"n{number}", text=f"t{number}", count=10**number))
        db.update(Note.by_id("n1"), attr(Note.text).set("other"))
        db.update(Note.by_id("n1"), attr(Note.count).set(5))
        db.delete(Note.by_id("n2"))
        handle(changes, db)
        total = db.get(Note.by_id("total"))
    assert total is not None
    assert total.count == 1111
    assert sorted(told) == ["+ t0", "+ t1", "+ t2", "+ t3", "- t2", "t1 -> other"]


# --- a machine that stands still between any two lines ----------------------------------------------------------------
def stand_still(db: Database, every_seconds: float) -> None:
    """Each look at either clock finds it so much further."""
    port: Any = db.port
    looks = itertools.count(1)
    port.monotonic = lambda: every_seconds * next(looks)
    port.now = lambda: time.time() + every_seconds * next(looks)


def test_what_is_reported_as_done_was_handled(changes: Changes) -> None:
    seen = Seen()
    changes.on(Note).inserted(seen)
    changes.on(Ticket).expired(seen)
    with fresh() as db:
        stand_still(db, 2.0)
        assert ChangeWorker(db, changes).lambda_handler()(EVENT, None) == {"batchItemFailures": []}
    assert seen.told == ["Inserted note n1", "Expired ticket t1"]


def test_what_is_given_back_was_handled_before_it_is_forgotten(changes: Changes) -> None:
    seen, cured = Seen(), list[bool]()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        if not cured:
            raise ValueError("not today")
        seen(change)

    with fresh() as db:
        db.create(Note(id="n1"))
        ChangeWorker(db, changes).drain(tries=1)
        (aside,) = ChangeWorker(db, changes).dead_letters()
        cured.append(True)
        stand_still(db, 2.0)
        ChangeWorker(db, changes).retry(aside)
        assert seen.told == ["Inserted note n1"]
        assert ChangeWorker(db, changes).dead_letters() == []


def test_a_worker_gets_on_however_slow_it_is(changes: Changes) -> None:
    """Each lane handles at least one record in a round, however long the machine stands still in it."""
    seen = Seen()
    changes.on(Note).inserted(seen)
    with fresh() as db:
        for number in range(3):
            db.create(Note(id=f"n{number}"))
        stand_still(db, 1.1)
        ChangeWorker(db, changes).drain(lease_seconds=10_000.0)
    assert sorted(seen.told) == [f"Inserted note n{n}" for n in range(3)]
