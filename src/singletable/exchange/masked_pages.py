"""Pages of an export in which masks stand for personal values.

Guards are left out, and so are edge sets: an import makes them again; and the items of migrations' own work. Of an
item that no class explains, or that its class can't read, nobody knows what in it is personal: its row says that it is
there, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from singletable.exchange.datasets import unknown_row
from singletable.exchange.masked_items import ItemMask
from singletable.exchange.masks import Mask
from singletable.foundation import ATTACHED_TYPES, COVERED, Table, tool_class, type_in
from singletable.operations import Item, encode, read_item

_NO_CLASS: Final = "no class of this program has the type, so what in it is personal is not known"
_UNREADABLE: Final = "its class can't read it, so what in it is personal is not known"


class PageMask:
    """Masks the pages of one table."""

    def __init__(self, table: Table, mask: Mask) -> None:
        self._table, self._items = table, ItemMask(table, mask)

    def page(self, items: Sequence[msgspec.Raw]) -> tuple[list[msgspec.Raw], list[dict[str, Any]]]:
        """The items with masks, and the rows of `_unknown` for the ones without."""
        masked_items: list[msgspec.Raw] = []
        unknown: list[dict[str, Any]] = []
        for raw in items:
            item = read_item(raw)
            type_name = type_in(self._table, item)
            if type_name in ATTACHED_TYPES or tool_class(type_name) is not None:
                continue
            masked = self._items.item(item)
            if masked is None:
                unknown.append(self._covered(item))
            else:
                kept = {name: value for name, value in masked.items() if name not in self._table.derived}
                masked_items.append(msgspec.Raw(encode(kept)))
        return masked_items, unknown

    def _covered(self, item: Item) -> dict[str, Any]:
        is_known = self._table.model_here(type_in(self._table, item)) is not None
        row = unknown_row(self._table, item, _UNREADABLE if is_known else _NO_CLASS)
        return {**row, "partition": COVERED, "sort": COVERED, "item": None}
