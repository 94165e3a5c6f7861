"""A stream as a script: shards that split, iterators that expire, records that are trimmed, answers that repeat.

It speaks the protocol of DynamoDB Streams, as its documentation tells it: requests in, JSON out, errors by their codes.
Written from that, and from nothing of the worker's.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any, Protocol

from singletable.flow import Request, Response

ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/noted/stream/2026-11-20T00:00:00.000"
_ITERATOR_SECONDS = 15 * 60.0
_PAGE_OF_SHARDS = 3
DAY = 24 * 3600.0


class Clock(Protocol):
    now: float


@dataclass
class ScriptedShard:
    id: str
    parent: str | None
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    closed_at: float | None = None
    trimmed: int = 0
    """How many of its first records are gone."""


class Script:
    """A table's stream. Its items lie in shards by their key; a shard that splits leaves its keys to two others."""

    def __init__(self, seed: int, shards: int = 4) -> None:
        self.random = random.Random(seed)
        self.table, self.arn = "noted", ARN
        self.shards: dict[str, ScriptedShard] = {}
        self.written: dict[str, list[str]] = {}
        """The sequence numbers of each item's changes, in their order."""
        self.shard_of_sequence: dict[str, str] = {}
        self.lost: set[str] = set()
        """Sequence numbers that were trimmed."""
        self.unlisted: set[str] = set()
        """Shards that DescribeStream leaves out for now, though they are there."""
        self.refusals: dict[str, list[str]] = {}
        """Error codes with which the next requests of an operation end, before anything else is looked at."""
        self.refused_shards: dict[str, str] = {}
        """The error codes with which reading a shard ends."""
        self._number = 10**24
        self._children: dict[str, list[ScriptedShard]] = {}
        self._roots = [self._add(None) for _ in range(shards)]
        self._open = list(self._roots)
        self.page = 7
        self.repeats = 0.1
        self.expires_early = 0.02
        self.empty_answers = 0.1

    # --- what happens to it -------------------------------------------------------------------------------------------
    def write(self, key: str, count: int, at: float) -> str:
        """A change of one item, told by the shard that has its key."""
        self._number += self.random.randrange(1, 10**6)
        sequence = str(self._number)
        before, now = (self.image(key, count - 1), self.image(key, count))
        images = {"Keys": {n: now[n] for n in ("pk", "sk")}, "NewImage": now, "SequenceNumber": sequence}
        if self.written.get(key):
            images["OldImage"] = before
        event = "MODIFY" if self.written.get(key) else "INSERT"
        shard = self._home(key)
        shard.records.append(
            {
                "eventID": sequence,
                "eventName": event,
                "dynamodb": {**images, "ApproximateCreationDateTime": float(int(at))},
            }
        )
        self.written.setdefault(key, []).append(sequence)
        self.shard_of_sequence[sequence] = shard.id
        return sequence

    def split(self, at: float) -> None:
        """Close a shard; two children take over its keys, or one, as when a shard has been open for long."""
        shard = self._open.pop(self.random.randrange(len(self._open)))
        shard.closed_at = at
        self._children[shard.id] = [self._add(shard.id) for _ in range(self.random.choice((1, 2)))]
        self._open += self._children[shard.id]

    def trim(self, now: float) -> None:
        """What is over a day old is gone; so are shards that were closed over a day ago."""
        before = now - DAY
        for shard in list(self.shards.values()):
            while shard.trimmed < len(shard.records) and _time(shard.records[shard.trimmed]) < before:
                self.lost.add(_sequence(shard.records[shard.trimmed]))
                shard.trimmed += 1
            if shard.closed_at is not None and shard.closed_at < before:
                del self.shards[shard.id]

    def _add(self, parent: str | None) -> ScriptedShard:
        shard = ScriptedShard(f"shardId-{len(self.shards):04}-{self.random.getrandbits(48):012x}", parent)
        self.shards[shard.id] = shard
        return shard

    def _home(self, key: str) -> ScriptedShard:
        place = random.Random(key)
        shard = place.choice(self._roots)
        while shard.id in self._children:
            shard = place.choice(self._children[shard.id])
        return shard

    @staticmethod
    def image(key: str, count: int) -> dict[str, Any]:
        return {
            "pk": {"S": f"note#{key}"},
            "sk": {"S": "note"},
            "_type": {"S": "note"},
            "_v": {"N": "1"},
            "id": {"S": key},
            "text": {"S": "t"},
            "count": {"N": str(count)},
            "gsi1pk": {"S": "text#t"},
            "gsi1sk": {"S": key},
        }

    # --- the protocol -------------------------------------------------------------------------------------------------
    def respond(self, request: Request, clock: Clock) -> Response:
        body = json.loads(request.body)
        refusals = self.refusals.get(request.operation)
        if refusals:
            return _refused(refusals.pop(0))
        answer = getattr(self, "_" + request.operation)(body, clock)
        if isinstance(answer, str):
            return _refused(answer)
        return Response(200, json.dumps(answer).encode(), False, "")

    def _DescribeTable(self, body: Any, clock: Clock) -> Any:
        table = {"TableName": body["TableName"], "TableStatus": "ACTIVE", "LatestStreamArn": self.arn}
        return {"Table": {**table, "StreamSpecification": {"StreamEnabled": True}}}

    def _DescribeStream(self, body: Any, clock: Clock) -> Any:
        assert body["StreamArn"] == self.arn
        names = [name for name in self.shards if name not in self.unlisted]
        first = names.index(body["ExclusiveStartShardId"]) + 1 if body.get("ExclusiveStartShardId") in names else 0
        page = names[first : first + _PAGE_OF_SHARDS]
        described = [self._describe(self.shards[name]) for name in page]
        answer: dict[str, Any] = {"StreamArn": self.arn, "Shards": described}
        if page and page[-1] != names[-1]:
            answer["LastEvaluatedShardId"] = page[-1]
        return {"StreamDescription": answer}

    def _describe(self, shard: ScriptedShard) -> dict[str, Any]:
        described: dict[str, Any] = {"ShardId": shard.id, "SequenceNumberRange": {"StartingSequenceNumber": "1" * 21}}
        if shard.parent is not None:
            described["ParentShardId"] = shard.parent
        if shard.closed_at is not None and shard.records:
            described["SequenceNumberRange"]["EndingSequenceNumber"] = _sequence(shard.records[-1])
        return described

    def _GetShardIterator(self, body: Any, clock: Clock) -> Any:
        shard = self.shards.get(body["ShardId"])
        if shard is None:
            return "ResourceNotFoundException"
        kind = body["ShardIteratorType"]
        at = len(shard.records) if kind == "LATEST" else shard.trimmed
        if kind == "AFTER_SEQUENCE_NUMBER":
            wanted = int(body["SequenceNumber"])
            at = sum(int(_sequence(record)) <= wanted for record in shard.records)
            if at < shard.trimmed:
                return "TrimmedDataAccessException"
        return {"ShardIterator": f"{shard.id}|{at}|{clock.now}"}

    def _GetRecords(self, body: Any, clock: Clock) -> Any:
        id, at_text, made = body["ShardIterator"].split("|")
        if id in self.refused_shards:
            return self.refused_shards[id]
        shard, at = self.shards.get(id), int(at_text)
        if clock.now - float(made) > _ITERATOR_SECONDS or self.random.random() < self.expires_early:
            return "ExpiredIteratorException"
        if shard is None or at < shard.trimmed:
            return "TrimmedDataAccessException"
        if self.random.random() < self.empty_answers:
            return {"Records": [], "NextShardIterator": f"{id}|{at}|{clock.now}"}
        if self.random.random() < self.repeats:
            at = max(shard.trimmed, at - 2)
        page = shard.records[at : at + min(self.page, body["Limit"])]
        end = at + len(page)
        answer: dict[str, Any] = {"Records": page}
        if not (shard.closed_at is not None and end == len(shard.records)):
            answer["NextShardIterator"] = f"{id}|{end}|{clock.now}"
        return answer


def _refused(code: str) -> Response:
    error = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "refused"}
    return Response(400, json.dumps(error).encode(), False, "")


def _time(record: dict[str, Any]) -> float:
    return float(record["dynamodb"]["ApproximateCreationDateTime"])


def _sequence(record: dict[str, Any]) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
