"""Handling a dead letter again, or giving it up."""

from __future__ import annotations

from singletable.errors import NotFound
from singletable.flow import Port
from singletable.streams.consumer import Consumer
from singletable.streams.dead_letters import DeadLetter, dead_letter_at, forget
from singletable.streams.dispatch import handle_record


async def retry(port: Port, consumer: Consumer, change: DeadLetter) -> None:
    """Handle it, and delete it; raises a handler's error, and NotFound if it was handled before."""
    await _check_there(port, consumer, change, "retry")
    error = await handle_record(port, consumer.router, change.record)
    if error is not None:
        raise error
    await forget(port, consumer.state, change)


async def drop(port: Port, consumer: Consumer, change: DeadLetter) -> None:
    """Delete it without handling it. NotFound if it is gone, or was stored again since it was read."""
    await _check_there(port, consumer, change, "drop")
    await forget(port, consumer.state, change)


async def _check_there(port: Port, consumer: Consumer, change: DeadLetter, verb: str) -> None:
    place = change.stream, change.shard, change.sequence
    if await dead_letter_at(port, consumer.state, consumer.name, *place) != change:
        raise NotFound(
            f"{consumer.name!r} has no dead letter with this sequence number",
            table=consumer.state.table.name,
            operation=verb,
            hint="It was retried or dropped before: dead_letters() returns the remaining ones.",
        )
