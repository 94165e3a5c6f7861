"""The layers that a program binds to a table, such as its tasks: what they add to a check of it, and to an erasure.

A layer is found by the table that it was declared for. What is not imported is not found.
"""

from __future__ import annotations

from typing import Any

from singletable.documents import BlobStore, Context
from singletable.documents.inspect import (
    DocumentBelongings,
    NoBlobs,
    context_of,
    document_checks,
    document_model,
    documents_of,
)
from singletable.foundation import HasBelongings, LayerChecks, Table
from singletable.records import CursorSeal
from singletable.streams.inspect import changes_of
from singletable.sync.inspect import SyncBelongings, has_items, sync_checks
from singletable.tasks.inspect import tasks_of


def checks_of(table: Table, seal: CursorSeal, blobs: BlobStore | None = None) -> list[LayerChecks]:
    """The layers' additions to the check of a table. `blobs` is the store of documents whose class has none."""
    contexts = _contexts(table, seal, blobs)
    found = [changes.checks() for changes in changes_of(table)]
    if (tasks := tasks_of(table)) is not None:
        found.append(tasks.checks())
    found += [document_checks(context) for context in contexts]
    if contexts and has_items(table):
        found.append(sync_checks(table, [document_model(context.kind) for context in contexts]))
    return found


def belongings_of(table: Table, seal: CursorSeal, blobs: BlobStore | None = None) -> list[HasBelongings]:
    """The layers' additions to an erasure. `blobs` is the store of documents whose class has none."""
    found: list[HasBelongings] = [*changes_of(table)]
    if (tasks := tasks_of(table)) is not None:
        found.append(tasks)
    found += [DocumentBelongings(context) for context in _contexts(table, seal, blobs)]
    if has_items(table):
        found.append(SyncBelongings(table))
    return found


def _contexts(table: Table, seal: CursorSeal, blobs: BlobStore | None) -> list[Context[Any]]:
    kinds = documents_of(table)
    return [context_of(kind, document_model(kind).blobs or blobs or NoBlobs(), seal) for kind in kinds]
