"""Reads of documents' declarations and items, for tools that show them and for the layers above.

Each function that reads is a flow over a port; its docstring says what it costs. `lists` has the classes and some
documents of each, `versions` a document at a version, `history` its versions, tags and branches, `inbox` what waits.
"""

from singletable.documents.canonical_json import canonical
from singletable.documents.contents import Content, Contents
from singletable.documents.context import context_of
from singletable.documents.document import CollectionModel, DocumentModel, document_model, documents_of
from singletable.documents.inspect.history import HistoryInfo, inspect_history
from singletable.documents.inspect.inbox import BlobsInfo, InboxInfo, inspect_blobs, inspect_inbox
from singletable.documents.inspect.lists import (
    AnyContext,
    DocumentClass,
    DocumentsInfo,
    contexts_of,
    document_class,
    inspect_documents,
)
from singletable.documents.inspect.versions import CollectionInfo, DocumentInfo, inspect_collection, inspect_document
from singletable.documents.mutations import MAX_ID
from singletable.documents.rows import ClientRecord, Row, Rows
from singletable.documents.snapshots import scalar_values, scalars_of

__all__ = [
    "MAX_ID",
    "AnyContext",
    "BlobsInfo",
    "ClientRecord",
    "CollectionInfo",
    "CollectionModel",
    "Content",
    "Contents",
    "DocumentClass",
    "DocumentInfo",
    "DocumentModel",
    "DocumentsInfo",
    "HistoryInfo",
    "InboxInfo",
    "Row",
    "Rows",
    "canonical",
    "context_of",
    "contexts_of",
    "document_class",
    "document_model",
    "documents_of",
    "inspect_blobs",
    "inspect_collection",
    "inspect_document",
    "inspect_documents",
    "inspect_history",
    "inspect_inbox",
    "scalar_values",
    "scalars_of",
]
