"""The items of a page by their datasets: each as a row of its class, or of `_unknown` with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from singletable.errors import SingletableError
from singletable.exchange.datasets import UNKNOWN, Dataset, unknown_batch, unknown_row
from singletable.exchange.left_out import LeftOut, LeftOutTally
from singletable.foundation import Table
from singletable.operations import Item, read_item
from singletable.values import json_decoder, wire_struct


class ItemBytes:
    """Reads items as the bytes that came."""

    wire: Any = msgspec.Raw

    def build(self, wire: msgspec.Raw) -> msgspec.Raw:
        return wire

    def load(self, item: Item) -> msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(item))


RAW_ITEMS = ItemBytes()


class Sorter:
    """Sorts the items of one table."""

    def __init__(self, table: Table, datasets: Iterable[Dataset], tally: LeftOutTally) -> None:
        """`tally` counts what the rows leave out."""
        self._table, self._tally = table, tally
        self._by_type = {d.type: d for d in datasets if d.table is table}
        name = table.definition.type_attribute or "no type"
        kind: Any = msgspec.defstruct("Typed", [("type", wire_struct("S", str))], rename={"type": name}, gc=False)
        self._typed = json_decoder(kind, strict=False).decode
        self._all_typed: Any = json_decoder(list[kind], strict=False).decode
        self._only: Dataset | None = None
        """The class of all items of the page before, if they were of one."""

    def batches(self, items: Sequence[msgspec.Raw]) -> list[tuple[str, pa.RecordBatch]]:
        """The items of a page as rows, by dataset. The same items always give the same batches."""
        groups = self._whole(items) or self._by_dataset(items)
        return [(name, batch) for name, batch in groups if batch.num_rows]

    def count_unknown(self, row: Mapping[str, Any]) -> None:
        """Count a row of `_unknown` for the dataset that lacks it, if there is one."""
        dataset = self._by_type.get(row["type"])
        if dataset is not None:
            self._tally.add(UNKNOWN, dataset.name, LeftOut(1))

    def _whole(self, items: Sequence[msgspec.Raw]) -> list[tuple[str, pa.RecordBatch]] | None:
        """The rows of a page of the same class as the last page, found without reading each item's type."""
        if self._only is None:
            return None
        decoded = self._only.decode_whole(items)
        if decoded is None:
            return None
        unknown: list[dict[str, Any]] = []
        return [*self._batches(self._only, *decoded, unknown), (UNKNOWN, unknown_batch(unknown))]

    def _by_dataset(self, items: Sequence[msgspec.Raw]) -> list[tuple[str, pa.RecordBatch]]:
        batches: list[tuple[str, pa.RecordBatch]] = []
        unknown: list[dict[str, Any]] = []
        groups = self._grouped(items)
        for type_name, group in groups.items():
            dataset = self._by_type.get(type_name)
            if dataset is None:
                reason = f"no class has the type {type_name!r}" if type_name else "the item has no type"
                unknown += [unknown_row(self._table, read_item(item), reason) for item in group]
            else:
                batches += self._batches(dataset, *dataset.decode(group), unknown)
        self._only = self._by_type.get(next(iter(groups))) if len(groups) == 1 else None
        return [*batches, (UNKNOWN, unknown_batch(unknown))]

    def _grouped(self, items: Sequence[msgspec.Raw]) -> dict[str, list[msgspec.Raw]]:
        groups: dict[str, list[msgspec.Raw]] = {}
        for item, type_name in zip(items, self._types(items), strict=True):
            if type_name in groups:
                groups[type_name].append(item)
            else:
                groups[type_name] = [item]
        return groups

    def _types(self, items: Sequence[msgspec.Raw]) -> list[str]:
        """The type of each item; empty where it has none."""
        if self._table.definition.foreign:
            return [self._table.type_of(read_item(item)) for item in items]
        try:
            return [each.type.S for each in self._all_typed(b"[%b]" % b",".join(items))]
        except msgspec.ValidationError:
            return [self._type_of(item) for item in items]

    def _type_of(self, item: msgspec.Raw) -> str:
        try:
            return str(self._typed(item).type.S)
        except msgspec.ValidationError:
            return ""

    def _batches(
        self,
        dataset: Dataset,
        batch: pa.RecordBatch,
        slow: Sequence[msgspec.Raw],
        unknown: list[dict[str, Any]],
    ) -> list[tuple[str, pa.RecordBatch]]:
        """Rows that were read, and those of the items that take the slow way; adds what can't be read to `unknown`."""
        batches = [batch, self._slow(dataset, slow, unknown)] if slow else [batch]
        return [(dataset.name, each) for each in batches]

    def _slow(self, dataset: Dataset, items: Sequence[msgspec.Raw], unknown: list[dict[str, Any]]) -> pa.RecordBatch:
        rows: list[dict[str, Any]] = []
        for raw in items:
            item = read_item(raw)
            try:
                row = dataset.row(item)
            except SingletableError as error:
                unknown.append(unknown_row(self._table, item, error.what))
                self.count_unknown(unknown[-1])
            else:
                rows.append(row)
                for column, left_out in dataset.left_out(row, item):
                    self._tally.add(dataset.name, column, left_out)
        return dataset.batch_of_rows(rows)
