"""A stream whose shards split and close, at the port: what the engine has in one shard that is open for ever.

    split_shards(db.port, every=5)      # before the stream is first used

Every five records the open shards close. The first one splits in two, an item's changes going on in the same one of
them; each later one goes on in one child, as when AWS rolls shards over after some hours. A closed shard's iterators
end. The stream has a name as on AWS, so nothing is taken for the embedded engine's own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar
from zlib import crc32

from singletable.flow import DYNAMODB_STREAMS
from singletable.wire.exchange import Exchange, HttpResponse
from tests.faults.history import Ask
from tests.faults.messages import Call, Reply
from tests.support.ports import wrap_exchanges

T = TypeVar("T")
_OWN, _LIKE_AWS = ":dynoxide:", ":eu-central-1:"
_PAGE_OF_SHARDS = 3


@dataclass
class SplitStream:
    """One table's stream. Its shards are a function of its records, so that every port sees the same."""

    every: int
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    iterator: str | None = None

    async def answer(self, call: Call, ask: Ask) -> Reply:
        """The answer to a request about the stream."""
        said = json.loads(call.body.decode().replace(_LIKE_AWS, _OWN))
        match call.operation:
            case "DescribeStream":
                await self._catch_up(call, said["StreamArn"], ask)
                described = (await ask(call.asking("DescribeStream", {"StreamArn": said["StreamArn"]}))).json
                return self._described(described, said.get("ExclusiveStartShardId"))
            case "GetShardIterator":
                await self._catch_up(call, said["StreamArn"], ask)
                return self._opened(said)
            case _:
                shard, position, stream = json.loads(said["ShardIterator"])
                await self._catch_up(call, stream, ask)
                return self._read(shard, position, stream, said.get("Limit", 1000))

    async def _catch_up(self, call: Call, stream: str, ask: Ask) -> None:
        """Read what the engine's own shard has by now."""
        if self.iterator is None:
            described = (await ask(call.asking("DescribeStream", {"StreamArn": stream}))).json
            [shard] = described["StreamDescription"]["Shards"]
            wanted = {"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            self.iterator = (await ask(call.asking("GetShardIterator", wanted))).json["ShardIterator"]
        while True:
            found = (await ask(call.asking("GetRecords", {"ShardIterator": self.iterator, "Limit": 1000}))).json
            self.iterator = found.get("NextShardIterator", self.iterator)
            if not found["Records"]:
                return
            self.records += found["Records"]

    @property
    def generations(self) -> int:
        return len(self.records) // self.every + 1

    def _name(self, generation: int, half: int) -> str:
        return f"shardId-{generation:020}-{half:08}"

    def _shards(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = []
        for generation in range(self.generations):
            for half in (0, 1) if generation else (0,):
                shard: dict[str, Any] = {"ShardId": self._name(generation, half), "SequenceNumberRange": {}}
                if generation:
                    shard["ParentShardId"] = self._name(generation - 1, half if generation > 1 else 0)
                shards.append(shard)
        return shards

    def _positions(self, shard: str) -> list[int]:
        """Which of the records lie in a shard."""
        generation, half = (int(part) for part in shard.removeprefix("shardId-").split("-"))
        span = range(generation * self.every, min((generation + 1) * self.every, len(self.records)))
        return [at for at in span if generation == 0 or self._half_of(self.records[at]) == half]

    def _half_of(self, record: dict[str, Any]) -> int:
        return crc32(json.dumps(record["dynamodb"]["Keys"], sort_keys=True).encode()) % 2

    def _is_closed(self, shard: str) -> bool:
        return int(shard.split("-")[1]) < self.generations - 1

    def _described(self, described: dict[str, Any], after: str | None) -> Reply:
        shards = self._shards()
        names = [shard["ShardId"] for shard in shards]
        start = 0 if after is None else names.index(after) + 1
        page = shards[start : start + _PAGE_OF_SHARDS]
        stream = {**described["StreamDescription"], "Shards": page}
        stream.pop("LastEvaluatedShardId", None)
        if start + _PAGE_OF_SHARDS < len(shards):
            stream["LastEvaluatedShardId"] = page[-1]["ShardId"]
        return _like_aws({"StreamDescription": stream})

    def _opened(self, said: dict[str, Any]) -> Reply:
        at = self._positions(said["ShardId"])
        if said["ShardIteratorType"] == "LATEST":
            position = len(at)
        elif said["ShardIteratorType"] == "TRIM_HORIZON":
            position = 0
        else:
            numbers = [int(self.records[each]["dynamodb"]["SequenceNumber"]) for each in at]
            position = sum(number <= int(said["SequenceNumber"]) for number in numbers)
        return _like_aws({"ShardIterator": json.dumps([said["ShardId"], position, said["StreamArn"]])})

    def _read(self, shard: str, position: int, stream: str, limit: int) -> Reply:
        at = self._positions(shard)
        given = at[position : position + limit]
        body: dict[str, Any] = {"Records": [self.records[each] for each in given]}
        if position + len(given) < len(at) or not self._is_closed(shard):
            body["NextShardIterator"] = json.dumps([shard, position + len(given), stream])
        return _like_aws(body)


def _like_aws(body: dict[str, Any]) -> Reply:
    return Reply.of(json.loads(json.dumps(body).replace(_OWN, _LIKE_AWS)))


class SplittingExchange:
    """A transport whose streams are split; other requests pass, their answers name the stream as AWS does."""

    def __init__(self, inner: Exchange, stream: SplitStream) -> None:
        self._inner = inner
        self._stream = stream

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        async def ask(call: Call) -> Reply:
            return Reply.given(await self._inner.exchange(call.message, timeout, max_idle_seconds, epoch))

        call = Call.read(message)
        if call.operation in ("DescribeStream", "GetShardIterator", "GetRecords"):
            reply = await self._stream.answer(call, ask)
        else:
            reply = await ask(call)
            if _OWN.encode() in reply.body:
                reply = _like_aws(reply.json)
        return HttpResponse(reply.status, reply.body, reply.checksum, "", len(reply.message))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def run_blocking(self, work: Any) -> Any:
        return await self._inner.run_blocking(work)


def split_shards(port: Any, *, every: int) -> SplitStream:
    """Split the stream of the one table with a stream that a port of either shell reaches, every so many records."""
    stream = SplitStream(every)
    for each in (port, port.to(DYNAMODB_STREAMS)):
        wrap_exchanges(each, lambda inner: SplittingExchange(inner, stream))
    return stream
