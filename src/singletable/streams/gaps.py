"""Gaps: changes that were trimmed before they could be handled. A handler is called, or a warning is issued."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Literal

from singletable.flow import Port
from singletable.streams.consumer import Consumer
from singletable.streams.events import Gap


class GapWarning(UserWarning):
    """Changes were lost, and no `on_gap` handler is declared."""


async def report_gap(
    port: Port, consumer: Consumer, shard: str, after: str, reason: Literal["trimmed", "replaced"]
) -> None:
    """Call the application's handlers; what they raise ends the worker, and the next one reports the gap again."""
    gap = Gap(consumer.name, shard, after, reason)
    consumer.router.gaps += 1
    if not consumer.on_gap:
        warnings.warn(
            f"changes of table {consumer.table.name} were lost before {consumer.name!r} handled them ({reason}). "
            "Declare @changes.on_gap, and scan the items there",
            GapWarning,
            stacklevel=2,
        )
    for handler in consumer.on_gap:
        await port.call_all([partial(handler, gap)])
