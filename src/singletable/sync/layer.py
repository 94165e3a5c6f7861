"""Sync's groups of clients as a layer of the table that has them."""

from __future__ import annotations

from collections.abc import Iterator

from singletable.documents.inspect import document_model, documents_of
from singletable.foundation import LayerChecks, Table
from singletable.layers import TableLayer, ToolSettings
from singletable.sync.check import sync_checks
from singletable.sync.client_groups import SyncBelongings, has_items


def _checks(table: Table, settings: ToolSettings) -> Iterator[LayerChecks]:
    kinds = documents_of(table)
    if kinds and has_items(table):
        yield sync_checks(table, [document_model(kind) for kind in kinds])


LAYER = TableLayer(
    checks=_checks,
    belongings=lambda table, settings: [SyncBelongings(table)] if has_items(table) else [],
)
