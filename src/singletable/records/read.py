"""Flows that read: one item, a page, every page, a scan."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.structs import replace

from singletable.errors import Corrupt, InvalidRequest
from singletable.expressions import Expressions
from singletable.flow import Port, note_estimate
from singletable.operations import AnswerPage, GetItem, Key, Scan, Selection
from singletable.records.conditions import both, is_alive, is_among, is_answer
from singletable.records.cursors import Binding, CursorSeal
from singletable.records.first_use import ready
from singletable.records.page import Page, Position
from singletable.records.placement import ReadParts, placement_of
from singletable.records.query_request import (
    PreparedQuery,
    check_whole,
    key_of_item,
    look,
    prepare_query,
    projected,
    side_of_range,
)
from singletable.records.readers import reader_of
from singletable.records.unreadable import OnUnreadable, TellingReader, Unreadable, readable
from singletable.schema import Collection, KeyOf, Model, Query, Whole, check_class, model_of

if TYPE_CHECKING:
    from singletable.schema import SearchQuery

T = TypeVar("T")
C = TypeVar("C", bound=Collection)

DEFAULT_LIMIT = 100
DEFAULT_MAX_PAGES = 100
_MOST_SEGMENTS_OF_ONE_READER = 64


async def get(port: Port, key: KeyOf[T], unreadable: OnUnreadable = None) -> T | None:
    """The entity of a key, or None. One request: half a read unit for each 4 KB, a whole one if consistent.

    Where nothing lies under the key, and the item may lie elsewhere, one request more.
    """
    operation = get_operation(key, whole=port.traits.counts_parts)
    model = key.model
    await ready(port, model.table)
    if unreadable is not None:
        operation = replace(operation, reader=TellingReader(operation.reader))
    entity: T | None = await port.send(operation)
    if unreadable is not None and isinstance(entity, Unreadable):
        readable([entity], unreadable, "GetItem")
        return None
    if entity is None or model.is_expired(entity, port.now()):
        find = placement_of(model).find
        return None if find is None else await find(port, key, unreadable)
    return None if model.is_ambiguous and not is_answer(key, entity) else entity


def get_operation(key: KeyOf[Any], *, consistent: bool = False, whole: bool = False) -> GetItem[Any]:
    """The request for one item. `whole` fetches all of it, also with only(...)."""
    check_whole(key)
    model = key.model
    if not key.attributes:
        return GetItem(model.table.name, model.key_item(key), model, key.strong or consistent, pattern=key.captured)
    reader = reader_of(key.kinds, key.attributes)
    if whole:
        return GetItem(model.table.name, model.key_item(key), reader, key.strong, pattern=key.captured)
    expressions = Expressions()
    projection = expressions.projection(projected((model,), key.attributes, tuple(filter(None, model.key_attributes))))
    names = expressions.names
    return GetItem(model.table.name, model.key_item(key), reader, key.strong, projection, names, key.captured)


async def page(
    port: Port,
    query: Query[T],
    limit: int,
    after: str | None,
    seal: CursorSeal,
    principal: str | None = None,
    max_pages: int = DEFAULT_MAX_PAGES,
    unreadable: OnUnreadable = None,
) -> Page[T]:
    """Up to `limit` items from a cursor's position. One request, unless a filter leaves out most of what is read.

    What can't be read takes its place among them: the requests and the cursor are the same.
    """
    if limit < 1:
        raise InvalidRequest(
            f"a page has at least one item, not {limit}", operation=query.captured.shown, hint="Pass limit=1 or more."
        )
    prepared = await open_query(port, query, unreadable)
    position: Key | None = None
    if after is not None:
        binding = _binding(query, prepared.table.name, principal)
        position = _resume(prepared, seal.open(after, binding, port.now()))
        if position is _BEYOND:
            return Page(())
    read_parts = prepared.read_parts
    items: list[Any] = []
    for _ in range(max_pages):
        wanted = limit - len(items)
        answer: AnswerPage[Any] = (
            await port.send(prepared.operation(position, look(prepared, wanted)))
            if read_parts is None
            else await read_parts(port, query, position, wanted, unreadable)
        )
        items += answer.items
        position = answer.after
        if len(items) > limit:
            position = key_of_item(prepared, answer, len(answer.items) - (len(items) - limit) - 1)
            del items[limit:]
        if position is None or len(items) >= limit:
            break
    told = items if unreadable is None else readable(items, unreadable, prepared.shown)
    if position is None:
        return Page(told)
    return Page(told, Position(position, _binding(query, prepared.table.name, principal), seal, port.now()))


async def read_page(port: Port, prepared: PreparedQuery, after: Key | None) -> AnswerPage[Any]:
    """One page of the service's own size, up to 1 MB, for iteration."""
    unreadable = prepared.unreadable
    if prepared.read_parts is not None:
        return await prepared.read_parts(port, prepared.query, after, None, unreadable)
    answer: AnswerPage[Any] = await port.send(prepared.operation(after, None))
    if unreadable is None:
        return answer
    return replace(answer, items=readable(answer.items, unreadable, prepared.shown))


