"""The embedded engine in the place of DynamoDB, to count on: its streams look like those of a service.

The library knows an embedded engine by the region in its streams' names, and tends its file. These tests are to use
what they use on AWS. The engine's shards have the names of their tables, which a gateway would change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from zlib import crc32

from singletable.flow import DYNAMODB, DYNAMODB_STREAMS
from singletable.flow.request import Service
from tools.aws.account import Account, HttpAnswer

_OWN = b"arn:aws:dynamodb:dynoxide:"
_OWN_SHARD = re.compile(rb"shardId-\d{8}-[A-Za-z0-9_.-]+")
_SHARD = re.compile(rb"shardId-\d{20}-\d{8}")


@dataclass
class EmbeddedTables(Account):
    """An account whose tables may be an embedded engine's (`tables`)."""

    _shards: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """Each shard as AWS would name it, and as the engine does."""

    def ask(self, service: Service, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        if not self.tables or service not in (DYNAMODB, DYNAMODB_STREAMS):
            return super().ask(service, method, target, headers, body)
        arn = f"arn:aws:dynamodb:{self.region}:".encode()
        asked = _SHARD.sub(lambda found: self._shards.get(found[0], found[0]), body.replace(arn, _OWN))
        answer = super().ask(service, method, target, headers, asked)
        told = _OWN_SHARD.sub(self._as_on_aws, answer.body.replace(_OWN, arn))
        checked = {"x-amz-crc32": str(crc32(told))} if "x-amz-crc32" in answer.headers else {}
        return HttpAnswer(answer.status, {**answer.headers, **checked}, told)

    def _as_on_aws(self, found: re.Match[bytes]) -> bytes:
        name = b"shardId-%020d-%08d" % (1, crc32(found[0]) % 10**8)
        self._shards[name] = found[0]
        return name
