"""A port under a lease: it beats while it works and waits, and checks the lease before it changes anything.

Where this process stood still for longer than a beat, the lease is checked before the next request, so that one that
was lost meanwhile sends nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from singletable.flow import Operation, Port, Tenure, WrappedPort
from singletable.foundation import Table
from singletable.migrations.apply_lease import BEAT_SECONDS, Held, beat

T = TypeVar("T")
_LOOKS = "Describe", "List"
"""The prefixes of calls that only look at a table; all others change it."""


class LeasedPort(WrappedPort):
    """A port whose requests are sent only while the lease is held."""

    def __init__(self, port: Port, table: Table, held: Held) -> None:
        super().__init__(port)
        self._table, self._held = table, held
        self.doing = ""
        """The present work, for waiting applies."""
        self.looks = 0
        """Requests that only looked at the table, as while waiting for it."""
        self.tenure = Tenure(renewed_at=port.monotonic())

    async def send(self, operation: Operation[T]) -> T:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        calls = [str(call) for each in operations if (call := getattr(each, "operation", None))]
        looks = sum(call.startswith(_LOOKS) for call in calls)
        self.looks += looks
        await self.beat(due_only=looks == len(calls))
        return await self._port.send_all(operations)

    async def sleep(self, seconds: float) -> None:
        until = self.monotonic() + seconds
        while (left := until - self.monotonic()) > 0:
            await self._port.sleep(min(left, BEAT_SECONDS))
            await self.beat()

    async def beat(self, *, due_only: bool = True) -> None:
        """Show that this process lives. ApplyRefused if the lease was lost."""
        began = self.monotonic()
        if due_only and not self.tenure.is_due(began, BEAT_SECONDS):
            return
        self.tenure.beats += 1
        await beat(self._port, self._table, self._held, self.tenure.beats, self.doing)
        self.tenure.note(began, True)