def _reader_of_parts(query: Query[Any]) -> ReadParts:
    """The flow that reads the next items of a query that takes more than a request: one for each read."""
    if query.has_parts and query.answers == "items":
        read_both = placement_of(query.model).read_parts
        assert read_both is not None, "the class is moving"
        return read_both
    merge: ReadParts | None = None
    if query.shards:
        from singletable.records.shards import ShardMerge  # noqa: PLC0415 few keys have shards

        merge = ShardMerge()
    if query.answers == "items by key":
        from singletable.records.hydration import read_hydrated  # noqa: PLC0415 few queries read by keys

        return partial(read_hydrated, read_keys=merge)
    assert merge is not None, "the query has shards"
    return merge


async def open_query(port: Port, query: Query[Any], unreadable: OnUnreadable = None) -> PreparedQuery:
    """Prepare a query and its table for `read_page`."""
    if getattr(query, "answers", "items") == "items by word":  # what is no query is refused below
        from singletable.records.word_search import prepare_search  # noqa: PLC0415 few classes have a search

        await ready(port, query.model.table)
        return prepare_search(cast("SearchQuery[Any]", query), port.now(), unreadable)
    prepared = prepare_query(query, port.now(), unreadable)
    await ready(port, prepared.table)
    if query.has_parts or query.shards:
        return replace(prepared, read_parts=_reader_of_parts(query))
    return prepared


async def read_pages(port: Port, query: Query[T], unreadable: OnUnreadable = None) -> AsyncIterator[Sequence[T]]:
    """Everything of a query, a page of up to 1 MB at a time."""
    prepared, after = await open_query(port, query, unreadable), None
    while True:
        found = await read_page(port, prepared, after)
        yield found.items
        after = found.after
        if after is None:
            return


async def read_all(
    port: Port, query: Query[T], max_pages: int = DEFAULT_MAX_PAGES, unreadable: OnUnreadable = None
) -> list[T]:
    """All items of a query. Raises InvalidRequest if they take more than `max_pages` pages of up to 1 MB."""
    prepared = await open_query(port, query, unreadable)
    items: list[T] = []
    position: Key | None = None
    for _ in range(max_pages):
        answer = await read_page(port, prepared, position)
        items += answer.items
        position = answer.after
        if position is None:
            return items
    raise too_many_pages(max_pages, len(items), query.captured.shown)


def too_many_pages(
    max_pages: int,
    count: int,
    operation: str,
    table: str | None = None,
    instead: str = "iter() or page(), which load",
) -> InvalidRequest:
    """The error of a read of everything that ended at its pages, after some items. `instead` names verbs for more."""
    return InvalidRequest(
        f"more than {max_pages} pages: {count} items were read, and more exist",
        table=table,
        operation=operation,
        hint=f"Raise max_pages, or use {instead} one page at a time.",
    )


def scan_positions(kind: type[Any], segment: int | None, segments: int) -> dict[int, Key | None]:
    """The start of each part of a scan: all `segments` parts, or one. Raises InvalidRequest for an invalid part.

    Part n of the table that a class's items move from is ~n.
    """
    from singletable.records.segments import MOST_PARTS  # noqa: PLC0415 for scans only

    check_class(kind)
    if not (1 <= segments <= MOST_PARTS and (segment is None or 0 <= segment < segments)):
        raise InvalidRequest(f"segment {segment} of {segments}: segments are numbered from 0")
    if segment is None and segments > _MOST_SEGMENTS_OF_ONE_READER:
        raise InvalidRequest(
            f"a scan of {segments} parts holds a page of each; one reader takes {_MOST_SEGMENTS_OF_ONE_READER} at most",
            hint="Give each process its part: segment=, segments=.",
        )
    parts = range(segments) if segment is None else (segment,)
    model: Model[Any] = model_of(kind)
    return dict.fromkeys(parts if model.before is model else (*(~n for n in parts), *parts))


