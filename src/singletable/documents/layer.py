"""Documents as a layer of their table: each class of them is checked and erased with its own store of contents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from singletable.documents.backed_contents import DocumentContents
from singletable.documents.belongings import DocumentBelongings
from singletable.documents.check import document_checks
from singletable.documents.context import Context, contexts_in
from singletable.documents.document import document_model, documents_of
from singletable.foundation import Table
from singletable.layers import TableLayer, ToolSettings


def _contexts(table: Table, settings: ToolSettings) -> Iterator[Context[Any]]:
    return contexts_in(table, settings.seal, settings.blobs)


LAYER = TableLayer(
    checks=lambda table, settings: map(document_checks, _contexts(table, settings)),
    belongings=lambda table, settings: map(DocumentBelongings, _contexts(table, settings)),
    contents=lambda table, settings: map(DocumentContents, _contexts(table, settings)),
    form=lambda table: {model.words.document: model.form for model in map(document_model, documents_of(table))},
)
