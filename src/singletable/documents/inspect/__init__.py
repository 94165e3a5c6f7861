"""Reads of documents' declarations and items, for tools that show them and for the layers above.

Each function that reads is a flow over a port; its docstring says what it costs. `lists` has the classes and some
documents of each, `versions` a document at a version, `history` its versions, tags and branches, `contents` what each
of its versions changed, `inbox` what waits.
"""

from singletable.documents.canonical_json import canonical as canonical
from singletable.documents.contents import Content as Content, Contents as Contents
from singletable.documents.context import context_of as context_of
from singletable.documents.document import (
    CollectionModel as CollectionModel,
    DocumentModel as DocumentModel,
    declare_principals as declare_principals,
    document_model as document_model,
    documents_of as documents_of,
)
from singletable.documents.inspect.contents import (
    ContentHistory as ContentHistory,
    Hide as Hide,
    ItemVersion as ItemVersion,
    RecordedMutation as RecordedMutation,
)
from singletable.documents.inspect.history import HistoryInfo as HistoryInfo, inspect_history as inspect_history
from singletable.documents.inspect.inbox import (
    BlobsInfo as BlobsInfo,
    InboxInfo as InboxInfo,
    inspect_blobs as inspect_blobs,
    inspect_inbox as inspect_inbox,
)
from singletable.documents.inspect.lists import (
    AnyContext as AnyContext,
    DocumentClass as DocumentClass,
    DocumentsInfo as DocumentsInfo,
    contexts_of as contexts_of,
    document_class as document_class,
    inspect_documents as inspect_documents,
)
from singletable.documents.inspect.versions import (
    CollectionInfo as CollectionInfo,
    DocumentInfo as DocumentInfo,
    inspect_collection as inspect_collection,
    inspect_document as inspect_document,
)
from singletable.documents.mutations import MAX_ID as MAX_ID
from singletable.documents.rows import (
    ClientRecord as ClientRecord,
    DocumentRow as DocumentRow,
    RowClasses as RowClasses,
)
from singletable.documents.snapshots import scalar_values as scalar_values, scalars_of as scalars_of
