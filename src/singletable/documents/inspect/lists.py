"""The document classes of a program, and some documents of each to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from singletable.bounded_scan import sampled
from singletable.documents.blobs import BlobStore, NoBlobs
from singletable.documents.context import Context, contexts_in
from singletable.documents.rows import Listing
from singletable.flow import Port
from singletable.foundation import ANY, CursorSeal, OnUnreadable, Query, Table, load_or_tell, model_of, page

MOST_LISTED = 25

AnyContext = Context[Any]


class DocumentClass(Struct, frozen=True):
    """A declared class of documents."""

    name: str
    table: str
    parent: str
    """The word of what documents are listed by."""
    scalars: tuple[str, ...]
    collections: tuple[str, ...]
    mutations: tuple[str, ...]
    has_contents: bool
    """Whether the studio was given the store of the contents."""


class DocumentListed(Struct, frozen=True):
    """A document in a list."""

    id: str
    parent: str
    created: str


class DocumentsInfo(Struct, frozen=True):
    """Some documents of a class."""

    kind: DocumentClass
    under: str
    """The parent whose documents these are; empty for some of any parent."""
    documents: tuple[DocumentListed, ...]
    cursor: str | None


def contexts_of(tables: Sequence[Table], seal: CursorSeal, blobs: BlobStore | None) -> dict[str, AnyContext]:
    """The document classes of some tables, by their names. `blobs` is the store of those whose class has none."""
    contexts = (context for table in tables for context in contexts_in(table, seal, blobs, is_direct=False))
    return {context.kind.__name__: context for context in contexts}


def document_class(context: AnyContext) -> DocumentClass:
    """The declaration of a class. No request."""
    model = context.model
    return DocumentClass(
        context.kind.__name__,
        model.table.name,
        model.words.parent,
        tuple(model.scalars.by_name),
        tuple(model.collections),
        tuple(sorted(model.mutators)),
        not isinstance(context.store, NoBlobs),
    )


async def inspect_documents(
    port: Port, context: AnyContext, *, under: str = "", after: str | None = None, unreadable: OnUnreadable = None
) -> DocumentsInfo:
    """Up to MOST_LISTED documents of a parent, by their ids: one request, half a unit for each 4 KB.

    Without a parent some documents of any: the requests and units of `scans.sampled`. InvalidCursor.
    """
    if under:
        query: Query[Listing] = context.model.rows.listing.by_parent(under, ANY)
        listed = await page(port, query, MOST_LISTED, after, context.seal, unreadable=unreadable)
        return DocumentsInfo(document_class(context), under, tuple(map(_listed, listed.items)), listed.cursor)
    model = model_of(context.model.rows.listing)
    sample = await sampled(port, context.seal, context.model.table, (model.type,), after, MOST_LISTED)
    loaded = [load_or_tell(model, item, unreadable, "Scan") for item in sample.items]
    rows = [_listed(row) for row in loaded if row is not None]
    return DocumentsInfo(document_class(context), "", tuple(rows), sample.cursor)


def _listed(row: Listing) -> DocumentListed:
    return DocumentListed(row.document_id, row.parent, row.created.isoformat())
