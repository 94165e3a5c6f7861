"""Hydration: the items of an index's query, read from the table by the keys that the index has.

An index is behind the table. An item that was deleted since is left out, and so is one whose own attributes do not make
a key in the query's range any more; an item that is given is as the table has it now, at its place in the index. What
`where()` says is asked of the index's entry.
"""

from __future__ import annotations

from typing import Any

from singletable.errors import InvalidValue
from singletable.flow import Port
from singletable.operations import AnswerPage, Key
from singletable.records.batches import get_many
from singletable.records.placement import ReadParts
from singletable.records.query_request import MOST_HYDRATED, key_of_item, look, prepare_query, side_of_range
from singletable.records.unreadable import OnUnreadable
from singletable.schema import Captured, Query, model_for


async def read_hydrated(
    port: Port,
    query: Query[Any],
    after: Key | None,
    wanted: int | None,
    unreadable: OnUnreadable,
    read_keys: ReadParts | None = None,
) -> AnswerPage[Any]:
    """The next items, at most `wanted` and 1,600. Two round trips; one where the index has no more. `read_keys` reads
    the keys of all shards."""
    prepared = prepare_query(query, port.now())
    most = MOST_HYDRATED if wanted is None else min(wanted, MOST_HYDRATED)
    answer: AnswerPage[Any] = (
        await port.send(prepared.operation(after, look(prepared, most)))
        if read_keys is None
        else await read_keys(port, query, after, most, None)
    )
    keys, after = answer.items[:most], answer.after
    if len(keys) < len(answer.items):
        after = key_of_item(prepared, answer, most - 1)
    items = await get_many(port, keys, query.strong, unreadable)
    return AnswerPage([each for each in items if _belongs(query, each)], after, answer.looked_at, answer.body)


def _belongs(query: Query[Any], entity: Any) -> bool:
    """Whether an item's attributes make a key that the query reads. One of a class without a key there stays."""
    model = model_for(entity)
    captured = model.key if query.index is None else model.indexes.get(query.index)
    return captured is None or _is_in_range(query, captured, entity)


def _is_in_range(query: Query[Any], captured: Captured, entity: Any) -> bool:
    partition, sort = captured.templates
    if any(getattr(entity, name) is None for name in (*partition.names, *sort.names)):
        return False
    try:
        return (
            partition.write_of(entity) in (query.shards or (query.partition,))
            and side_of_range(query, sort.write_of(entity)) == 0
        )
    except InvalidValue:
        return False
