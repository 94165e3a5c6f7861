"""Handling one lane: the changes of one item, one after the other, until one fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from singletable.errors import InvalidRequest
from singletable.streams.events import AnyChange
from singletable.streams.routing import Handler, Router
from singletable.streams.shards import Lane
from singletable.wire import FlowSuspended
from singletable.wire.port import Port

_LONGEST_SECONDS = 1.0
"""A lane with many records leaves the round after so long, for the others' sake."""


async def handle_lane(port: Port, router: Router, lane: Lane, may_go_on: Callable[[], bool]) -> None:
    """Mark what is done, and what failed with its error; a flow for `call_all`.

    FlowSuspended, of an async handler in the blocking shell, is the program's fault and ends it.
    """
    until = port.now() + _LONGEST_SECONDS
    for entry in lane:
        if not may_go_on() or port.now() > until:
            return
        try:
            for handler, change in router.calls(entry.record):
                await _call(port, handler, change)
        except FlowSuspended:
            raise
        except Exception as error:
            entry.error = error
            return
        entry.done = True


async def _call(port: Port, handler: Handler, change: AnyChange) -> None:
    if handler.is_flow:
        await handler.function(port, change)
    elif handler.is_async:
        await handler.function(change)
    else:
        await port.call_all([partial(_call_plain, handler, change)])


def _call_plain(handler: Handler, change: AnyChange) -> None:
    """What it returns is not looked at, unless it would have to be awaited."""
    result: Any = handler.function(change)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise InvalidRequest(
            f"the {handler.what} handler of {handler.type} returned what has to be awaited",
            hint="Declare the handler itself with async def, and use connect_async.",
        )
