"""Consumers of changes as a layer of their table."""

from __future__ import annotations

from singletable.layers import TableLayer
from singletable.streams.changes import changes_of

LAYER = TableLayer(
    checks=lambda table, settings: [changes.checks() for changes in changes_of(table)],
    belongings=lambda table, settings: changes_of(table),
    form=lambda table: {changes.name: changes.form for changes in changes_of(table)},
)
