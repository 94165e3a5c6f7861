"""The arguments of a worker: the consumer with its handlers, and the options. What a gap in the stream leads to."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Literal

from singletable.errors import InvalidRequest
from singletable.events import ShardGap
from singletable.flow import Port, instant
from singletable.foundation import Table
from singletable.streams.events import Gap
from singletable.streams.router import Router
from singletable.streams.state import StateEntities

Start = Literal["horizon", "now"]
BUFFER_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class ConsumerOptions:
    """The options of a worker; times are in seconds."""

    start: Start = "horizon"
    """The start of a new consumer: the oldest record, a day back, or the next change."""
    lease_seconds: float = 10.0
    """After this time without a heartbeat other workers take its shards."""
    tries: int = 5
    """After the last one a record is a dead letter."""
    backoff_seconds: float = 0.2
    """Before the second try; doubled before each further one, up to 30 s."""
    poll_seconds: float = 0.25
    """Between two reads of a shard without new records."""
    checkpoint_seconds: float = 1.0
    buffer_bytes: int = BUFFER_BYTES
    """The limit for records that wait in memory, over all shards; each shard has an even share."""

    def __post_init__(self) -> None:
        if self.lease_seconds <= 0 or self.tries < 1 or self.backoff_seconds < 0 or self.poll_seconds <= 0:
            raise InvalidRequest(
                "a worker needs at least one try, and times above 0 seconds",
                hint="Leave out what does not have to change.",
            )
        if self.buffer_bytes < 1:
            raise InvalidRequest(
                f"buffer_bytes={self.buffer_bytes}; a worker needs memory for the records that it reads",
                hint=f"Leave it out: it is {BUFFER_BYTES:,}.",
            )


@dataclass(frozen=True)
class Consumer:
    """One reader of a table's changes, with its handlers."""

    table: Table
    name: str
    state: StateEntities
    router: Router
    on_gap: list[Callable[[Gap], Any]]

    def async_functions(self) -> Iterator[str]:
        """The handlers that only an `AsyncChangeWorker` can run, each as an error names it."""
        for handler in self.router.handlers:
            if handler.is_async and not handler.is_flow:
                yield f"the handler {_name_of(handler.function)} of {handler.what} {handler.type} items"
        for function in self.on_gap:
            if inspect.iscoroutinefunction(function):
                yield f"the handler {_name_of(function)} of gaps"


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


_KEPT = timedelta(hours=24)
"""A stream keeps changes for so long."""


class GapWarning(UserWarning):
    """Changes were lost, and no `on_gap` handler is declared."""


async def report_gap(
    port: Port,
    consumer: Consumer,
    shard: str,
    after: str,
    reason: Literal["trimmed", "replaced"],
) -> None:
    """Call the application's handlers; what they raise ends the worker, and the next one reports the gap again."""
    gap = Gap(consumer.name, shard, after, reason)
    consumer.router.gaps += 1
    before = instant(port.now()) - (_KEPT if reason == "trimmed" else timedelta(0))
    names = {"consumer": consumer.name, "shard": shard, "table": consumer.table.name}
    port.events.emit(ShardGap(**names, reason=reason, before=before))
    if not consumer.on_gap:
        warnings.warn(
            f"changes of table {consumer.table.name} were lost before {consumer.name!r} handled them ({reason}). "
            "Declare @changes.on_gap, and scan the items there",
            GapWarning,
            stacklevel=2,
        )
    for handler in consumer.on_gap:
        await port.call_all([partial(handler, gap)])
