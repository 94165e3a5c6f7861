"""Consumers of changes as a layer of their table."""

from __future__ import annotations

from singletable.layers import TableLayer
from singletable.streams.changes import changes_of
from singletable.streams.held_work import WaitingHandlers

LAYER = TableLayer(
    checks=lambda table, settings: [changes.checks() for changes in changes_of(table)],
    belongings=lambda table, settings: changes_of(table),
    beside=lambda table: [changes.leases for changes in changes_of(table) if changes.leases is not table],
    work=lambda table: [WaitingHandlers(changes.consumer) for changes in changes_of(table)],
    form=lambda table: {changes.name: changes.form for changes in changes_of(table)},
)
