"""What the tools that change a table keep in it: how far each part of a fill has come.

    pk  _migration      sk  fill#<declaration>#<segment>
    _type "_migration"

No query of another class returns one: no other class may have such a key or type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from singletable.operations import Key
from singletable.schema.capture import ANY
from singletable.schema.entities import Entity, Special, field
from singletable.schema.system_items import KeyParts, system_key
from singletable.schema.table import MIGRATION_TYPE, Table

_NONE: Mapping[str, int] = {}


class FillPart(Entity):
    """How far one segment of a fill has come."""

    declaration: str
    """The digest of what the table was filled for."""
    segment: int
    segments: int
    position: dict[str, str] | None = None
    """The key after which it goes on; None at its beginning."""
    is_over: bool = False
    seen: int = 0
    written: int = 0
    old_keys: dict[str, int] = field(default_factory=dict[str, int])
    """How many items lay under the keys that their classes had before, by type."""

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        return Special(is_admitted=False)

    @property
    def after(self) -> Key | None:
        """The position as a request takes it."""
        return None if self.position is None else {name: {"S": text} for name, text in self.position.items()}

    def moved(self, after: Key | None, seen: int, written: int, old_keys: Mapping[str, int] = _NONE) -> FillPart:
        """The part after a page, which ended at a key."""
        place = None if after is None else {name: value["S"] for name, value in after.items()}
        return type(self)(
            declaration=self.declaration,
            segment=self.segment,
            segments=self.segments,
            position=place,
            is_over=after is None,
            seen=self.seen + seen,
            written=self.written + written,
            old_keys=dict(Counter(self.old_keys) + Counter(old_keys)),
        )


@cache
def fill_parts_of(table: Table) -> type[Any]:
    """The entity of a table's fills."""

    class TableFillPart(FillPart, table=table, type=MIGRATION_TYPE):
        @system_key(table)
        @staticmethod
        def by_segment(declaration: str = ANY, segment: int = ANY) -> KeyParts:
            """How far one segment of a fill has come."""
            return (MIGRATION_TYPE,), ("fill", f"{declaration}", f"{segment}")

    return TableFillPart
