"""singletable: one DynamoDB table, declared once in plain Python; every access pattern a typed, named, measured call.

The front door. A map of the house, from the ground up, each floor importing only from those below:

    errors                one tree
    values  wire  local   attribute values and codecs · signed requests and transports · the embedded engine
    expressions           conditions and updates as values
    operations            DynamoDB's verbs as values
    tables                definitions; create, describe, diff
    records               entities, keys, access patterns, collections, batches, transactions, cursors
    queues                SQS: messages sent, and handled in order
    graph                 nodes, edges, edge sets
    documents             versions, content-addressed blobs, mutations applied exactly once
    streams               handlers of changes; a worker, or AWS Lambda
    tasks                 delayed, durable work that commits with its data
    sync                  documents' clients: Replicache's push and pull
    database, database_async   the two shells: connect() and connect_async()
    cli                   the command line
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.database import BlockingTransaction, Database, connect
from singletable.errors import (
    AlreadyExists,
    Applied,
    ConditionFailed,
    Conflict,
    Corrupt,
    DeclarationError,
    Denied,
    Incomplete,
    InvalidCursor,
    InvalidRequest,
    InvalidValue,
    MissingPath,
    Mistake,
    NotConfigured,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    SingletableError,
    Throttled,
    TooLarge,
    TransactionCancelled,
    TransactionConflict,
    Unavailable,
    VersionMoved,
)
from singletable.expressions import Condition, Update, attr, present
from singletable.flow import Meter
from singletable.later import later
from singletable.records import Failure, Page, Transaction
from singletable.schema import (
    ANY,
    Collection,
    Entity,
    Key,
    KeyOf,
    Query,
    Table,
    after,
    at_least,
    at_most,
    before,
    between,
    collect,
    copy_of,
    field,
    key_of,
    starting_with,
)
from singletable.tables import Index
from singletable.wire import Credentials, RetryPolicy, StaticCredentials, Timeouts

if TYPE_CHECKING:
    from singletable.database_async import AsyncDatabase, connect_async
    from singletable.documents import (
        AsyncDocuments,
        Document,
        Documents,
        Draft,
        Items,
        LocalBlobs,
        Mutation,
        ObjectBlobs,
        Outcome,
        Ref,
        Submission,
        collection,
    )
    from singletable.graph import (
        Edge,
        EdgeMoved,
        GraphTable,
        Linked,
        Member,
        Node,
        NodePage,
        NodeQuery,
        Row,
        link,
        members_of,
        neighbours_of,
    )
    from singletable.queues import (
        Queue,
    )
    from singletable.records import Finding
    from singletable.streams import (
        Change,
        Changes,
        Expired,
        Gap,
        GapWarning,
        Inserted,
        Modified,
        Removed,
        SetAside,
    )
    from singletable.tasks import (
        Backoff,
        ClaimLost,
        DeadLetter,
        Running,
        Tasks,
    )

__version__ = "0.1.0"

__all__ = [
    "ANY",
    "AlreadyExists",
    "Applied",
    "AsyncDatabase",
    "AsyncDocuments",
    "Backoff",
    "BlockingTransaction",
    "Change",
    "Changes",
    "ClaimLost",
    "Collection",
    "Condition",
    "ConditionFailed",
    "Conflict",
    "Corrupt",
    "Credentials",
    "Database",
    "DeadLetter",
    "DeclarationError",
    "Denied",
    "Document",
    "Documents",
    "Draft",
    "Edge",
    "EdgeMoved",
    "Entity",
    "Expired",
    "Failure",
    "Finding",
    "Gap",
    "GapWarning",
    "GraphTable",
    "Incomplete",
    "Index",
    "Inserted",
    "InvalidCursor",
    "InvalidRequest",
    "InvalidValue",
    "Items",
    "Key",
    "KeyOf",
    "Linked",
    "LocalBlobs",
    "Member",
    "Meter",
    "MissingPath",
    "Mistake",
    "Modified",
    "Mutation",
    "Node",
    "NodePage",
    "NodeQuery",
    "NotConfigured",
    "NotFound",
    "NotUnique",
    "ObjectBlobs",
    "Outcome",
    "OutcomeUnknown",
    "Page",
    "Query",
    "Queue",
    "Ref",
    "Removed",
    "RetryPolicy",
    "Row",
    "Running",
    "SetAside",
    "SingletableError",
    "StaticCredentials",
    "Submission",
    "Table",
    "Tasks",
    "Throttled",
    "Timeouts",
    "TooLarge",
    "Transaction",
    "TransactionCancelled",
    "TransactionConflict",
    "Unavailable",
    "Update",
    "VersionMoved",
    "after",
    "at_least",
    "at_most",
    "attr",
    "before",
    "between",
    "collect",
    "collection",
    "connect",
    "connect_async",
    "copy_of",
    "field",
    "key_of",
    "link",
    "members_of",
    "neighbours_of",
    "present",
    "starting_with",
]


# What a program may do without: the awaiting shell brings asyncio, and each layer above records its own weight.
_LATE = {
    "singletable.database_async": ("AsyncDatabase", "connect_async"),
    "singletable.graph": (
        "Edge",
        "EdgeMoved",
        "GraphTable",
        "Linked",
        "Member",
        "Node",
        "NodePage",
        "NodeQuery",
        "Row",
        "link",
        "members_of",
        "neighbours_of",
    ),
    "singletable.records": ("Finding",),
    "singletable.queues": ("Queue",),
    "singletable.documents": (
        "AsyncDocuments",
        "Document",
        "Documents",
        "Draft",
        "Items",
        "LocalBlobs",
        "Mutation",
        "ObjectBlobs",
        "Outcome",
        "Ref",
        "Submission",
        "collection",
    ),
    "singletable.streams": (
        "Change",
        "Changes",
        "Expired",
        "Gap",
        "GapWarning",
        "Inserted",
        "Modified",
        "Removed",
        "SetAside",
    ),
    "singletable.tasks": (
        "Backoff",
        "ClaimLost",
        "DeadLetter",
        "Running",
        "Tasks",
    ),
}
__getattr__ = later(globals(), {name: module for module, names in _LATE.items() for name in names})
