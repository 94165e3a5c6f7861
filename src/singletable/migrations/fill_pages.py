"""The pages that a fill will read of a segment, predicted from the pages read before it.

An item that moves to a key that lies ahead comes again, in a later page. An engine that scans by key is known to the
page: they are put together as they will be. Others scan by a hash of the key, so that half of what moves lies ahead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import ceil
from typing import Any, Final

from msgspec import Struct

from singletable.foundation import Table, model_for, place_in
from singletable.migrations.item_writes import ItemMove, ItemWrite
from singletable.migrations.items import FillPart
from singletable.migrations.needed import Need
from singletable.operations import Item
from singletable.tables import READ_BYTES, size_units
from singletable.values import item_size

_PAGE_BYTES: Final = 1 << 20
Place = tuple[str, str]


class _Count:
    """The cost of pages: of reading them, and of writing the segment's progress after each."""

    def __init__(self, table: Table, segment: int, segments: int) -> None:
        kind: Any = FillPart.of(table)
        self._key_at = table.definition.key_at
        self.part, self.part_size = kind(declaration="0" * 16, segment=segment, segments=segments), 0.0
        self.pages, self.read_units, self.part_units = 0, 0.0, 0.0

    def page(self, needs: Sequence[Need], last: Place | None, read_units: float, *, is_whole: bool = True) -> None:
        """A page that ends at a key; None for the last. Or a part of one, whose rest follows."""
        after = None if last is None else self._key_at(*last)
        old_keys = Counter(need.type for need in needs if isinstance(need, ItemMove))
        writes = sum(isinstance(need, ItemWrite) for need in needs)
        self.part = self.part.moved(after, len(needs), writes, old_keys)
        self.read_units += read_units
        if not is_whole:
            return
        size = size_units(model_for(self.part).item(self.part))
        self.pages += 1
        self.part_units += max(self.part_size, size) + (size if last is None else 0.0)
        self.part_size = size

    def more(self, items: int, size: int, limit: int) -> None:
        """Pages of more items, wherever they end."""
        pages = max(ceil(items / limit), ceil(size / _PAGE_BYTES))
        self.pages += pages
        self.read_units += max(pages, ceil(size / READ_BYTES))
        self.part_units += self.part_size * pages


class _Seen(Struct, frozen=True):
    """An item that is read, and what the fill does with it."""

    place: Place
    size: int
    need: Need = None

    @property
    def order(self) -> tuple[bytes, bytes]:
        return self.place[0].encode(), self.place[1].encode()


class SegmentPages:
    """The pages of one segment. `limit` is the most items of one; of a sample, the segment is a part of one."""

    def __init__(
        self, table: Table, segment: int, segments: int, limit: int, *, by_key: bool, is_sample: bool = False
    ) -> None:
        self._table, self._limit, self._by_key, self._is_sample = table, limit, by_key and not is_sample, is_sample
        self._read, self._merged = _Count(table, segment, segments), _Count(table, segment, segments)
        self._page: list[_Seen] = []
        self._page_bytes = 0
        self._open = 0
        """The items that were read of the present page, where it is read in parts."""
        self._ahead: list[tuple[tuple[bytes, bytes], int, Place]] = []
        self.items_again, self._bytes_again = 0, 0

    @property
    def count(self) -> _Count:
        """The cost of the segment, after its last page."""
        return self._merged if self._by_key and self.items_again else self._read

    def asked(self, most: int) -> int:
        """The number of items to read next: at most the rest of the present page."""
        return min(most, self._limit - self._open)

    def add(
        self, items: Sequence[Item], needs: Sequence[Need], is_last: bool, read_units: float, asked: int
    ) -> list[Item]:
        """Add what was read when so many items were `asked` for, with the need of each. Returns the items that come
        again, in their form at that time."""
        seen = [_Seen(place_in(self._table, i), item_size(i), need) for i, need in zip(items, needs, strict=True)]
        self._open += len(seen)
        is_whole = is_last or len(seen) < asked or self._open == self._limit
        self._open = 0 if is_whole else self._open
        last = None if is_last else seen[-1].place if seen else ("", "")
        self._read.page(needs, last, read_units, is_whole=is_whole)
        if not self._by_key:
            return self._half(needs, is_last)
        again: list[Item] = []
        for each in seen:
            while self._ahead and self._ahead[0][0] < each.order:
                again += self._take_ahead()
            again += self._take(each)
        while is_last and self._ahead:
            again += self._take_ahead()
        if is_last:
            self._close(is_last=True)
        return again

    def kept(self) -> list[Any]:
        """The facts from which `take_up` goes on, where pages are as they are read."""
        count, part = self._read, self._read.part
        counts = [count.pages, count.read_units, count.part_units, count.part_size]
        progress = [part.position, part.seen, part.written, part.old_keys]
        return [counts, progress, self.items_again, self._bytes_again, self._open]

    def take_up(self, facts: Sequence[Any]) -> None:
        """Go on after the pages of an earlier reading."""
        counts, (position, seen, written, old_keys), self.items_again, self._bytes_again, self._open = facts
        count = self._read
        count.pages, count.read_units, count.part_units, count.part_size = counts
        moved = {"position": position, "seen": seen, "written": written, "old_keys": old_keys}
        count.part = replace(count.part, **moved)

    def _half(self, needs: Sequence[Need], is_last: bool) -> list[Item]:
        """Half of the moving items. Nothing comes after the last page."""
        again = [] if is_last and not self._is_sample else self._moved(needs)[::2]
        self.items_again += len(again)
        self._bytes_again += sum(map(item_size, again))
        if is_last:
            self._read.more(self.items_again, self._bytes_again, self._limit)
        return again

    def _moved(self, needs: Sequence[Need]) -> list[Item]:
        """The items that are put into the table under other keys."""
        moves = [need for need in needs if isinstance(need, ItemMove) and need.target is self._table]
        return [item for move in moves for item in move.items]

    def _take_ahead(self) -> list[Item]:
        _, size, place = heappop(self._ahead)
        return self._take(_Seen(place, size))

    def _take(self, seen: _Seen) -> list[Item]:
        again: list[Item] = []
        if self._page and self._page_bytes + seen.size > _PAGE_BYTES:
            again = self._close()
        self._page.append(seen)
        self._page_bytes += seen.size
        return [*again, *(self._close() if len(self._page) == self._limit else ())]

    def _close(self, *, is_last: bool = False) -> list[Item]:
        """The end of a page: then its items move."""
        page, self._page = self._page, []
        units, self._page_bytes = max(1, ceil(self._page_bytes / READ_BYTES)), 0
        needs = [each.need for each in page]
        self._merged.page(needs, None if is_last else page[-1].place, units)
        ahead = [] if is_last else [(self._placed(item), item) for item in self._moved(needs)]
        ahead = [(seen, item) for seen, item in ahead if seen.order > page[-1].order]
        for seen, _ in ahead:
            heappush(self._ahead, (seen.order, seen.size, seen.place))
        self.items_again += len(ahead)
        return [item for _, item in ahead]

    def _placed(self, item: Item) -> _Seen:
        return _Seen(place_in(self._table, item), item_size(item))
