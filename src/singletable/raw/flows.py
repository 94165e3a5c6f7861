"""Flows over plain items: reads, and batches."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, islice
from typing import Any

from msgspec import Raw

from singletable.errors import Incomplete, InvalidRequest
from singletable.flow import Port
from singletable.foundation import (
    BulkWrite,
    BulkWrites,
    CursorSeal,
    Page,
    Position,
    Source,
    read_batches,
    too_many_pages,
    write_batches,
    write_in_rounds,
)
from singletable.operations import (
    MAX_ACTIONS,
    AnswerPage,
    GetItem,
    Key,
    TransactGetItems,
    delete_request,
    place_of,
    put_request,
)
from singletable.raw.items import PLAIN, RawItem, RawTable, stored
from singletable.raw.queries import RawQuery
from singletable.values import lone_text

Place = tuple[tuple[str, Any], ...]
"""A key by its attributes, in one order."""


async def get(
    port: Port, table: RawTable, key: Mapping[str, Any], only: str, names: Mapping[str, str], *, consistent: bool
) -> RawItem | None:
    await table.ready(port)
    return await port.send(
        GetItem(table.name, stored(key, "get"), PLAIN, consistent, only or None, names if only else None)
    )


async def get_many(
    port: Port, table: RawTable, keys: Iterable[Mapping[str, Any]], *, consistent: bool, at_once: bool
) -> list[RawItem]:
    """The items of the keys, in the order of the keys; missing ones are left out."""
    await table.ready(port)
    wanted: dict[Place, Key] = {}
    for key in keys:
        wire = stored(key, "get_many")
        wanted[_place(PLAIN.load(wire))] = wire
    if not wanted:
        return []
    if at_once:
        if len(wanted) > MAX_ACTIONS:
            raise InvalidRequest(
                f"{len(wanted)} items at one point in time; DynamoDB allows {MAX_ACTIONS}",
                table=table.name,
                operation="get_many",
                hint="Read them in several calls, or without at_once.",
            )
        port.traits.check("transactions", "at_once")
        gets = [GetItem(table.name, key, PLAIN) for key in wanted.values()]
        return [item for item in await port.send(TransactGetItems(gets)) if item is not None]
    items, rest = await read_batches(port, table.name, list(wanted.values()), PLAIN, consistent)
    if rest:
        raise Incomplete(
            f"{len(rest)} of {len(wanted)} items could not be read: the table is throttled",
            rest=tuple(PLAIN.load(key) for key in rest),
            table=table.name,
            operation="get_many",
            hint="The remaining keys are in the error's `rest`: read them again later.",
        )
    names = [name for name, _ in next(iter(wanted))]
    found = {_place({name: item[name] for name in names}): item for item in items}
    return [found[place] for place in wanted if place in found]


async def write_many(port: Port, table: RawTable, puts: Source, deletes: Source) -> None:
    """Put and delete items, 25 in a request, each by itself, without conditions."""
    await table.ready(port)
    names, deletes = await _key_names(port, table, deletes)

    def writes_of(puts: Iterable[Mapping[str, Any]], deletes: Iterable[Mapping[str, Any]]) -> Iterator[BulkWrite[str]]:
        for item in puts:
            wire = stored(item, "write_many")
            yield table.name, _place_of(wire, names), item, put_request(wire)
        for key in deletes:
            wire = stored(key, "write_many")
            yield table.name, _place_of(wire, names), key, delete_request(wire)

    async def send(name: str, writes: BulkWrites) -> None:
        await write_batches(port, name, [request for _, request in writes.values()], _given)

    await write_in_rounds(port, writes_of, puts, deletes, send, _repeated)


async def _key_names(port: Port, table: RawTable, deletes: Source) -> tuple[Sequence[str], Source]:
    """The attributes of the table's key, and the deletes: the first of them shows the key of a table by its name alone.
    Without any, the service refuses two writes of one item in one request."""
    if table.key:
        return table.key, deletes
    if isinstance(deletes, AsyncIterable):
        items = aiter(deletes)

        async def take() -> Any:
            return await anext(items, None)

        first: list[Any] = await port.call_all([take])
        return _names_in(first[0]), _after(first[0], items)
    rest = iter(deletes)
    first = [*islice(rest, 1)]
    return _names_in(first[0] if first else None), deletes if isinstance(deletes, Sized) else chain(first, rest)


def _names_in(key: Mapping[str, Any] | None) -> Sequence[str]:
    return () if key is None else tuple(stored(key, "write_many"))


async def _after(first: Any, rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    if first is not None:
        yield first
    async for item in rest:
        yield item


def _place_of(wire: Key, names: Sequence[str]) -> Hashable:
    """The place of an item or a key. It differs from all others where the names of the key are not known, or an item
    lacks one, which the service refuses."""
    if not names or not wire.keys() >= {*names}:
        return object()
    return tuple((tag, lone_text(tag, value)) for name in names for tag, value in wire[name].items())


def _repeated(name: str, _: Any) -> InvalidRequest:
    return InvalidRequest(
        "two writes of the same item in one batch, which has no order",
        table=name,
        operation="write_many",
        hint="Remove one, or send them one after the other.",
    )


def _given(write: Raw) -> RawItem:
    """The item or the key of a write."""
    return PLAIN.load(place_of(write))


async def page(
    port: Port,
    table: RawTable,
    query: RawQuery,
    limit: int,
    after: str | None,
    seal: CursorSeal,
    principal: str | None,
    max_pages: int,
) -> Page[RawItem]:
    """Up to `limit` items from a cursor's position."""
    if limit < 1:
        raise InvalidRequest(
            f"a page has at least one item, not {limit}",
            table=table.name,
            operation="page",
            hint="Pass limit=1 or more.",
        )
    await table.ready(port)
    binding = query.binding(table.name, principal)
    position: Key | None = None if after is None else seal.open(after, binding, port.now())
    items: list[RawItem] = []
    for _ in range(max_pages):
        answer = await port.send(query.operation(table.name, position, limit - len(items)))
        items += answer.items
        position = answer.after
        if position is None or len(items) >= limit:
            break
    return Page(items, None if position is None else Position(position, binding, seal, port.now()))


async def read_page(port: Port, table: RawTable, query: RawQuery, after: Key | None) -> AnswerPage[RawItem]:
    await table.ready(port)
    return await port.send(query.operation(table.name, after, _limit(port, query)))


async def read_all(port: Port, table: RawTable, query: RawQuery, max_pages: int) -> list[RawItem]:
    items: list[RawItem] = []
    position: Key | None = None
    for _ in range(max_pages):
        answer = await read_page(port, table, query, position)
        items += answer.items
        position = answer.after
        if position is None:
            return items
    raise too_many_pages(max_pages, len(items), query.shown, table.name)


def _limit(port: Port, query: RawQuery) -> int | None:
    return None if query.condition else port.traits.scan_page_limit


def _place(key: Mapping[str, Any]) -> Place:
    """A key in the form that is compared: its attributes in one order."""
    return tuple(sorted(key.items()))
