"""Both shells behind one interface, so that a test body is written once: the blocking one in the other's clothes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

from singletable import AsyncDatabase, Database, connect, connect_async
from singletable.flow import Traits
from singletable.operations import TableCall
from singletable.wire import RetryPolicy

ENDPOINTS_VARIABLE = "SINGLETABLE_TEST_ENDPOINTS"
"""More engines to run the suite on: addresses, separated by commas."""
KINDS = ("blocking", "awaiting")
_AWAITED = frozenset(
    [
        "get",
        "get_many",
        "page",
        "all",
        "create",
        "put",
        "update",
        "upsert",
        "delete",
        "write_many",
        "create_table",
        "describe_table",
        "diff_table",
        "delete_table",
        "check",
        "sweep_table",
    ]
)
_ITERATED = frozenset({"iter", "scan"})

LOCAL = Traits(creates_tables=True, scan_page_limit=1000, index_lag_seconds=0.0)
"""Of the embedded engine, where a test connects to it by its address."""

Shell = AsyncDatabase
"""What a test of the engine suite is written against."""


class Disguised:
    """A blocking database with the awaiting one's interface."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.port, self.target = db.port, db.target

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self.db, name)
        if name in _AWAITED:
            return _awaited(verb)
        return _iterated(verb) if name in _ITERATED else verb

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self.db.transaction() as tx:
            yield tx

    async def run(self, flow: Any) -> Any:
        return self.db.run(flow)

    async def close(self) -> None:
        self.db.close()


def _awaited(verb: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        return verb(*args, **kwargs)

    return call


def _iterated(verb: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for item in verb(*args, **kwargs):
            yield item

    return call


def disguised(db: Database) -> Shell:
    return cast(Shell, Disguised(db))


def engines() -> list[str]:
    """The engines to test: the embedded one, and those that the environment names."""
    return ["local", *(url.strip() for url in os.environ.get(ENDPOINTS_VARIABLE, "").split(",") if url.strip())]


@asynccontextmanager
async def opened(kind: str, target: str, *, retry: RetryPolicy | None = None) -> AsyncIterator[Shell]:
    """A shell of a kind over an engine; the tables that it used on an engine of others' are deleted at the end."""
    options: dict[str, Any] = {"cursor_keys": ["a key for the tests' cursors"]}
    if retry is not None:
        options["retry"] = retry
    shell = connect_async(target, **options) if kind == "awaiting" else disguised(connect(target, **options))
    if not target.startswith("local"):
        shell.port.traits = Traits(creates_tables=True)
    try:
        yield shell
        if not target.startswith("local"):
            for name in shell.port.ready:
                call = TableCall("DeleteTable", {"TableName": name}, or_none="ResourceNotFoundException")
                await shell.run(shell.port.send(call))
    finally:
        await shell.close()
