"""Requests and answers of the service's HTTP protocol, as values, and the JSON in them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from zlib import crc32

from singletable.wire.exchange import HttpResponse

_TARGET = re.compile(rb"^(x-amz-target: *[^.\r\n]+\.)([A-Za-z]+)", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"^(content-length: *)(\d+)", re.IGNORECASE | re.MULTILINE)
_CHECKSUM = re.compile(rb"^(x-amz-crc32: *)(\d+)", re.IGNORECASE | re.MULTILINE)
_PREFIX = "com.amazonaws.dynamodb.v20120810#"


@dataclass(frozen=True)
class Call:
    """One request, with its head as it came: credentials and signature are kept for calls made from it."""

    head: bytes
    body: bytes

    @classmethod
    def read(cls, message: bytes) -> Call:
        head, _, body = message.partition(b"\r\n\r\n")
        return cls(head, body)

    @cached_property
    def operation(self) -> str:
        found = _TARGET.search(self.head)
        return found[2].decode() if found else ""

    @cached_property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables that it touches."""
        actions = [next(iter(action.values())) for action in self.json.get("TransactItems", ())]
        named = {self.json.get("TableName"), *(action["TableName"] for action in actions)}
        return frozenset({*self.json.get("RequestItems", ()), *named} - {None})

    @property
    def message(self) -> bytes:
        return self.head + b"\r\n\r\n" + self.body

    def asking(self, operation: str, body: dict[str, Any]) -> Call:
        """Another request in the same caller's name. The engine does not look at signatures, only that there is one."""
        encoded = json.dumps(body).encode()
        head = _TARGET.sub(lambda found: found[1] + operation.encode(), self.head)
        return Call(_LENGTH.sub(lambda found: found[1] + str(len(encoded)).encode(), head), encoded)


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    body: bytes
    checksum: str
    delay_seconds: float = 0.0

    @cached_property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value

    @classmethod
    def of(cls, body: dict[str, Any], status: int = 200) -> Reply:
        encoded = json.dumps(body).encode()
        return cls(status, encoded, str(crc32(encoded)))

    @classmethod
    def error(cls, code: str, message: str = "", status: int = 400, **more: Any) -> Reply:
        return cls.of({"__type": _PREFIX + code, "message": message or f"injected {code}", **more}, status)

    @classmethod
    def given(cls, answer: HttpResponse) -> Reply:
        """An engine's answer. One without a checksum, as of ministack's streams, is as one with the right one."""
        return cls(answer.status, answer.body, answer.checksum or str(crc32(answer.body)))

    @classmethod
    def read(cls, message: bytes) -> Reply:
        head, _, body = message.partition(b"\r\n\r\n")
        checksum = _CHECKSUM.search(head)
        return cls(int(head.split(b" ", 2)[1]), body, checksum[2].decode() if checksum else str(crc32(body)))

    def with_wrong_checksum(self) -> Reply:
        return replace(self, checksum=str((int(self.checksum) + 1) % 2**32))

    @property
    def message(self) -> bytes:
        head = (
            f"HTTP/1.1 {self.status} Injected\r\nContent-Type: application/x-amz-json-1.0\r\n"
            f"x-amz-crc32: {self.checksum}\r\nContent-Length: {len(self.body)}\r\n\r\n"
        )
        return head.encode() + self.body


@dataclass(frozen=True)
class Cut:
    """The connection ends here, after these bytes of an answer."""

    sent: bytes = b""


@dataclass(frozen=True)
class Hang:
    """Nothing comes."""


Outcome = Reply | Cut | Hang
