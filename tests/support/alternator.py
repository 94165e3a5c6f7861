"""ScyllaDB's Alternator, by what its documentation says of it: a proxy on loopback before the embedded engine.

    with alternator(engine_url) as scylla:
        db = connect(scylla.url)

It refuses what Alternator refuses, in the words of its errors' codes: transactions, long names, encryption keys,
conditional writes under `forbid_rmw`. It answers the tag and the setting of the write isolation. It sends no capacity.
What it can't show is how it behaves under concurrency, and what it costs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.faults.carrying import Carrier
from tests.faults.history import Ask
from tests.faults.messages import Call, Outcome, Reply
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults

UNKNOWN = frozenset({"TransactWriteItems", "TransactGetItems", "ExecuteStatement", "BatchExecuteStatement"})
TAG = "system:write_isolation"
_CONFIGURATION = ".scylla.alternator.system.config"
_SHORTEST, _LONGEST, _LONGEST_WITH_INDEX = 3, 192, 222
_READS_FIRST = ("ConditionExpression", "Expected")


@dataclass
class Settings:
    """Of a server, and the tags of its tables."""

    isolation: str = "always_use_lwt"
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """The isolation of a table that has the tag."""


class Alternator(Carrier):
    """A carrier that refuses what Alternator refuses; the rest comes from the engine."""

    def __init__(self, faults: Faults, settings: Settings) -> None:
        super().__init__(faults)
        self.settings = settings

    async def carry(self, message: bytes, ask: Ask) -> Outcome:
        call = Call.read(message)
        self.faults.decide(call)
        own = self._own_answer(call)
        if own is not None:
            return own
        if call.operation not in _OF_STREAMS:
            return _without_capacity(await ask(call))
        return _renamed(await ask(_for_engine(call)))

    def _own_answer(self, call: Call) -> Reply | None:
        """An answer that does not come from the engine."""
        if call.operation in UNKNOWN:
            return Reply.error("UnknownOperationException", f"Unsupported operation {call.operation}")
        body = call.json
        if call.operation == "Query" and body["TableName"] == _CONFIGURATION:
            item = {"name": {"S": "alternator_write_isolation"}, "value": {"S": f'"{self.settings.isolation}"'}}
            return Reply.of({"Items": [item], "Count": 1, "ScannedCount": 1})
        if call.operation == "ListTagsOfResource":
            own = self.settings.tags.get(body["ResourceArn"].rpartition("/")[2])
            return Reply.of({"Tags": [] if own is None else [{"Key": TAG, "Value": own}]})
        return _refusal_of_creation(body) if call.operation == "CreateTable" else self._refusal_of_write(call)

    def _refusal_of_write(self, call: Call) -> Reply | None:
        table = str(call.json.get("TableName", ""))
        mode = self.settings.tags.get(table) or self.settings.isolation
        if mode in ("f", "forbid", "forbid_rmw") and any(name in call.json for name in _READS_FIRST):
            return _invalid("Read-modify-write operations are disabled by 'forbid_rmw' write isolation policy.")
        return None


@contextmanager
def alternator(engine_url: str, settings: Settings | None = None) -> Iterator[FaultProxy]:
    """An Alternator before an engine with nothing in it."""
    faults = Faults()
    proxy = FaultProxy(engine_url, faults)
    proxy.carrier = Alternator(faults, settings or Settings())
    with proxy:
        yield proxy


def _refusal_of_creation(body: dict[str, Any]) -> Reply | None:
    table = body["TableName"]
    if not _SHORTEST <= len(table) <= _LONGEST:
        return _invalid(f"TableName must be at least 3 characters long and at most {_LONGEST} characters long")
    for index in body.get("GlobalSecondaryIndexes", ()):
        if len(table) + len(index["IndexName"]) + 1 > _LONGEST_WITH_INDEX:
            return _invalid("The total length of table name and index name exceeds the limit")
    if body.get("SSESpecification", {}).get("Enabled"):
        return _invalid("SSESpecification: configuring encryption-at-rest is not yet supported.")
    return None


def _invalid(message: str) -> Reply:
    return Reply.error("ValidationException", message)


_OF_STREAMS = frozenset({"DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"})
"""The operations in which streams and shards are named."""
_OWN_ARN = re.compile(rb'arn:aws:dynamodb:us-east-1:000000000000:table/alternator_[^@"]+@([^/"]+)_scylla_cdc_log/')
_ENGINE_ARN = re.compile(rb'arn:aws:dynamodb:dynoxide:000000000000:table/([^/"]+)/(?=stream/)')
_OWN_SHARD = re.compile(rb'"H 19aa1b2c3d4:([0-9a-f]+)"')
_ENGINE_SHARD = re.compile(rb'(?<=ShardId":")([^"]+)(?=")')


def _for_engine(call: Call) -> Call:
    body = _OWN_ARN.sub(rb"arn:aws:dynamodb:dynoxide:000000000000:table/\1/", call.body)
    body = _OWN_SHARD.sub(lambda found: b'"' + bytes.fromhex(found[1].decode()) + b'"', body)
    return call if body == call.body else call.asking(call.operation, json.loads(body))


def _renamed(answer: Reply) -> Reply:
    """With Alternator's names of streams and shards, and the fields of records that it sends."""
    own_arn = rb"arn:aws:dynamodb:us-east-1:000000000000:table/alternator_\1@\1_scylla_cdc_log/"
    body = _ENGINE_ARN.sub(own_arn, answer.body)
    said = json.loads(_ENGINE_SHARD.sub(lambda found: b"H 19aa1b2c3d4:" + found[1].hex().encode(), body))
    for record in said.get("Records", ()):
        record["eventSource"] = "scylladb:alternator"
        record["dynamodb"].pop("SizeBytes", None)
    return Reply.of(said, answer.status)


def _without_capacity(answer: Reply) -> Reply:
    return Reply.of({name: value for name, value in answer.json.items() if name != "ConsumedCapacity"}, answer.status)
