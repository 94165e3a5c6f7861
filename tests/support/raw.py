"""Items as the engine stores them, past the library's entities: to look at, and to put what no entity would write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from singletable.flow.port import Port
from singletable.operations import GetItem, Item, PutItem, Scan, Selection
from singletable.records.first_use import ready
from singletable.schema.models import model_of


class RawReader:
    """Reads an item as the dict that it is."""

    wire = Raw

    def build(self, wire: Raw) -> dict[str, Any]:
        return dict(msgspec.json.decode(wire))

    def load(self, item: Item) -> dict[str, Any]:
        return dict(item)


async def stored(port: Port, key: Any) -> dict[str, Any] | None:
    """The item under a key, whatever class it is of."""
    model = key.model
    return await port.send(GetItem(model.table.name, model.key_item(key), RawReader(), consistent=True))


async def put_raw(port: Port, kind: type[Any], item: Mapping[str, Any]) -> None:
    """Write an item as it is into the table of a class."""
    table = model_of(kind).table
    await ready(port, table)
    await port.send(PutItem(table.name, item))


async def all_items(port: Port, table: str) -> list[dict[str, Any]]:
    """Every item of a table."""
    items: list[dict[str, Any]] = []
    position = None
    while True:
        found = await port.send(Scan(table, Selection(limit=1000, after=position, consistent=True), RawReader()))
        items += found.items
        position = found.after
        if position is None:
            return items
