"""The gate of a table's workers: whether anything may begin. It reads the hold every few seconds, for all its slots."""

from __future__ import annotations

import math
from collections import deque
from typing import Final

from singletable.events import TableHeld
from singletable.flow import Port
from singletable.foundation import Table
from singletable.holds.item import HoldItem
from singletable.holds.table_hold import hold_of

READ_SECONDS: Final = 3.0
"""For so long a worker goes by what it has read. `table_hold.NOTICED_SECONDS` is longer."""
_READING_SECONDS: Final = 1.0
"""How much longer it goes by that while another slot reads."""


class TableGate:
    """The hold of a table as one worker, or one Lambda handler, has read it last. Each read costs a unit."""

    def __init__(self, port: Port, table: Table) -> None:
        self._port, self._table = port, table
        self._hold: HoldItem | None = None
        self._read_at = self._read_now = -math.inf
        self._turn = deque([True])
        """A token: the slot that pops it reads."""

    @property
    def opened_at(self) -> float:
        """The last release: what changed before it is handled by nobody. Seconds since 1970; 0 for none."""
        opened = None if self._hold is None else self._hold.opened_at
        return 0.0 if opened is None else opened.timestamp()

    async def is_held(self, *, for_certain: bool = False) -> bool:
        """Whether nothing may begin. A read at the first call, and when the last one is three seconds old.

        `for_certain`: what was read before does not suffice to say that it is held.
        """
        age = self._age()
        if age >= READ_SECONDS + _READING_SECONDS:
            await self._read()
        elif age >= READ_SECONDS and self._turn:
            await self._read_in_turn()
        if for_certain and self._is_held:
            await self._read()
        return self._is_held

    @property
    def _is_held(self) -> bool:
        return self._hold is not None and self._hold.opened_at is None

    def _age(self) -> float:
        """The age of what was read, by both clocks: a process that was frozen may have missed time by either."""
        now = self._port.now() - self._read_now
        return math.inf if now < 0 else max(now, self._port.monotonic() - self._read_at)

    async def _read_in_turn(self) -> None:
        """Read for all slots: the others go on with what was read before, for a second at most."""
        try:
            self._turn.pop()
        except IndexError:  # another slot was faster
            return
        try:
            await self._read()
        finally:
            self._turn.append(True)

    async def _read(self) -> None:
        now, monotonic, was_held = self._port.now(), self._port.monotonic(), self._is_held
        self._hold = await hold_of(self._port, self._table)
        self._read_now, self._read_at = now, monotonic
        if self._is_held and not was_held and self._hold is not None:
            hold = self._hold
            self._port.events.emit(TableHeld(table=self._table.name, since=hold.since, why=hold.why))
