"""Different reads in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from singletable.errors import InvalidRequest
from singletable.flow import Port, side_by_side
from singletable.records.first_use import ready
from singletable.records.read import get, get_collection, read_all
from singletable.records.unreadable import OnUnreadable
from singletable.schema import Every, KeyOf, Query, Whole, check_query


async def together(port: Port, reads: Sequence[Any], unreadable: OnUnreadable = None) -> tuple[Any, ...]:
    """The answers of reads, in their order: the first page of each in one round trip, further ones in the next.

    The first error is raised when the requests under way have ended. An invalid read is refused before any is sent.
    """
    for table in dict.fromkeys(_query_of(read).model.table for read in reads):
        await ready(port, table)
    return tuple(await side_by_side(port, [partial(_read, read=read, unreadable=unreadable) for read in reads]))


def _query_of(read: Any) -> Query[Any]:
    query: Any = read.query if _is(read, Every) or _is(read, Whole) else read
    check_query(query)
    if _is_key(read) and not read.is_one_key:
        raise InvalidRequest(
            f"{read.captured.shown} names several items here",
            operation="together",
            hint=f"For all of them: {read.captured.shown}(...).every().",
        )
    found: Query[Any] = query
    return found


def _is_key(read: Any) -> bool:
    """Whether it is a key, not a query that was made of one: by `where`, `newest_first` or `also`."""
    return _is(read, KeyOf) and read.filter is None and not read.descending and len(read.kinds) == 1


async def _read(port: Port, read: Any, unreadable: OnUnreadable) -> Any:
    if _is(read, Whole):
        return await get_collection(port, read, unreadable=unreadable)
    if _is_key(read):
        return await get(port, read, unreadable)
    return await read_all(port, read.query if _is(read, Every) else read, unreadable=unreadable)


def _is(read: Any, kind: type[Any]) -> bool:
    return isinstance(read, kind)
