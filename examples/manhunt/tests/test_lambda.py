"""Manhunt on AWS Lambda: the engine's own stream records, a real queue of the emulator, and no worker."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest

from examples.manhunt.tests.oncall import alarm, at, incident_now, person, policy_of, searches_of
from examples.manhunt.tests.support import SECRET, USUAL, World
from manhunt.lambda_functions import Functions, functions_of
from manhunt.model import IncidentStatus, Status, manhunt
from manhunt.settings import SECRETS
from singletable.flow import DYNAMODB_STREAMS, SQS
from singletable.operations import TableCall
from singletable.operations.queue import ReceiveMessage
from singletable.queues import Queue
from singletable.streams import ChangeWorker
from tests.support.emulators import aws_emulator
from tests.support.queue_operations import CreateQueue

__all__ = ["aws_emulator"]


class Cloud:
    """What AWS does between the functions: the poller of the stream, and the queue's."""

    def __init__(self, world: World, url: str) -> None:
        self.world, db = world, world.db
        made = db.run(db.port.to(SQS, url).send(CreateQueue(f"manhunt-{secrets.token_hex(6)}", {})))
        self.queue: Queue[Any] = Queue(made)
        self.functions = Functions(world.escalation, self.queue)
        self.seen = 0

    def deliver(self) -> None:
        """Everything that is there, until nothing follows from it."""
        while self._changes() + self._tasks():
            continue

    def _changes(self) -> int:
        records = self._records()[self.seen :]
        if records:
            event = json.loads(json.dumps({"Records": records}))
            assert self.functions.on_change(event) == {"batchItemFailures": []}
        self.seen += len(records)
        return len(records)

    def _records(self) -> list[Any]:
        db = self.world.db
        source = db.port.to(DYNAMODB_STREAMS)

        def call(operation: str, **body: Any) -> dict[str, Any]:
            return db.run(source.send(TableCall(operation, body))) or {}

        description = db.describe_table(manhunt)
        assert description is not None
        stream = description.raw["LatestStreamArn"]
        (shard,) = call("DescribeStream", StreamArn=stream)["StreamDescription"]["Shards"]
        place = {"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        records: list[Any] = []
        iterator: str | None = call("GetShardIterator", **place)["ShardIterator"]
        while iterator is not None:
            answer = call("GetRecords", ShardIterator=iterator)
            records += answer["Records"]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None
        return records

    def _tasks(self) -> int:
        """Send what is due, and hand the queue's messages over as SQS's poller does."""
        self.functions.send_due()
        db = self.world.db
        received = db.run(db.port.to(SQS, self.queue.url).send(ReceiveMessage(self.queue.url, 10, 0, 30)))
        records = [
            {
                "messageId": f"id-{number}",
                "receiptHandle": "handle",
                "body": message.body,
                "attributes": {"ApproximateReceiveCount": "1"},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:1:manhunt",
            }
            for number, message in enumerate(received)
        ]
        if records:
            assert self.functions.on_task({"Records": records}) == {"batchItemFailures": []}
        return len(records)


def test_a_search_goes_on_by_events_alone(world: World, aws_emulator: str) -> None:
    cloud = Cloud(world, aws_emulator)
    search = world.open(*USUAL)
    cloud.deliver()
    assert sorted(world.outbox.steps) == [0, 1]
    assert world.now(search).step == 2
    world.app.answer(search.search_id, 1, how="text")
    cloud.deliver()
    assert world.now(search).status is Status.ANSWERED
    assert ChangeWorker(world.db, world.escalation.changes).dead_letters() == []


def test_an_incident_is_stood_down_by_events_alone(world: World, aws_emulator: str) -> None:
    cloud = Cloud(world, aws_emulator)
    ada, grace = person(world, "Ada"), person(world, "Grace")
    incident = alarm(world, policy_of(world, ([at(ada), at(grace)], 300)))
    cloud.deliver()
    first, second = searches_of(world, incident)
    world.app.answer(first.search_id, 0, how="link")
    cloud.deliver()
    assert world.now(second).status is Status.CANCELLED
    assert incident_now(world, incident).status is IncidentStatus.ACKNOWLEDGED


def test_the_functions_are_made_from_the_environment(tmp_path: Any) -> None:
    environ = {
        "MANHUNT_DB": f"local:{tmp_path}/manhunt.db",
        "MANHUNT_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/1/manhunt",
        "MANHUNT_BASE_URL": "https://manhunt.example.org",
        "MANHUNT_SMTP": "mail.example.org:25",
        SECRETS: SECRET.replace(" ", "-"),
    }
    found = functions_of(environ)
    with found.db:
        assert found.on_change({"Records": []}) == {"batchItemFailures": []}
    with pytest.raises(KeyError, match="MANHUNT_QUEUE_URL"):
        functions_of({name: value for name, value in environ.items() if name != "MANHUNT_QUEUE_URL"})
