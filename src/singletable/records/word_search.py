"""A search by words: the entries of a word, then the items that have it, by their keys.

Words are written with their item, but the two are read one after the other. An item that was deleted since is left out,
and so is one that has not the word any more.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from singletable.errors import InvalidValue
from singletable.flow import Port
from singletable.operations import AnswerPage, Key
from singletable.records.batches import get_at
from singletable.records.query_request import MOST_HYDRATED, PreparedQuery, prepare_query
from singletable.records.readers import placed_reader_of
from singletable.records.unreadable import OnUnreadable, readable
from singletable.schema import SearchQuery, entries


def prepare_search(search: SearchQuery[Any], now: float, unreadable: OnUnreadable) -> PreparedQuery:
    """The query of a search's entries, with the flow that reads the items."""
    prepared = prepare_query(entries(search), now, unreadable)
    return replace(prepared, read_parts=partial(_read, search, prepared))


async def _read(
    search: SearchQuery[Any],
    prepared: PreparedQuery,
    port: Port,
    query: Any,
    after: Key | None,
    wanted: int | None,
    unreadable: OnUnreadable,
) -> AnswerPage[Any]:
    """The items of the next entries, at most `wanted` and 1,600. Two round trips; one if no entry is left."""
    most = MOST_HYDRATED if wanted is None else min(wanted, MOST_HYDRATED)
    answer: AnswerPage[Any] = await port.send(prepared.operation(after, most))
    model = search.model
    places = [(entry.owner, entry.owner_sort) for entry in answer.items]
    reader = placed_reader_of((model.kind,), tells=unreadable is not None)
    read = dict(await get_at(port, model.table, dict.fromkeys(places), reader, model.key_at, search.strong))
    if unreadable is not None:
        readable([*read.values()], unreadable, "BatchGetItem")
    entities = [(read.get(place), entry.word) for place, entry in zip(places, answer.items, strict=True)]
    items = [entity for entity, word in entities if isinstance(entity, model.kind) and _is_shown(search, entity, word)]
    if model.expires is not None:
        items = [entity for entity in items if not model.is_expired(entity, port.now())]
    return AnswerPage(items, answer.after, answer.looked_at, answer.body)


def _is_shown(search: SearchQuery[Any], item: Any, word: str) -> bool:
    try:
        return search.shows(item, word)
    except InvalidValue:  # another program wrote a scope that makes no key
        return False
