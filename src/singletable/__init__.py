"""singletable: one DynamoDB table, declared once in plain Python; every access pattern a typed, named, measured call.

The names here are those of a first application; a layer's names come from its package, other errors from
`singletable.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.version import VERSION

if TYPE_CHECKING:
    from singletable.database import Database as Database, connect as connect
    from singletable.database_async import AsyncDatabase as AsyncDatabase, connect_async as connect_async
    from singletable.errors import (
        AlreadyExists as AlreadyExists,
        ConditionFailed as ConditionFailed,
        InvalidCursor as InvalidCursor,
        InvalidRequest as InvalidRequest,
        InvalidValue as InvalidValue,
        NotFound as NotFound,
        NotUnique as NotUnique,
        OutcomeUnknown as OutcomeUnknown,
        SingletableError as SingletableError,
        TransactionCancelled as TransactionCancelled,
        Unavailable as Unavailable,
        VersionMoved as VersionMoved,
    )
    from singletable.expressions import Condition as Condition, Update as Update, attr as attr, present as present
    from singletable.flow import Meter as Meter
    from singletable.records import Page as Page
    from singletable.schema import (
        ANY as ANY,
        Collection as Collection,
        Entity as Entity,
        Key as Key,
        KeyOf as KeyOf,
        Query as Query,
        Table as Table,
        after as after,
        at_least as at_least,
        at_most as at_most,
        before as before,
        between as between,
        collect as collect,
        copy_of as copy_of,
        field as field,
        key_of as key_of,
        starting_with as starting_with,
    )
    from singletable.tables import Index as Index

__version__ = VERSION


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
    return sorted({*globals(), *__getattr__("__all__")})
