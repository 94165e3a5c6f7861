"""Pages of a partition whose class's key was another: the items under the new key and those under the old one, merged.

The old partition is read first, then the new one, consistently: an item that moves meanwhile is in the second answer.
So each item comes once, in the order of the new key, which is that of the old one too (`schema.old_keys`). Where a page
of one of the two ends before that of the other, the items after its end are left to the next page.

A position is a place under the new key, and stands for the same place under the old one: cursors outlive the move.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.flow import Port
from singletable.operations import RAW, AnswerPage, Item, Key
from singletable.records.moves import at_new_key
from singletable.records.query_request import prepare_query
from singletable.records.readers import reader_of
from singletable.records.shards import ShardMerge
from singletable.records.unreadable import OnUnreadable, load_or_tell
from singletable.schema import KeyOf, Model, MovingKey, Query


class _Row(Struct, frozen=True):
    """An item, with its key and the sort texts of both its keys. It lies under one of them."""

    key: KeyOf[Any]
    sort: str
    old_sort: str
    item: Item


class _RowsOfKey(Struct, frozen=True):
    """The rows under one of the two keys, and the sort text after which more may follow."""

    rows: list[_Row]
    end: str | None


async def read_both(
    port: Port, query: Query[Any], after: Key | None, limit: int | None, unreadable: OnUnreadable = None
) -> AnswerPage[Any]:
    """Up to `limit` items after a position, or two pages of up to 1 MB. Two requests, unless a filter leaves out most.
    An unreadable item has no place under the new key; if a page ends before it, the next page reports it again.

    Units as for two queries; the one under the new key is consistent.
    """
    model, shown = query.model, f"Query of {query.captured.shown}"
    assert isinstance(query, MovingKey), "its class moves"
    old_part, new_part = query.both
    old = await _read(port, query, old_part, _old_position(model, query, after), limit, unreadable, is_old=True)
    new = await _read(port, query, new_part, after, limit, unreadable, is_old=False)
    rows = {row.sort: row for row in (*old.rows, *new.rows)}
    ordered = sorted(rows.values(), key=lambda row: row.sort.encode(), reverse=query.descending)
    known = [
        row for row in ordered if _is_before(query, row.sort, new.end) and _is_before(query, row.old_sort, old.end)
    ]
    taken = known[:limit]
    is_over = old.end is None and new.end is None and len(taken) == len(ordered)
    position = None if is_over else model.key_item(taken[-1].key)
    reader = reader_of(query.kinds, query.attributes)
    loaded = [load_or_tell(reader, row.item, unreadable, shown) for row in taken]
    return AnswerPage([each for each in loaded if each is not None], position, len(ordered), b"")


async def _read(
    port: Port,
    query: Query[Any],
    part: Query[Any],
    after: Key | None,
    limit: int | None,
    unreadable: OnUnreadable,
    *,
    is_old: bool,
) -> _RowsOfKey:
    """The first pages under one key that have a row."""
    prepared, merge = prepare_query(part, port.now()), ShardMerge(RAW)
    sort = prepared.table.definition.key[1]
    while True:
        page: AnswerPage[Item] = (
            await merge(port, part, after, limit)
            if part.shards
            else await port.send(replace(prepared.operation(after, limit), reader=RAW))
        )
        rows = list(_rows(query, page.items, unreadable, prepared.shown, is_old=is_old))
        after = page.after
        if rows or after is None:
            return _RowsOfKey(rows, None if after is None else str(after[sort]["S"]))


def _rows(
    query: Query[Any], items: list[Item], unreadable: OnUnreadable, operation: str, *, is_old: bool
) -> Iterator[_Row]:
    """The items of the query that lie under one of the two keys. The other's may lie in the same partition."""
    model, was = query.model, query.model.key.was
    assert was is not None
    lies_in = model.before if is_old else model
    low, high = query.low.encode(), query.high.encode()
    for item in items:
        entity = load_or_tell(lies_in, item, unreadable, operation)
        if entity is None or lies_in.is_moved(entity, item) is is_old:
            continue
        partition, sort = model.place_of(entity)
        if partition in (query.shards or (query.partition,)) and low <= sort.encode() <= high:
            key = _key_at(query, partition, sort)
            yield _Row(key, sort, was.templates[1].write_of(entity), at_new_key(lies_in, key, item))


def _is_before(query: Query[Any], sort: str, end: str | None) -> bool:
    """Whether a place lies before the end of a page, or at it."""
    if end is None:
        return True
    return sort.encode() >= end.encode() if query.descending else sort.encode() <= end.encode()


def _key_at(query: Query[Any], partition: str, sort: str) -> KeyOf[Any]:
    return KeyOf(query.kinds, query.captured, partition, sort, sort, len(query.captured.templates[1].parts))


def _old_position(model: Model[Any], query: Query[Any], after: Key | None) -> Key | None:
    """The position under the old key that a position under the new one stands for."""
    if after is None:
        return None
    partition, sort = (str(after[name]["S"]) for name in model.key_attributes)
    key = model.old_key(_key_at(query, partition, sort))
    return model.key_item(key)
