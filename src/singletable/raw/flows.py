"""Flows over plain items: reads, and batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from singletable.errors import Incomplete, InvalidRequest
from singletable.flow import Port
from singletable.foundation import CursorSeal, Page, Position, read_batches, too_many_pages, write_batches
from singletable.operations import MAX_ACTIONS, AnswerPage, GetItem, Key, TransactGetItems
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


async def write_many(
    port: Port, table: RawTable, puts: Iterable[Mapping[str, Any]], deletes: Iterable[Mapping[str, Any]]
) -> None:
    """Put and delete items, 25 in a request, each by itself, without conditions."""
    await table.ready(port)
    requests: list[dict[str, Any]] = [{"PutRequest": {"Item": stored(item, "write_many")}} for item in puts]
    requests += [{"DeleteRequest": {"Key": stored(key, "write_many")}} for key in deletes]
    _check_apart(table, [next(iter(each.values())) for each in requests])
    await write_batches(port, table.name, requests, _given)


def _check_apart(table: RawTable, requests: Sequence[Mapping[str, Key]]) -> None:
    """Raise InvalidRequest for two writes of one item. A deletion tells the key's attributes of a table that isn't
    declared; without one the service refuses two in one request, as it does an item without its key."""
    names = table.key or next((tuple(each["Key"]) for each in requests if "Key" in each), ())
    written = [item for each in requests for item in each.values() if item.keys() >= {*names}]
    places = [
        tuple((tag, lone_text(tag, value)) for name in names for tag, value in item[name].items()) for item in written
    ]
    if names and len({*places}) < len(places):
        raise InvalidRequest(
            "two writes of the same item in one batch, which has no order",
            table=table.name,
            operation="write_many",
            hint="Remove one, or send them one after the other.",
        )


def _given(request: Mapping[str, Any]) -> RawItem:
    """The item or the key of a request."""
    put = request.get("PutRequest")
    return PLAIN.load(put["Item"] if put else request["DeleteRequest"]["Key"])


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
