"""Reading a whole graph, for those who have to see all of it: pages of raw items, items by their keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from singletable.errors import SingletableError
from singletable.flow.port import Port
from singletable.foundation import Model, Table
from singletable.graph.edges import is_edge
from singletable.operations import MAX_BATCH_GET, BatchGetItem, Item, Key, Scan, Selection
from singletable.operations.answers import RAW

_PAGE = 500

Place = tuple[str, str]
"""An item's key: source and target."""


async def pages(port: Port, table: Table, index: str | None = None, having: str = "") -> AsyncIterator[Sequence[Item]]:
    """Every item of the table, consistently, or every row of an index; `having` an attribute, where one is named."""
    after: Key | None = None
    wanted: dict[str, Any] = {"filter": "attribute_exists(#0)", "names": {"#0": having}} if having else {}
    while True:
        selection = Selection(index, limit=_PAGE, after=after, consistent=index is None, **wanted)
        page = await port.send(Scan(table.name, selection, RAW))
        yield page.items
        after = page.after
        if after is None:
            return


async def fetch(port: Port, table: Table, places: Iterable[Place]) -> Mapping[Place, Item]:
    """Items by their keys, consistently, 100 a request."""
    rest: list[Key] = [{"source": {"S": source}, "target": {"S": target}} for source, target in places]
    found: dict[Place, Item] = {}
    while rest:
        answer = await port.send(BatchGetItem(table.name, rest[:MAX_BATCH_GET], RAW, consistent=True))
        found |= {place_of(item): item for item in answer.items}
        rest = [*rest[MAX_BATCH_GET:], *answer.rest]
    return found


def place_of(item: Item) -> Place:
    return item["source"]["S"], item["target"]["S"]


def model_at(table: Table, item: Item) -> Model[Any] | None:
    """The class of an item; None for one that this program doesn't know."""
    return table.model_of_type(item.get(table.definition.type_attribute, {}).get("S", ""))


def entity_at(table: Table, item: Item) -> Any:
    """None for what is being deleted, and for what can't be read: the records' own check names that."""
    model = model_at(table, item)
    try:
        return None if model is None else model.load(item)
    except SingletableError:
        return None


def ends_of(entity: Any) -> list[Place]:
    """The places of the nodes that an edge joins; none for anything else."""
    return [(end.partition, end.low) for end in (entity.source, entity.target)] if is_edge(entity) else []
