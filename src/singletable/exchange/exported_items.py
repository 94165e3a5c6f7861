"""A table's items from its exports to S3: a full one, and the incremental ones after it, as one table.

An incremental export has an item once, in its last state. So the later write of two records of an item wins, and the
base has the items that no record names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from singletable.errors import Corrupt, InvalidRequest
from singletable.exchange.table_export_files import TableExportFiles
from singletable.foundation import Table, place_in
from singletable.operations import Item

Place = tuple[str, str]


class ExactItems(Protocol):
    """All items of one table, as they were."""

    @property
    def where(self) -> str:
        """The name of the source, the same for the same items."""
        ...

    @property
    def complete_at(self) -> datetime:
        """The moment that the items show."""
        ...

    def items(self) -> Iterator[Item]:
        """Each item once, in an order that stays the same. Blocks."""
        ...

    def beside(self, table: Table) -> ExactItems | None:
        """Those of another table in the same export; None if it is not there."""
        ...


class ExportedTable:
    """The items of one table, exactly one for each key.

    Raises InvalidRequest if the exports are not of one table, or where times between them are in none.
    """

    def __init__(self, table: Table, exports: Sequence[TableExportFiles]) -> None:
        self.table = table
        self.base, self.changes = _in_order(exports)

    @property
    def where(self) -> str:
        """The exports, as errors and manifests name them."""
        return ", ".join(each.where for each in (self.base, *self.changes))

    @property
    def complete_at(self) -> datetime:
        """The moment that the items show."""
        complete_at = (self.changes[-1] if self.changes else self.base).summary.complete_at
        if complete_at is None:
            raise Corrupt(f"{self.base.where} lacks its time")
        return complete_at

    @property
    def count(self) -> int:
        """The number of records to read: that of the items, or more if some were changed or deleted."""
        return sum(each.summary.item_count for each in (self.base, *self.changes))

    def beside(self, table: Table) -> None:
        """None: such an export is of one table."""

    def items(self) -> Iterator[Item]:
        """Every item, in the form that a scan gives it. Nothing is sent to DynamoDB.

        A full export takes little memory, whatever its size; later changes are in memory all at once. Raises Corrupt if
        a file is damaged or missing, before the first item of that file.
        """
        newest = self._newest()
        for file in self.base.data_files():
            for record in self.base.records(file):
                if record.new is None:
                    raise Corrupt(f"{self.base.where}: a full export has a record without an item")
                if self._place(record.new) not in newest:
                    yield record.new
        for item in newest.values():
            if item is not None:
                yield item

    def _newest(self) -> dict[Place, Item | None]:
        """The items that were written after the base, in their last state; None for a deleted one."""
        written: dict[Place, int] = {}
        newest: dict[Place, Item | None] = {}
        for export in self.changes:
            for file in export.data_files():
                for record in export.records(file):
                    place = self._place(record.keys)
                    if record.micros >= written.get(place, 0):
                        written[place], newest[place] = record.micros, record.new
        return newest

    def _place(self, item: Item) -> Place:
        try:
            return place_in(self.table, item)
        except KeyError:
            partition, sort = self.table.definition.key
            raise InvalidRequest(
                f"the export is of another table: an item has no {partition} and {sort} of type S",
                table=self.table.name,
                hint="Name the module that declares the table of the export.",
            ) from None


def _in_order(exports: Sequence[TableExportFiles]) -> tuple[TableExportFiles, list[TableExportFiles]]:
    """The full export, and the incremental ones that go on from it, in their order."""
    full = [each for each in exports if not each.summary.is_incremental]
    if len(full) != 1:
        raise InvalidRequest(
            f"{len(full)} of the {len(exports)} exports given are full ones",
            hint="Name one full export, and the incremental exports after it.",
        )
    others = {each.summary.table for each in exports} - {full[0].summary.table}
    if others:
        raise InvalidRequest(
            f"the exports are of several tables: {', '.join(sorted({*others, full[0].summary.table}))}"
        )
    return full[0], list(_following(full[0], [each for each in exports if each.summary.is_incremental]))


def _following(base: TableExportFiles, changes: Sequence[TableExportFiles]) -> Iterator[TableExportFiles]:
    """The exports that end after the base, by their ends. One that ends before it has no newer data."""
    reached = base.summary.export_time
    for export in sorted(changes, key=lambda export: str(export.summary.export_to_time or "")):
        begins, ends = export.summary.export_from_time, export.summary.export_to_time
        if begins is None or ends is None or reached is None:
            raise Corrupt(f"{base.where} or {export.where} lacks its time")
        if ends <= reached:
            continue
        if begins > reached:
            raise InvalidRequest(
                f"no export has the changes from {reached} to {begins}",
                table=base.summary.table,
                hint="Name an export of that time too, or a newer full one.",
            )
        reached = ends
        yield export
