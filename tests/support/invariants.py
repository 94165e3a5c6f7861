"""What must hold of a table after any sequence of writes: no ghost items, and index keys equal to their templates."""

from __future__ import annotations

from typing import Any

from singletable import Table
from singletable.flow.port import Port
from tests.support.raw import all_items


async def broken(port: Port, table: Table) -> list[str]:
    """What is wrong in a table, as sentences; empty when all holds."""
    return [wrong for item in await all_items(port, table.name) for wrong in _wrong_with(table, item)]


def _wrong_with(table: Table, item: dict[str, Any]) -> list[str]:
    definition = table.definition
    said = item.get(definition.type_attribute, {}).get("S", "")
    model = table.model_of_type(said)
    where = " / ".join(item[name]["S"] for name in definition.key)
    if model is None:
        return [f"{where}: an item of no class, left by a write ({said!r})"]
    entity = model.load(item)
    if entity is None:
        return [f"{where}: can't be read as {model.kind.__name__}"]
    whole = model.item(entity)
    keys = [*definition.key, *(n for i in definition.indexes.values() for n in (i.partition, i.sort))]
    return [
        f"{where}: {name} is {item.get(name)}, its template gives {whole.get(name)}"
        for name in keys
        if item.get(name) != whole.get(name)
    ]
