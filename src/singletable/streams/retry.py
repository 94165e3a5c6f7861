"""Handling a dead letter again."""

from __future__ import annotations

from singletable.errors import NotFound
from singletable.flow.port import Port
from singletable.streams.consumer import Consumer
from singletable.streams.dead_letters import DeadLetter, all_dead_letters, forget
from singletable.streams.dispatch import handle_record


async def retry(port: Port, consumer: Consumer, change: DeadLetter) -> None:
    """Handle it, and delete it; raises what a handler raises. NotFound where it was handled before."""
    if change not in await all_dead_letters(port, consumer.state, consumer.name):
        raise NotFound(
            f"{consumer.name!r} has no dead letter with this sequence number",
            table=consumer.state.table.name,
            operation="retry",
            hint="Look at changes.store_dead_letter(db): it may have been given back before.",
        )
    error = await handle_record(port, consumer.router, change.record)
    if error is not None:
        raise error
    await forget(port, consumer.state, change)
