"""Layers: what each adds to the tools that work on whole tables, such as the check of a table and an erasure from it.

A layer registers a `TableLayer` in the group `singletable.layers`. It finds what a program declared for a table by
itself: what is not imported is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from singletable import entry_points
from singletable.extensions import ExtensionGroup
from singletable.flow import Port
from singletable.foundation import CursorSeal, HasBelongings, LayerChecks, Table
from singletable.holds import HasPendingWork


class ToolSettings(Struct, frozen=True):
    """The arguments of a tool for layers to work with."""

    seal: CursorSeal
    blobs: Any = None
    """The store of those documents whose class has none."""


class BackupNote(Struct, frozen=True):
    """A backup whose contents a store keeps, or knows."""

    backup: str
    """Its ARN, or the path of the copy of a data file."""
    table: str
    at: datetime
    place: str = ""
    """The folder that has its contents; empty if they stay in the store, which keeps them."""
    families: int = 0
    contents: int = 0


class CopiedContents(Struct, frozen=True):
    """The outcome of copying contents from one store into another."""

    copied: int = 0
    there: int = 0
    """The contents that the other store had."""
    damaged: tuple[str, ...] = ()
    """The paths of contents that could not be read, which the other store lacks now."""

    def and_also(self, other: CopiedContents) -> CopiedContents:
        """Both together."""
        return CopiedContents(self.copied + other.copied, self.there + other.there, self.damaged + other.damaged)


class BackedContents(Protocol):
    """A layer's part of a table that lies in a store: a backup of the table has to hold it."""

    name: str
    """Its name in messages."""
    has_store: bool
    """Whether the store is known here."""

    async def is_open(self, port: Port, backup: str) -> bool:
        """Whether a backup was begun that has not ended."""
        ...

    async def begin(self, port: Port, backup: str) -> None:
        """From now on, until `end`, nothing is deleted from the store."""
        ...

    async def end(self, port: Port, backup: str) -> None: ...

    async def hold(self, port: Port, backup: str, place: str = "") -> BackupNote:
        """Keep what the store has for a backup that was made since `begin`; or note the `place` that has it."""
        ...

    async def notes(self, port: Port) -> Sequence[BackupNote]:
        """The backups that the store knows, oldest first."""
        ...

    async def forget(self, port: Port, backup: str) -> int:
        """Keep nothing for a backup any more; returns the number of contents deleted at once."""
        ...

    async def take_over(self, port: Port) -> int:
        """Let this table delete from the store where another one of its name did, which is gone."""
        ...

    async def copy(self, port: Port, to: Any = None, source: Any = None) -> CopiedContents:
        """Copy every content that the other store lacks: out of the own store, or into it from `source`."""
        ...


def _no_tables(table: Table) -> Iterable[Table]:
    return ()


def _no_form(table: Table) -> Mapping[str, Any]:
    return {}


def _nothing(table: Table, settings: ToolSettings) -> Iterable[Any]:
    return ()


def _no_work(table: Table) -> Iterable[HasPendingWork]:
    return ()


class TableLayer(Struct, frozen=True):
    """A layer's part in the tools of a table: functions of the table. Each adds nothing by default."""

    checks: Callable[[Table, ToolSettings], Iterable[LayerChecks]] = _nothing
    """The layer's checks, with the findings that they report."""
    belongings: Callable[[Table, ToolSettings], Iterable[HasBelongings]] = _nothing
    """The layer's items that an erasure deletes."""
    beside: Callable[[Table], Iterable[Table]] = _no_tables
    """The tables that it keeps beside the table: a backup and a restore take them along."""
    contents: Callable[[Table, ToolSettings], Iterable[BackedContents]] = _nothing
    """The parts of the table that it keeps in stores."""
    work: Callable[[Table], Iterable[HasPendingWork]] = _no_work
    """The work that the layer's workers do, and that a hold stops: a table without any is not held."""
    form: Callable[[Table], Mapping[str, Any]] = _no_form
    """The facts that decide which bytes it stores, other than its items' classes, as JSON: a table's record has it."""


LAYERS = ExtensionGroup("singletable.layers", TableLayer, entry_points.LAYERS)


def checks_of(table: Table, seal: CursorSeal, blobs: Any = None) -> list[LayerChecks]:
    """The checks of a table's layers."""
    settings = ToolSettings(seal, blobs)
    return [checks for layer in LAYERS.all() for checks in layer.checks(table, settings)]


def belongings_of(table: Table, seal: CursorSeal, blobs: Any = None) -> list[HasBelongings]:
    """The items of a table's layers that an erasure deletes."""
    settings = ToolSettings(seal, blobs)
    return [belongings for layer in LAYERS.all() for belongings in layer.belongings(table, settings)]


def tables_beside(table: Table) -> list[Table]:
    """The tables that the layers of a table keep beside it, by their names."""
    named = {beside.name: beside for layer in LAYERS.all() for beside in layer.beside(table)}
    return [named[name] for name in sorted(named)]


def contents_of(table: Table, seal: CursorSeal, blobs: Any = None) -> list[BackedContents]:
    """The parts of a table that its layers keep in stores."""
    settings = ToolSettings(seal, blobs)
    return [contents for layer in LAYERS.all() for contents in layer.contents(table, settings)]


def work_of(table: Table) -> list[HasPendingWork]:
    """The work of a table's layers that a hold stops."""
    return [work for layer in LAYERS.all() for work in layer.work(table)]


def forms_of(table: Table) -> dict[str, Mapping[str, Any]]:
    """The facts that decide the stored bytes of a table's layers, by layer; a layer without any is left out."""
    forms = {entry.name: LAYERS.load(entry).form(table) for entry in LAYERS.entries().values()}
    return {name: form for name, form in forms.items() if form}
