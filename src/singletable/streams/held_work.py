"""The handlers of changes that begin with the release of a held table."""

from __future__ import annotations

from singletable.flow import Port
from singletable.holds import PendingWork
from singletable.streams.consumer import Consumer


class WaitingHandlers:
    """The handlers of one consumer. Nothing waits for them: they begin with what changes after the release."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer

    async def pending(self, port: Port) -> list[PendingWork]:
        """One line, which names the events. No request."""
        handled = dict.fromkeys(f"{each.type} {each.what}" for each in self.consumer.router.handlers)
        note = f"begins with what changes after the release: {', '.join(handled) or 'it has no handlers'}"
        return [PendingWork("changes", self.consumer.name, note=note)]

    async def drop(self, port: Port, name: str) -> int | None:
        """None: there is nothing to delete."""
        return None
