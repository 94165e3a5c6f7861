"""A run's own names: what a test calls `app` is `singletable-test-4f1c9a02d7-app` at the service.

Requests are changed where they name a table, a queue or a bucket. In answers the prefix, which no test's data holds, is
taken away wherever it is. A queue's URL leads to the gateway, never past it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

FAMILY = "singletable-test-"
"""What every name of every run begins with."""
TAG = "singletable-test-run"
"""The tag on all that a run makes; its value is the run's id."""
_OWN_NAME = re.compile(r"test-[0-9a-f]{10}-")
"""What the names of a database begin with whose tables are its own (`tests/support/engines.py`)."""
_TABLE_LISTS = ("RequestItems",)
_ARNS = ("StreamArn", "ResourceArn", "TableArn", "ExclusiveStartStreamArn")
_DATA = frozenset({"Item", "Key", "ExpressionAttributeValues", "ExclusiveStartKey", "MessageBody", "Entries"})
"""Members that hold a test's data: nothing in them is a name."""
_QUEUE_URL = re.compile(rb'https?:(?:\\?/){2}[^"/\\\s]+(?:\\?/)([^"/\\\s]+)(?:\\?/)([A-Za-z0-9_.-]+)')
_QUEUE_ARN = re.compile(r"(arn:aws[a-z-]*:sqs:[^:]*:[^:]*:)([A-Za-z0-9_.-]+)")


@dataclass
class Names:
    """The names of one run."""

    run: str
    place: Callable[[], str]
    """The gateway's address."""
    turn: int = 0
    """Counts the tests: a table that has no name of its own is another one in the next test."""
    _queues: dict[str, str] = field(default_factory=dict[str, str])
    """The service's URL of each queue, by its name there."""
    _ends: dict[str, str] = field(default_factory=dict[str, str])
    """The service's name of the table that a page of a list ended with, by the test's."""

    @property
    def prefix(self) -> str:
        return f"{FAMILY}{self.run}-"

    @property
    def tags(self) -> Mapping[str, str]:
        return {TAG: self.run}

    def json_request(self, service: str, operation: str, body: bytes) -> tuple[bytes, str]:
        """The body with this run's names, and the name of what it makes, if it makes something."""
        changed = self._changed(msgspec.json.decode(body, type=dict[str, Any]))
        made = ""
        if operation == "CreateTable":
            made = str(changed.get("TableName", ""))
            changed["Tags"] = [{"Key": key, "Value": value} for key, value in self.tags.items()]
        elif service == "AmazonSQS" and operation == "CreateQueue":
            made = str(changed.get("QueueName", ""))
            changed["tags"] = dict(self.tags)
        return msgspec.json.encode(changed), made

    def json_answer(self, service: str, operation: str, body: bytes) -> bytes:
        """The body with the test's names; of a list of tables, this run's alone."""
        if operation == "ListTables" and b'"TableNames"' in body:
            body = self._own_tables(body)
        if service == "AmazonSQS":
            body = _QUEUE_URL.sub(self._to_gateway, body)
        return self.plain(body)

    def plain(self, data: bytes) -> bytes:
        return re.sub(rb"%s(?:\d+-)?" % self.prefix.encode(), b"", data)

    def table(self, name: str) -> str:
        """The service's name of a table."""
        return self.prefix + (name if _OWN_NAME.match(name) else f"{self.turn}-{name}")

    def is_of_a_turn(self, name: str) -> bool:
        """Whether a table's name at the service is of one test alone, as it had no name of its own."""
        return bool(re.match(rf"{self.prefix}\d+-", name))

    def bucket_target(self, target: str) -> tuple[str, str]:
        """The target of an S3 request with this run's bucket, and the bucket's name at the service."""
        path, mark, query = target.partition("?")
        bucket, slash, key = path.lstrip("/").partition("/")
        name = self.prefix + bucket
        return f"/{name}{slash}{key}{mark}{query}", name

    def _own_tables(self, body: bytes) -> bytes:
        said = msgspec.json.decode(body, type=dict[str, Any])
        if end := said.get("LastEvaluatedTableName"):
            self._ends[self.plain(end.encode()).decode()] = end
        said["TableNames"] = [name for name in said["TableNames"] if name.startswith(self.prefix)]
        return msgspec.json.encode(said)

    def _changed(self, said: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._value(name, value) for name, value in said.items()}

    def _value(self, name: str, value: Any) -> Any:
        if name in _DATA:
            return value
        if isinstance(value, str):
            return self._text(name, value)
        if isinstance(value, list):
            return [self._value("", each) for each in cast("Iterable[Any]", value)]
        if not isinstance(value, dict):
            return value
        said = cast("dict[str, Any]", value)
        if name in _TABLE_LISTS:
            return {self.table(table): requests for table, requests in said.items()}
        return self._changed(said)

    def _text(self, name: str, text: str) -> str:
        if name == "TableName":
            return self.table(text)
        if name == "ExclusiveStartTableName":
            return self._ends.get(text) or self.table(text)
        if name == "QueueName":
            return self.prefix + text
        if name in _ARNS:
            return re.sub(r"(:table/)([^/]+)", lambda found: found[1] + self.table(found[2]), text)
        if name == "QueueUrl":
            return self._to_service(text)
        if name == "RedrivePolicy":
            return _QUEUE_ARN.sub(lambda found: found[1] + self.prefix + found[2], text)
        return text

    def _to_gateway(self, found: re.Match[bytes]) -> bytes:
        name = found[2].decode()
        if not name.startswith(self.prefix):
            return found[0]
        self._queues[name] = found[0].replace(b"\\/", b"/").decode()
        return f"{self.place()}/queues/{name.removeprefix(self.prefix)}".encode()

    def _to_service(self, url: str) -> str:
        parts = urlsplit(url).path.rpartition("/")
        name = self.prefix + parts[2]
        known = next(iter(self._queues.values()), "")
        return self._queues.get(name) or f"{known.rpartition('/')[0] or parts[0]}/{name}"
