"""Both shells behind one interface, so that a test body is written once: the blocking one in the other's clothes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

from msgspec.structs import replace

from singletable import AsyncDatabase, Database, connect, connect_async
from singletable.wire import RetryPolicy
from tests.support.engines import fresh, fresh_async

KINDS = ("blocking", "awaiting")
_AWAITED = frozenset(
    [
        "get",
        "get_many",
        "page",
        "all",
        "together",
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
        "require",
    ]
)
_ITERATED = frozenset({"iter", "scan"})


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


@asynccontextmanager
async def opened(
    kind: str, target: str = "", *, retry: RetryPolicy | None = None, **options: Any
) -> AsyncIterator[Shell]:
    """A shell of a kind with nothing in it, or at a target, with the options of `connect`."""
    options = {"cursor_keys": ["a key for the tests' cursors"], **options}
    if retry is not None:
        options["retry"] = retry
    if kind == "awaiting":
        shell = connect_async(target, **options) if target else fresh_async(**options)
    else:
        shell = disguised(connect(target, **options) if target else fresh(**options))
    if target and not target.startswith("local"):
        shell.port.traits = replace(shell.port.traits, creates_tables=True)
    try:
        yield shell
    finally:
        await shell.close()
