"""The removal of expired items, which the embedded engine omits. The supervisor does it, late, as DynamoDB does.

One process of each engine removes what has expired, by the machine's own clock: never a reader, and no program whose
clock is wrong. An item goes two days after its time at the earliest. So a clock that is an hour or a day ahead, even
the machine's, deletes nothing that lives.

A step is one request, of a few milliseconds. Between two the supervisor serves its users. A sweep that fails, as the
engine ends, is left; the next one begins anew.
"""

from __future__ import annotations

import time

from singletable_local.engine_process import EngineEnded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Iterator
    from typing import Any

KEPT_SECONDS = 2 * 24 * 3600.0
"""After its time. DynamoDB takes up to a few days."""
_PAGE = 200
_ANSWER_SECONDS = 5.0
_LONGEST_PART = 65536
_OK = b"HTTP/1.1 200"
_HEAD = """POST / HTTP/1.1\r
Host: localhost\r
Content-Type: application/x-amz-json-1.0\r
X-Amz-Target: DynamoDB_20120810.{0}\r
X-Amz-Date: 20260101T000000Z\r
Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r
Content-Length: {1}\r
\r
"""
"""The engine looks at no signature, only that there is one."""


class ExpiryUpkeep:
    """When the next step is due, and what it does."""

    def __init__(self, connect: Callable[[], socket], every_seconds: float) -> None:
        """`connect` opens a connection to the engine. With 0 seconds nothing is ever removed."""
        self._connect = connect
        self._every_seconds = every_seconds
        self._next_at = time.monotonic() + every_seconds
        self._steps: Iterator[None] | None = None

    def pause_milliseconds(self) -> float | None:
        """The time until the next step; None for ever."""
        if self._every_seconds <= 0:
            return None
        return 0.0 if self._steps else max(0.0, (self._next_at - time.monotonic()) * 1000) + 1

    def step(self) -> None:
        """Do what is due."""
        if self._every_seconds <= 0 or (self._steps is None and time.monotonic() < self._next_at):
            return
        self._steps = self._steps or self._sweep()
        try:
            next(self._steps)
        except (StopIteration, EngineEnded, OSError, ValueError, LookupError):
            self._steps, self._next_at = None, time.monotonic() + self._every_seconds

    def _sweep(self) -> Iterator[None]:
        engine = _Client(self._connect())
        try:
            for table in _tables(engine):
                yield
                yield from _sweep_table(engine, table)
        finally:
            engine.close()


def _tables(engine: _Client) -> Iterator[str]:
    """The names of all tables, a hundred in an answer."""
    page: dict[str, Any] = {"LastEvaluatedTableName": None}
    while "LastEvaluatedTableName" in page:
        last = page["LastEvaluatedTableName"]
        page = engine.ask("ListTables", {"ExclusiveStartTableName": last} if last else {})
        yield from page["TableNames"]


def _sweep_table(engine: _Client, table: str) -> Iterator[None]:
    """Each item is deleted under the condition that its time was long ago."""
    setting = engine.ask("DescribeTimeToLive", {"TableName": table})["TimeToLiveDescription"]
    if "AttributeName" not in setting:
        return
    keys = [key["AttributeName"] for key in engine.ask("DescribeTable", {"TableName": table})["Table"]["KeySchema"]]
    names, until = {"#0": setting["AttributeName"]}, {":0": {"N": str(int(time.time() - KEPT_SECONDS))}}
    common = {"TableName": table, "ExpressionAttributeNames": names, "ExpressionAttributeValues": until}
    page: dict[str, Any] = {"LastEvaluatedKey": None}
    while "LastEvaluatedKey" in page:
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]} if page["LastEvaluatedKey"] else {}
        page = engine.ask("Scan", {**common, **start, "FilterExpression": "#0 <= :0", "Limit": _PAGE})
        yield
        for item in page["Items"]:
            key = {name: item[name] for name in keys}
            engine.ask("DeleteItem", {**common, "Key": key, "ConditionExpression": "#0 <= :0"})
            yield


class _Client:
    """Requests over one connection."""

    def __init__(self, connection: socket) -> None:
        self._connection = connection
        connection.settimeout(_ANSWER_SECONDS)

    def ask(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer; {} for a refusal. Raises OSError, ValueError."""
        import json  # noqa: PLC0415 the supervisor starts without it

        sent = json.dumps(body).encode()
        self._connection.sendall(_HEAD.format(operation, len(sent)).encode() + sent)
        head, _, answer = self._received(b"", lambda received: b"\r\n\r\n" in received).partition(b"\r\n\r\n")
        lengths = (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        length = next(lengths, None)
        if length is None:
            raise OSError("the engine's answer has no length")
        answer = self._received(answer, lambda received: len(received) >= length)
        read: dict[str, Any] = json.loads(answer) if head.startswith(_OK) else {}
        return read

    def _received(self, received: bytes, is_whole: Callable[[bytes], bool]) -> bytes:
        while not is_whole(received):
            part = self._connection.recv(_LONGEST_PART)
            if not part:
                raise OSError("the engine has ended")
            received += part
        return received

    def close(self) -> None:
        self._connection.close()
