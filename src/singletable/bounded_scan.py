"""Some items of a class where no access pattern lists them: a bounded part of a scan, and where it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from singletable.flow import Port
from singletable.foundation import CursorSeal, Table, ready
from singletable.operations import RAW, Item, Key, Scan, Selection

MOST_SCANNED = 250
"""Items read for one list."""


class Sampled(Struct, frozen=True):
    """Items of some types, in no order that means anything."""

    items: Sequence[Item]
    cursor: str | None
    """Where the next part begins; None at the table's end."""


async def sampled(
    port: Port, seal: CursorSeal, table: Table, types: Sequence[str], after: str | None, limit: int
) -> Sampled:
    """Up to `limit` items of some types, from at most MOST_SCANNED that are read.

    One request, several on an engine of small pages; half a unit for each 4 KB that is read. InvalidCursor.
    """
    await ready(port, table)
    binding = (table.name, "sample", *types)
    position: Key | None = None if after is None else seal.open(after, binding, port.now())
    items: list[Item] = []
    left = MOST_SCANNED
    while left > 0:
        page = await port.send(_scan(port, table, types, position, left))
        left -= min(port.traits.scan_page_limit or MOST_SCANNED, left)
        for item in _of_types(table, types, page.items):
            items.append(item)
            if len(items) == limit:
                key = {name: item[name] for name in table.definition.key if name}
                return Sampled(items, seal.seal(key, binding, port.now()))
        position = page.after
        if position is None:
            return Sampled(items, None)
    return Sampled(items, seal.seal(position or {}, binding, port.now()))


def _scan(port: Port, table: Table, types: Sequence[str], after: Key | None, left: int) -> Scan[Any]:
    names = {"#t": table.definition.type_attribute}
    values: dict[str, Any] = {f":{n}": {"S": type} for n, type in enumerate(types)}
    is_by_key = table.definition.foreign  # an item without the attribute is of the class whose key it has
    selection = Selection(
        filter=None if is_by_key else f"#t IN ({', '.join(values)})",
        names={} if is_by_key else names,
        values={} if is_by_key else values,
        limit=min(port.traits.scan_page_limit or left, left),
        after=after,
    )
    return Scan(table.name, selection, RAW)


def _of_types(table: Table, types: Sequence[str], items: Sequence[Item]) -> Sequence[Item]:
    """The items of some types, where no filter could tell them."""
    return [item for item in items if table.type_of(item) in types] if table.definition.foreign else items
