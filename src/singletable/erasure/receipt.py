"""The plan of an erasure, its receipt, and the places where copies of deleted data remain."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from singletable.errors import Denied, NotConfigured, NotSupported, Unavailable
from singletable.flow import Port
from singletable.foundation import (
    Belonging,
    Kept,
    Remaining,
    Table,
    entity_name,
    flows,
    personal_names,
    references_in,
    tool_classes,
)
from singletable.tables import list_backups, recovery

STREAM_HOURS: Final = 24


class ErasurePlan(Struct, frozen=True):
    """The items that an erasure would delete and clear. It holds keys, which may name a person."""

    table: str
    pattern: str
    """The access pattern that names the subject, without its arguments."""
    belongings: tuple[Belonging, ...]
    kept: tuple[Kept, ...] = ()
    """The items that stay and need a person."""
    left_out: tuple[str, ...] = ()
    """The parts that are not searched, in words."""
    read_units: float = 0.0
    """The units of the search, by all processes; the erasure searches at least twice more."""
    as_of: datetime | None = None
    """The moment of the export in which candidates were looked for; None for the table."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to delete or clear."""
        return not self.belongings

    @property
    def deleted(self) -> dict[str, int]:
        """The number of items to delete, by class."""
        return count(self.belongings, "delete")

    @property
    def cleared(self) -> dict[str, int]:
        """The number of items in which a mention would be cleared, by class."""
        return count(self.belongings, "clear")

    @property
    def write_units(self) -> float:
        """The units of deletions and clearings, without the record of the erasure."""
        return sum(each.write_units for each in self.belongings)


class Receipt(Struct, frozen=True):
    """The result of an erasure, without data of its subject."""

    table: str
    pattern: str
    erasure: str
    """The name of its record in the table."""
    by: str
    started_at: datetime
    ended_at: datetime
    looked_until: datetime
    """When the last search began, which found nothing more. What is written later is in no erasure."""
    deleted: Mapping[str, int]
    """The numbers by class, of all its runs."""
    cleared: Mapping[str, int]
    kept: tuple[Kept, ...] = ()
    left_out: tuple[str, ...] = ()
    remaining: tuple[Remaining, ...] = ()
    runs: int = 1
    """The number of runs: more than one if it was killed."""
    requests: int = 0
    """The requests of this run, by this process."""
    read_units: float = 0.0
    """The units of this run, with what other processes took for its scans."""
    write_units: float = 0.0


class Erasing(Struct, frozen=True):
    """The progress of an erasure."""

    done: int
    total: int
    """The number found so far."""
    search: int
    """From 1: after what was found is gone, it looks again."""


def count(belongings: Any, does: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for belonging in belongings:
        if belonging.does == does:
            counts[belonging.kind] = counts.get(belonging.kind, 0) + 1
    return counts


def beside_mentions(table: Table, cleared: Mapping[str, int]) -> list[Remaining]:
    """The personal attributes of records that stay without a mention: whose they are, no declaration says."""
    places: list[Remaining] = []
    for model in table.models:
        references = [*references_in(model)]
        named = {name for reference in references for name in (*reference.names, *reference.clears)}
        names = sorted(personal_names(model.kind) - named - model.identity)
        if names and (count := cleared.get(entity_name(model.kind), 0)):
            what = f"{', '.join(names)} of {count} items stay, from which a mention went: clear what the subject wrote."
            places.append(Remaining(f"personal attributes of {entity_name(model.kind)}", what))
    return places


async def remaining(port: Port, table: Table, ended: datetime) -> tuple[Remaining, ...]:
    """The remaining copies, by the live settings of a table, and of its `own_items`, where jobs had the subject's keys:
    four requests, and one for each hundred backups. The embedded engine's file is rewritten without the deleted
    data."""
    remains = [*await _backups(port, table, ended), *await _unfinished(port, table)]
    if table.own_items is not None:
        which = f" of {table.own_items.name}"
        with suppress(NotSupported, NotConfigured):  # as of the table itself: it is told once
            try:
                remains += await _recoverable(port, table.own_items, ended, which)
            except Denied:
                how = "This program may not list them: look there, as it had keys of the subject."
                remains.append(Remaining(f"point-in-time recovery and backups{which}", how))
    if table.definition.stream is not None:
        until = ended + timedelta(hours=STREAM_HOURS)
        remains.append(Remaining("stream records", "They go by themselves, and their consumers must read them.", until))
    remains.append(
        Remaining("exports and other systems", "Delete what was exported, logged, mailed or copied from the table.")
    )
    return tuple(remains)


async def _unfinished(port: Port, table: Table) -> list[Remaining]:
    """The work on the table that may go on, as it keeps the last key that it read; and jobs that have ended."""
    for kind in (kind for kind in tool_classes() if not kind.is_apart()):
        if personal_names(kind.of(table)) and await flows.read_all(port, kind.all_of(table).consistent()):
            said = (
                "They hold keys that they have come to, or found: end them by the same command, or begin them again. A "
                "job that has ended goes seven days later, with the next job list."
            )
            return [Remaining("fills, copies, imports and jobs", said)]
    return []


async def _data_file(port: Port, table: Table) -> list[Remaining]:
    """The file of an engine on this machine, if it holds the bytes of deleted data."""
    how = "Its free pages hold the deleted data until something is written over them: rewrite it (SQLite: VACUUM)."
    if port.traits.wipe_deleted is not None:
        try:
            await port.call_all([port.traits.wipe_deleted])
        except Unavailable as error:
            how = f"Its free pages hold the deleted data: {error}"
        else:
            if table.definition.stream is None:
                return []
            how = "It holds the stream's records, and their bytes when they are gone: rewrite it then (VACUUM)."
    return [Remaining("the engine's data file", how)]


async def _backups(port: Port, table: Table, ended: datetime) -> list[Remaining]:
    try:
        return await _recoverable(port, table, ended)
    except (NotSupported, NotConfigured):
        copies = "Delete the copies that were made before; this engine has no backups."
        return [*await _data_file(port, table), Remaining("copies of the data file", copies)]


async def _recoverable(port: Port, table: Table, ended: datetime, which: str = "") -> list[Remaining]:
    """Recovery, and all backups that are there now, by whatever clock."""
    state, backups = await recovery(port, table.name), await list_backups(port, table.name)
    remains: list[Remaining] = []
    if state.is_on:
        until = ended + timedelta(days=state.days)
        how = "A table that is restored to a time before the end of the erasure has it all: erase there again."
        remains.append(Remaining(f"point-in-time recovery{which}", how, until))
    for backup in backups:
        how = f"Delete it: singletable backup delete {backup.arn}"
        remains.append(Remaining(f"backup {backup.name}{which}", how))
    return remains
