"""Giving a change that was set aside back to its handlers."""

from __future__ import annotations

from singletable.errors import NotFound
from singletable.flow.port import Port
from singletable.streams.consumer import Consumer
from singletable.streams.dead_letters import SetAside, all_set_aside, forget
from singletable.streams.dispatch import handle_record


async def retry(port: Port, consumer: Consumer, change: SetAside) -> None:
    """Handle it, and forget it; raises what a handler raises. NotFound where it was given back before."""
    if change not in await all_set_aside(port, consumer.books, consumer.name):
        raise NotFound(
            f"nothing is set aside for {consumer.name!r} under this sequence number",
            table=consumer.books.table.name,
            operation="retry",
            hint="Look at changes.set_aside(db): it may have been given back before.",
        )
    error = await handle_record(port, consumer.router, change.record)
    if error is not None:
        raise error
    await forget(port, consumer.books, change)
