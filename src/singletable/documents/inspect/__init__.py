"""Reads of documents' declarations and items, for tools that show them and for the layers above.

Each function that reads is a flow over a port; its docstring says what it costs. `lists` has the classes and some
documents of each, `versions` a document at a version, `history` its versions, tags and branches, `inbox` what waits.
"""

from singletable.documents.belongings import DocumentBelongings
from singletable.documents.blobs import NoBlobs
from singletable.documents.canonical_json import canonical
from singletable.documents.check import document_checks
from singletable.documents.contents import Content, Contents
from singletable.documents.context import context_of
from singletable.documents.document import CollectionModel, DocumentModel, document_model, documents_of
from singletable.documents.inspect.history import HistorySeen, history_seen
from singletable.documents.inspect.inbox import BlobsSeen, InboxSeen, blobs_seen, inbox_seen
from singletable.documents.inspect.lists import (
    AnyContext,
    DocumentClass,
    DocumentsSeen,
    contexts_of,
    document_class,
    documents_seen,
)
from singletable.documents.inspect.versions import CollectionSeen, DocumentSeen, collection_seen, document_seen
from singletable.documents.mutations import MAX_ID
from singletable.documents.rows import ClientRecord, Row, Rows
from singletable.documents.snapshots import scalar_values, scalars_of

__all__ = [
    "MAX_ID",
    "AnyContext",
    "BlobsSeen",
    "ClientRecord",
    "CollectionModel",
    "CollectionSeen",
    "Content",
    "Contents",
    "DocumentBelongings",
    "DocumentClass",
    "DocumentModel",
    "DocumentSeen",
    "DocumentsSeen",
    "HistorySeen",
    "InboxSeen",
    "NoBlobs",
    "Row",
    "Rows",
    "blobs_seen",
    "canonical",
    "collection_seen",
    "context_of",
    "contexts_of",
    "document_checks",
    "document_class",
    "document_model",
    "document_seen",
    "documents_of",
    "documents_seen",
    "history_seen",
    "inbox_seen",
    "scalar_values",
    "scalars_of",
]
