"""A folder of `singletable export` as what a table is restored from: each item exactly as it was.

An export with keys and without masks has every item: as a row that gives it back, or in `_unknown` in its raw form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from singletable.errors import Corrupt, InvalidRequest
from singletable.exchange.datasets import UNKNOWN, datasets_of
from singletable.exchange.declaration_digests import is_digest
from singletable.exchange.exported_items import ExportedTable
from singletable.exchange.import_files import FileRow, rows_of
from singletable.exchange.manifest import MANIFEST, DatasetFiles, read_manifest
from singletable.exchange.row_items import item_of
from singletable.exchange.stores import Store, store_at
from singletable.exchange.table_export_files import open_table_export
from singletable.foundation import Table
from singletable.operations import Item

_HINT = "Export it with --keys and --personal, by the program that restores it. `singletable import` takes this one."


class ExportedFolder:
    """The items of one table in a folder. InvalidRequest for an export that does not hold each item as it was."""

    def __init__(self, table: Table, store: Store) -> None:
        self.table, self.store, self.manifest = table, store, read_manifest(store)
        self._datasets = {dataset.type: dataset.with_keys() for dataset in datasets_of(table)}
        if why := self._why_not():
            raise InvalidRequest(f"{self.where} {why}", table=table.name, operation="restore", hint=_HINT)

    @property
    def where(self) -> str:
        """The folder, and the export in it."""
        return f"{self.store.url} {self.manifest.id}"

    @property
    def complete_at(self) -> datetime:
        """The moment that the items show."""
        return self.manifest.complete_at

    def items(self) -> Iterator[Item]:
        """Each item, in the order of the files. Corrupt for a row that makes none."""
        for dataset in self._own():
            for file in dataset.files:
                known = self._datasets.get(dataset.type) if dataset.name != UNKNOWN else None
                for row in rows_of(self.store.fetch(file.path), self.manifest.format, known, (), 0):
                    if known is not None or (row.cells or {}).get("table", self.table.name) == self.table.name:
                        item = item_of(known, row)
                        if isinstance(item, str):
                            raise self._unreadable(file.path, row, item)
                        yield item

    def beside(self, table: Table) -> ExportedFolder | None:
        return ExportedFolder(table, self.store) if table.name in self.manifest.tables else None

    def _own(self) -> Iterator[DatasetFiles]:
        for dataset in self.manifest.datasets:
            if dataset.name == UNKNOWN or (dataset.table == self.table.name and not dataset.is_contents):
                yield dataset

    def _why_not(self) -> str:
        manifest = self.manifest
        if self.table.name not in manifest.tables:
            return f"has not this table, but {', '.join(manifest.tables)}"
        if not manifest.personal:
            return "has masks in place of personal values"
        if not manifest.keys:
            return "was made without keys"
        now = {type: dataset.digest for type, dataset in self._datasets.items()}
        own = (files for files in self._own() if files.name != UNKNOWN and files.rows)
        changed = [files.entity for files in own if not is_digest(files.digest, now.get(files.type, ""))]
        return f"is of classes that are declared otherwise now, or not at all: {', '.join(changed)}" if changed else ""

    def _unreadable(self, path: str, row: FileRow, why: str) -> Corrupt:
        return Corrupt(
            f"{path} in {self.store.url}, row {row.number}: {why}",
            table=self.table.name,
            operation="restore",
            hint="Copy the folder again. What was put before stays, and the restore goes on there.",
        )


def exported_at(table: Table, places: Sequence[str]) -> ExportedTable | ExportedFolder:
    """An export by its place: a folder of ours, or DynamoDB's, with the incremental ones after it."""
    store = store_at(places[0]) if len(places) == 1 else None
    if store is not None and store.read(MANIFEST) is not None:
        return ExportedFolder(table, store)
    return ExportedTable(table, [open_table_export(place) for place in places])
