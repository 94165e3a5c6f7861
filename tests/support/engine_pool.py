"""Embedded engines that tests have one after another: each has it for itself, with nothing in it.

    target = pooled_target(options)      # of `Database.at`; closing the database gives the engine back

To start an engine takes many times as long as to delete the tables of a test. An engine that can't be emptied is
stopped, and another one started when it is needed.

An engine remembers the tokens of transactions for as long as it runs: tests that set them themselves, the same in each
test, need engines that nobody had before (`Pool.paused`).
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import weakref
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from msgspec.structs import replace

from singletable import Database, connect
from singletable.records.cursors import CursorSeal
from singletable.target import Options, Target
from singletable.wire import RetryPolicy
from singletable.wire.unix_sockets import open_unix
from singletable_local import ENGINE_VARIABLE, UnixEndpoint

_PLAIN = frozenset({"cursor_keys", "retry", "timeouts", "checksum", "clock", "credentials", "listeners"})
"""The options that don't change which engine is started, or what is known of it."""
_LARGEST_BYTES = 64 << 20
"""Of a data file, which does not become smaller again."""
_PATIENCE_SECONDS = 10.0
_SIGNED = {
    "host": "localhost",
    "content-type": "application/x-amz-json-1.0",
    "x-amz-date": "20260101T000000Z",
    "authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, "
    "Signature=0",
}
"""The engine looks at no signature, only that there is one."""
_OF_STREAMS = ("_stream_records", "_singletable_stream_marks")


class NotEmptied(Exception):
    """The engine refused a request that would have emptied it."""


class Pool:
    """The idle engines of this process."""

    def __init__(self) -> None:
        self._idle: list[Database] = []
        self._process = os.getpid()
        self._is_paused = False

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """Each database that is opened meanwhile has a new engine."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def takes(self, options: dict[str, Any]) -> bool:
        """Whether a database with these options may have an engine that others had before.

        Not where the environment names another engine: so does the guard of tests that start none.
        """
        return not self._is_paused and options.keys() <= _PLAIN and ENGINE_VARIABLE not in os.environ

    def target(self, options: Options) -> Target:
        """Where a database finds an engine of its own, as `connect("local")` would have made it."""
        if os.getpid() != self._process:
            self._idle, self._process = [], os.getpid()  # a fork: these are the parent's
        owner = self._idle.pop() if self._idle else connect("local")
        made = replace(owner.target, engine=Leased(self, owner), retry=options.retry or RetryPolicy())
        if options.cursor_keys:
            made = replace(made, seal=CursorSeal(options.cursor_keys))
        return replace(made, credentials=options.credentials) if options.credentials else made

    def give_back(self, owner: Database) -> None:
        """Empty an engine for the next one, or stop it where that fails."""
        if os.getpid() != self._process:
            return
        with suppress(NotEmptied, OSError, sqlite3.Error):
            if _empty(owner):
                self._idle.append(owner)
                return
        owner.close()

    def close(self) -> None:
        """Stop the idle engines."""
        while self._idle:
            self._idle.pop().close()


class Leased:
    """The engine of one database, which stops it: that gives it back. Everything else is the engine's own."""

    def __init__(self, pool: Pool, owner: Database) -> None:
        self._engine: Any = owner.target.engine
        self._given_back = weakref.finalize(self, pool.give_back, owner)
        self._given_back.atexit = False

    @property
    def data(self) -> Path:
        found: Path = self._engine.data
        return found

    def stop(self) -> None:
        self._given_back()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _empty(owner: Database) -> bool:
    """Delete all tables; False where the engine is not as a new one all the same.

    By requests of its own: a meter or a budget of the test is not to count them.
    """
    assert owner.target.engine is not None
    data = owner.target.engine.data
    assert data is not None
    had_streams = False
    connection, _ = open_unix(UnixEndpoint.at(owner.target.endpoint.url), _PATIENCE_SECONDS)
    with connection, connection.makefile("rb") as answers:
        connection.settimeout(_PATIENCE_SECONDS)
        asked = partial(_ask, connection, answers)
        is_last = False
        while not is_last:
            page = asked("ListTables", {})
            is_last = "LastEvaluatedTableName" not in page
            for name in page["TableNames"]:
                table = asked("DeleteTable", {"TableName": name})["TableDescription"]
                had_streams = had_streams or "LatestStreamArn" in table
    if had_streams:
        _forget_streams(data)
    return data.stat().st_size < _LARGEST_BYTES


def _forget_streams(data: Path) -> None:
    """A deleted table's records stay in the file, and would be those of the next table of its name."""
    with closing(sqlite3.connect(data, timeout=_PATIENCE_SECONDS)) as database, database:
        there = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for name in there.intersection(_OF_STREAMS):
            database.execute(f"DELETE FROM {name}")


def _ask(connection: socket.socket, answers: BinaryIO, operation: str, body: dict[str, str]) -> dict[str, Any]:
    """One request. Raises NotEmptied for any answer but a good one."""
    content = json.dumps(body).encode()
    headers = {"x-amz-target": f"DynamoDB_20120810.{operation}", **_SIGNED, "content-length": str(len(content))}
    lines = ["POST / HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    connection.sendall("\r\n".join(lines).encode() + content)
    status, length = answers.readline().split(b" ")[1:2], 0
    while header := answers.readline().strip():
        name, _, value = header.lower().partition(b":")
        length = int(value) if name == b"content-length" else length
    said = answers.read(length)
    if status != [b"200"]:
        raise NotEmptied(f"{operation} was answered with {status}: {said!r}")
    return dict(json.loads(said))