async def read_scan_pages(
    port: Port,
    kind: type[T],
    positions: dict[int, Key | None],
    segments: int,
    consistent: bool,
    unreadable: OnUnreadable = None,
) -> Iterator[Sequence[T]]:
    """The next page of each segment in `positions`, which it moves on; segments that end leave it. One round trip for
    16 of them. A table that items move from is read to its end first: none is missed, and one that moves meanwhile
    comes twice."""
    model: Model[Any] = model_of(kind)
    await ready(port, model.table)
    limit = port.traits.scan_page_limit
    if limit is not None:
        note_estimate("Scan", f"pages of {limit} items are rounded up one by one; AWS rounds up pages of 1 MB")
    read = [n for n in positions if n < 0] or list(positions)
    consistent = consistent or model.before is not model
    parts = [(model, n, n) if n >= 0 else (model.before, ~n, n) for n in read]
    operations = [
        scan_operation(lies_in, part, segments, positions[n], consistent, limit, port.now())
        for lies_in, part, n in parts
    ]
    if unreadable is not None:
        operations = [replace(each, reader=TellingReader(each.reader)) for each in operations]
    pages: list[AnswerPage[T]] = await port.send_all(operations)
    for segment, page in zip(read, pages, strict=True):
        positions[segment] = page.after
        if page.after is None:
            del positions[segment]
    return (readable(page.items, unreadable, "Scan") for page in pages)


def scan_operation(
    model: Model[Any], segment: int, segments: int, after: Key | None, consistent: bool, limit: int | None, now: float
) -> Scan[Any]:
    expressions = Expressions()
    wanted = both(is_among((model,), "="), is_alive(model, now))
    filter = None if wanted is None else expressions.condition(wanted)
    selection = Selection(None, filter, None, expressions.names, expressions.values, limit, after, consistent)
    return Scan(model.table.name, selection, model, segment, segments)


def _binding(query: Query[Any], table: str, principal: str | None) -> Binding:
    direction = "down" if query.descending else "up"
    return (table, query.index or "", query.captured.shown, query.partition, direction, principal or "")


_BEYOND: Key = {}
"""A position after the last item of this call's range."""


def _resume(prepared: PreparedQuery, position: Key) -> Key | None:
    """The start position; None for the beginning, if the cursor's position is before this call's range."""
    query = prepared.query
    name = prepared.table.definition.index_keys(query.index)[1]
    if not name:
        return position
    side = side_of_range(query, next(iter(position[name].values())))
    if not side:
        return position
    return _BEYOND if (side < 0) is query.descending else None


async def get_collection(
    port: Port, whole: Whole[C], max_pages: int = DEFAULT_MAX_PAGES, unreadable: OnUnreadable = None
) -> C | None:
    """A partition as a collection; None if one of its required single items is missing.

    One request for each MB of the partition, at most `max_pages`; InvalidRequest if it has more.
    """
    items: list[Any] = await read_all(port, whole.query, max_pages, unreadable)
    by_kind: dict[type[Any], list[Any]] = {}
    for item in items:
        kind: type[Any] = item.__class__
        by_kind.setdefault(kind, []).append(item)
    values: dict[str, Any] = {}
    for name, place in whole.kind.__collection_fields__.items():
        members = by_kind.get(place.kind, [])
        if place.many:
            values[name] = members
        elif members:
            values[name] = _single(whole, name, members)
        elif place.optional:
            values[name] = None
        else:
            return None
    return whole.kind(**values)  # type: ignore[no-any-return]


def _single(whole: Whole[Any], name: str, members: list[Any]) -> Any:
    if len(members) > 1:
        raise Corrupt(
            f"{len(members)} items where {whole.kind.__name__}.{name} holds one",
            key=whole,
            hint=f"Declare it as list[{type(members[0]).__name__}].",
        )
    return members[0]
