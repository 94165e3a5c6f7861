"""singletable: one DynamoDB table, declared once in plain Python; every access pattern a typed, named, measured call.

The front door. A map of the house, from the ground up, each floor importing only from those below:

    errors                one tree
    values  wire  local   attribute values and codecs · signed requests and transports · the embedded engine
    expressions           conditions and updates as values
    operations            DynamoDB's verbs as values
    tables                definitions; create, describe, diff
    records               entities, keys, access patterns, collections, batches, transactions, cursors
    graph                 nodes, edges, edge sets
    database, database_async   the two shells: connect() and connect_async()
    cli                   the command line
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from singletable.database import BlockingTransaction, Database, connect
from singletable.errors import (
    AlreadyExists,
    ConditionFailed,
    Conflict,
    Corrupt,
    DeclarationError,
    Denied,
    Incomplete,
    InvalidCursor,
    InvalidRequest,
    InvalidValue,
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
from singletable.records import (
    ANY,
    Collection,
    Entity,
    Failure,
    Finding,
    Key,
    KeyOf,
    Page,
    Query,
    Table,
    Transaction,
    after,
    at_least,
    at_most,
    before,
    between,
    collect,
    field,
    key_of,
    starting_with,
)
from singletable.tables import Index
from singletable.wire import Credentials, Meter, RetryPolicy, StaticCredentials, Timeouts

if TYPE_CHECKING:
    from singletable.database_async import AsyncDatabase, connect_async

__version__ = "0.1.0"

__all__ = [
    "ANY",
    "AlreadyExists",
    "AsyncDatabase",
    "BlockingTransaction",
    "Collection",
    "Condition",
    "ConditionFailed",
    "Conflict",
    "Corrupt",
    "Credentials",
    "Database",
    "DeclarationError",
    "Denied",
    "Edge",
    "EdgeMoved",
    "Entity",
    "Failure",
    "Finding",
    "GraphTable",
    "Incomplete",
    "Index",
    "InvalidCursor",
    "InvalidRequest",
    "InvalidValue",
    "Key",
    "KeyOf",
    "Linked",
    "Member",
    "Meter",
    "Mistake",
    "Node",
    "NodePage",
    "NodeQuery",
    "NotConfigured",
    "NotFound",
    "NotUnique",
    "OutcomeUnknown",
    "Page",
    "Query",
    "RetryPolicy",
    "Row",
    "SingletableError",
    "StaticCredentials",
    "Table",
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
    "connect",
    "connect_async",
    "field",
    "key_of",
    "link",
    "members_of",
    "neighbours_of",
    "present",
    "starting_with",
]


def __getattr__(name: str) -> Any:
    """The awaiting shell, when first asked for: it brings asyncio, which a blocking program needn't load."""
    if name in ("AsyncDatabase", "connect_async"):
        from singletable import database_async  # noqa: PLC0415

        return getattr(database_async, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
