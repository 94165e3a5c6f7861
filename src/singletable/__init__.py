"""singletable: one DynamoDB table, declared once in plain Python; every access pattern a typed, named, measured call.

The names here are those of a first application; a layer's names come from its package, other errors from
`singletable.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.version import VERSION

if TYPE_CHECKING:
    from singletable.database import Database, connect
    from singletable.database_async import AsyncDatabase, connect_async
    from singletable.errors import (
        AlreadyExists,
        ConditionFailed,
        InvalidCursor,
        InvalidRequest,
        InvalidValue,
        NotFound,
        NotUnique,
        OutcomeUnknown,
        SingletableError,
        TransactionCancelled,
        Unavailable,
        VersionMoved,
    )
    from singletable.expressions import Condition, Update, attr, present
    from singletable.flow import Meter
    from singletable.records import Page
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

__version__ = VERSION

__all__ = [
    "ANY",
    "AlreadyExists",
    "AsyncDatabase",
    "Collection",
    "Condition",
    "ConditionFailed",
    "Database",
    "Entity",
    "Index",
    "InvalidCursor",
    "InvalidRequest",
    "InvalidValue",
    "Key",
    "KeyOf",
    "Meter",
    "NotFound",
    "NotUnique",
    "OutcomeUnknown",
    "Page",
    "Query",
    "SingletableError",
    "Table",
    "TransactionCancelled",
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
    "copy_of",
    "field",
    "key_of",
    "present",
    "starting_with",
]

# A module of declarations loads no transport, a blocking program no asyncio.
__getattr__ = late_names(
    __name__,
    database="Database connect",
    database_async="AsyncDatabase connect_async",
    errors="AlreadyExists ConditionFailed InvalidCursor InvalidRequest InvalidValue NotFound NotUnique "
    "OutcomeUnknown SingletableError TransactionCancelled Unavailable VersionMoved",
    expressions="Condition Update attr present",
    flow="Meter",
    records="Page",
    schema="ANY Collection Entity Key KeyOf Query Table after at_least at_most before between collect copy_of field "
    "key_of starting_with",
    tables="Index",
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
