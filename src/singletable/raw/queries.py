"""Queries and scans of plain items, as text and values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from singletable.operations import Key, Query, Scan, Selection
from singletable.raw.items import NONE, PLAIN, RawItem, stored

_VALUE = re.compile(r":\w+")


class RawQuery(Struct, frozen=True):
    """The items of a partition: `RawQuery("pk = :pk AND begins_with(sk, :b)", {":pk": "c1", ":b": "order#"})`.

    Without a condition it is a scan, of the table or an index. `where` filters what was read and paid for; `only` names
    the attributes to load, as "amount, #s"; `names` has what stands for names, as {"#s": "status"}.
    """

    condition: str = ""
    values: Mapping[str, Any] = NONE
    names: Mapping[str, str] = NONE
    index: str | None = None
    where: str = ""
    only: str = ""
    descending: bool = False
    consistent: bool = False

    def __repr__(self) -> str:
        """Shows no values, as it appears in logs and errors."""
        return f"<RawQuery {self.shown}>"

    @property
    def shown(self) -> str:
        """The query without values, for errors."""
        return f"{self.condition or 'scan'}{f' on index {self.index}' if self.index else ''}"

    def operation(
        self, table: str, after: Key | None, limit: int | None = None, segment: int = 0, segments: int = 1
    ) -> Query[RawItem] | Scan[RawItem]:
        """The request for a page."""
        selection = Selection(
            self.index,
            self.where or None,
            self.only or None,
            self.names,
            stored(self.values, "query"),
            limit,
            after,
            self.consistent,
        )
        if not self.condition:
            return Scan(table, selection, PLAIN, segment, segments)
        return Query(table, self.condition, selection, PLAIN, not self.descending)

    def binding(self, table: str, principal: str | None) -> tuple[str, ...]:
        """The texts that a cursor of it is bound to: what decides which items there are, in which order. Not the
        filter: the next page may have another one."""
        used = {name: self.values[name] for name in sorted(set(_VALUE.findall(self.condition))) if name in self.values}
        names = {name: there for name, there in self.names.items() if name in self.condition}
        values = msgspec.json.encode([stored(used, "query"), names], order="sorted").decode()
        direction = "down" if self.descending else "up"
        return (table, "raw", self.index or "", self.condition, values, direction, principal or "")
