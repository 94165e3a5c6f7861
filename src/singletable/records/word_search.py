"""A search by words: the entries of a word, then the items that have it, by their keys.

Words are written with their item, but the two are read one after the other. An item that was deleted since is left out,
and so is one that has not the word any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from singletable.errors import InvalidValue
from singletable.flow import Port
from singletable.operations import AnswerPage, Key
from singletable.records.batches import get_at
from singletable.records.query_request import MOST_HYDRATED, PreparedQuery, key_of_item, prepare_query
from singletable.records.readers import Place, placed_reader_of
from singletable.records.unreadable import OnUnreadable, readable
from singletable.schema import SearchQuery, entries


def prepare_search(search: SearchQuery[Any], now: float, unreadable: OnUnreadable) -> PreparedQuery:
    """The query of a search's entries, with the flow that reads the items."""
    prepared = prepare_query(entries(search), now, unreadable)
    return replace(prepared, read_parts=WordReader(search, prepared).read)


@dataclass(eq=False)
class WordReader:
    """The reader of one page, or of one iteration.

    Of several words one is read, and the others are compared with the items. So the items of a page may lie far from
    each other: it looks at twice as many entries each time.
    """

    search: SearchQuery[Any]
    prepared: PreparedQuery
    looked_at: int = 0
    """The entries that it asked for the last time."""

    async def read(
        self, port: Port, query: Any, after: Key | None, wanted: int | None, unreadable: OnUnreadable
    ) -> AnswerPage[Any]:
        """The items of the next entries, of at most 1,600. Two round trips; one if no entry is left."""
        self.looked_at = MOST_HYDRATED if wanted is None else min(max(wanted, 2 * self.looked_at), MOST_HYDRATED)
        answer: AnswerPage[Any] = await port.send(self.prepared.operation(after, self.looked_at))
        places = [(entry.owner, entry.owner_sort) for entry in answer.items]
        read = await self._items(port, places, unreadable)
        found = [
            (number, entity)
            for number, (place, entry) in enumerate(zip(places, answer.items, strict=True))
            if (entity := read.get(place)) is not None and self._is_found(entity, entry.word, port.now())
        ]
        after = answer.after
        if wanted is not None and len(found) > wanted:
            found = found[:wanted]
            after = key_of_item(self.prepared, answer, found[-1][0])
        return AnswerPage([entity for _, entity in found], after, answer.looked_at, answer.body)

    async def _items(self, port: Port, places: Sequence[Place], unreadable: OnUnreadable) -> dict[Place, Any]:
        model = self.search.model
        reader = placed_reader_of((model.kind,), tells=unreadable is not None)
        read = dict(await get_at(port, model.table, dict.fromkeys(places), reader, model.key_at, self.search.strong))
        if unreadable is not None:
            readable([*read.values()], unreadable, "BatchGetItem")
        return read

    def _is_found(self, item: Any, word: str, now: float) -> bool:
        """Whether an item has the word still, has all others, and comes by this one of its words."""
        model = self.search.model
        if not isinstance(item, model.kind) or (model.expires is not None and model.is_expired(item, now)):
            return False
        try:
            return self.search.shows(item, word)
        except InvalidValue:  # another program wrote a scope that makes no key
            return False
