"""Databases for tests of faults: either shell, at an address, with clock and chance of the test's own."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from singletable import AsyncDatabase, Database, Table
from singletable.connection import find_target
from singletable.flow import Traits
from singletable.records import Finding, flows
from singletable.records.first_use import ready
from singletable.target import Options
from singletable.wire import BlockingPort, Credentials, PortOptions, RetryPolicy, StaticCredentials, Timeouts
from singletable.wire.asyncio_port import AwaitingPort
from tests.faults.clock import Clock
from tests.support.shells import Shell, disguised

PATIENT = Timeouts(connect=30.0, read=30.0)
"""For faults that take no time: this machine may be busy."""
SHORT = Timeouts(connect=30.0, read=0.4)
"""For faults that hang."""
CURSOR_KEY = "a key for the tests' cursors"
MADE_UP = StaticCredentials(Credentials("LOCALKEY", "local"))
LOCAL = Traits(creates_tables=True, scan_page_limit=1000, segments_shift=True)


@asynccontextmanager
async def opened_at(
    kind: str,
    url: str,
    *,
    clock: Clock | None = None,
    retry: RetryPolicy = RetryPolicy(),  # noqa: B008 frozen
    timeouts: Timeouts = PATIENT,
    seed: int = 0,
    tables: tuple[Table, ...] = (),
    cursor_keys: tuple[str, ...] = (CURSOR_KEY,),
) -> AsyncIterator[Shell]:
    """A shell of a kind. Its waits for retries take no time but the clock's; `tables` are there when it is given."""
    clock = clock or Clock()
    shell = make(kind, url, clock, retry, timeouts, seed, cursor_keys)
    try:
        for table in tables:
            await shell.run(ready(shell.port, table))
        yield shell
    finally:
        await shell.close()


def make(
    kind: str, url: str, clock: Clock, retry: RetryPolicy, timeouts: Timeouts, seed: int, cursor_keys: tuple[str, ...]
) -> Shell:
    """The shell itself; the caller closes it."""
    options = Options(None, MADE_UP, cursor_keys, retry, timeouts, clock=clock.now)
    target = find_target(url, options, {})
    given = PortOptions(
        policy=retry,
        timeouts=timeouts,
        traits=LOCAL,
        now=clock.now,
        monotonic=clock.monotonic,
        random=random.Random(seed).random,
    )
    if kind == "awaiting":
        port = AwaitingPort(target.endpoint, target.credentials, given, sleep=clock.sleep_awaiting)
        return AsyncDatabase(port, target)
    return disguised(Database(BlockingPort(target.endpoint, target.credentials, given, sleep=clock.sleep), target))


async def findings(shell: Shell, table: Table) -> list[Finding]:
    """What `db.check(table)` says, in either shell."""
    found: list[Finding] = await shell.run(flows.check(shell.port, table))
    return found
