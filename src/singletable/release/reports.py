"""A report of the work that a release begins, by the table's layers; and the release itself. Flows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from singletable.errors import Conflict, NotFound
from singletable.flow import Port
from singletable.foundation import Table, flows, tool_class
from singletable.holds import PendingWork, hold_of, release
from singletable.layers import work_of

_BRINGING: Final = ("_restore", "_transfer")
"""The types of what brings items into a table, and says `unfinished`."""


class HoldReport(Struct, frozen=True):
    """A table's hold, and the work that its release begins."""

    table: str
    is_held: bool
    why: str = ""
    """The source: `copied from aws`. Empty for a table that was never held."""
    since: datetime | None = None
    opened_at: datetime | None = None
    """When it was released last; None for one that is held, or never was."""
    work: tuple[PendingWork, ...] = ()
    """The tasks that wait, and the consumers of changes, of all that this program declares."""
    unfinished: tuple[str, ...] = ()
    """Work that has not brought all of its items yet, as a restore that was killed; of a held table."""

    def check_ended(self) -> None:
        """Raise Conflict before the end of what brings its items: what it puts again brings back tasks that ran."""
        if self.unfinished:
            raise Conflict(
                f"{' and '.join(self.unfinished)} has not ended",
                table=self.table,
                operation="release",
                hint="Run that again: it goes on where it was. If it is given up: release(unfinished=True) "
                "(--unfinished).",
            )


class Released(Struct, frozen=True):
    """The result of a release."""

    before: HoldReport
    dropped: dict[str, int]
    """The number of deleted tasks, by name. Empty for a table that was not held."""
    opened_at: datetime | None
    """Changes from before are handled by nobody. None for a table that was not held."""


async def report_of(port: Port, table: Table) -> HoldReport:
    """The hold of a table, and what waits. A read, two queries if it is held, and what the layers' work takes."""
    stored = await hold_of(port, table)
    work = [each for layer in work_of(table) for each in await layer.pending(port)]
    if stored is None:
        return HoldReport(table.name, is_held=False, work=tuple(work))
    is_held = stored.opened_at is None
    unfinished = await _unfinished(port, table) if is_held else ()
    return HoldReport(table.name, is_held, stored.why, stored.since, stored.opened_at, tuple(work), unfinished)


async def _unfinished(port: Port, table: Table) -> tuple[str, ...]:
    kinds = [kind for kind in map(tool_class, _BRINGING) if kind is not None]
    items: list[Any] = [item for kind in kinds for item in await flows.read_all(port, kind.all_of(table).consistent())]
    return tuple(item.unfinished for item in items if item.unfinished)


async def drop(port: Port, table: Table, name: str) -> int:
    """Delete the pending work of a name; returns its number. NotFound for work that no layer has, or can delete."""
    counts = [await layer.drop(port, name) for layer in work_of(table)]
    known = [count for count in counts if count is not None]
    if not known:
        raise NotFound(
            f"no work that could be dropped is named {name!r}",
            table=table.name,
            operation="release",
            hint="The report names the tasks: `singletable release MODULE --dry-run`.",
        )
    return sum(known)


async def release_table(port: Port, table: Table, dropped: Sequence[str], unfinished: bool = False) -> Released:
    """Drop what is named, then release. Of a table that is not held nothing is dropped. Conflict as `check_ended`, but
    with `unfinished`."""
    before = await report_of(port, table)
    if not before.is_held:
        return Released(before, {}, None)
    if not unfinished:
        before.check_ended()
    counts = {name: await drop(port, table, name) for name in dict.fromkeys(dropped)}
    stored = await release(port, table)
    return Released(before, counts, None if stored is None else stored.opened_at)
