"""Layers: what each adds to the tools that work on whole tables, such as the check of a table and an erasure from it.

A layer registers a `TableLayer` in the group `singletable.layers`. It finds what a program declared for a table by
itself: what is not imported is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from singletable import entry_points
from singletable.extensions import ExtensionGroup
from singletable.foundation import CursorSeal, HasBelongings, LayerChecks, Table


class ToolSettings(Struct, frozen=True):
    """The arguments of a tool for layers to work with."""

    seal: CursorSeal
    blobs: Any = None
    """The store of those documents whose class has none."""


def _no_form(table: Table) -> Mapping[str, Any]:
    return {}


def _nothing(table: Table, settings: ToolSettings) -> Iterable[Any]:
    return ()


class TableLayer(Struct, frozen=True):
    """A layer's part in the tools of a table: functions of the table. Each adds nothing by default."""

    checks: Callable[[Table, ToolSettings], Iterable[LayerChecks]] = _nothing
    """The layer's checks, with the findings that they report."""
    belongings: Callable[[Table, ToolSettings], Iterable[HasBelongings]] = _nothing
    """The layer's items that an erasure deletes."""
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


def forms_of(table: Table) -> dict[str, Mapping[str, Any]]:
    """The facts that decide the stored bytes of a table's layers, by layer; a layer without any is left out."""
    forms = {entry.name: LAYERS.load(entry).form(table) for entry in LAYERS.entries().values()}
    return {name: form for name, form in forms.items() if form}
