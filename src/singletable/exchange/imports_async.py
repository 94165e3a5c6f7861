"""Imports bound to a database."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from singletable.errors import InvalidRequest
from singletable.exchange.bad_rows import BadRowFile
from singletable.exchange.datasets import datasets_of
from singletable.exchange.entity_writes import Mode
from singletable.exchange.import_cost import ImportCost, predict_import
from singletable.exchange.import_files import ImportFormat, Unknown
from singletable.exchange.import_parts import FileOptions, ImportSource, Into, source_at, table_part
from singletable.exchange.row_import import Imported, ImportOptions, Progress, import_rows
from singletable.exchange.stores import Store
from singletable.flow import Rate, about, at_rate, check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.values import check_texts


class AsyncImports:
    """Imports into tables."""

    def __init__(self, db: AwaitingDatabase, *tables: Table) -> None:
        check_awaiting(db, "AsyncImports")
        if not tables:
            raise InvalidRequest("an import is into one table or more", hint="As in AsyncImports(db, shop).")
        self.db, self.tables = about(db, *tables), tables

    async def run(
        self,
        source: str | os.PathLike[str] | Store,
        *,
        into: Into | None = None,
        format: ImportFormat | None = None,
        mode: Mode = "create",
        ignore: Sequence[str] = (),
        unknown: Unknown = "refuse",
        stop_at: int | None = None,
        bad_rows: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        rate: Rate | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Import the folder of an export, ours or one that DynamoDB made to S3; or one file, whose rows are of the
        class `into`, by its columns' names. With `into={Old: New}` the items of an export, or of a file in DynamoDB's
        JSON, are read by classes of the table that they come from: see `run_table`.

        Each row is read as its class declares it and written by the class's own verbs: `create` and `link`, or with
        `mode="replace"` `put`, `upsert` and `relink`; so index keys, guards and edge sets are right. A row that is
        none, or can't be written, is counted, and told with its number and the reason in the file `bad_rows`, a line of
        JSON each; the others are imported. `mode="create"` takes an item that is there and differs as a bad row,
        `"if_absent"` leaves it. `stop_at` ends the import after that many bad rows.

        An export with keys, of classes that are declared as they were, is put item by item, so that the table is the
        same, byte for byte: into an empty table, or with `mode="replace"`. So is a full export of DynamoDB's. One
        without keys makes guards and edge sets again, and leaves out the library's own items.

        A write for each row, two requests if its item exists; a transaction for unique values and edges; and the record
        of the progress for each 500 rows. Killed, it goes on with the same files, and doubles nothing.
        `dry_run` reads and checks every row, and sends nothing. Format `dynamodb` is of lines `{"Item": ...}`.

        `unknown` says what becomes of columns that the class has not and that are not in `ignore`: `"refuse"`, before
        the first row, or in JSON Lines the row; `"report"`, they are left out and counted by name; `"keep"`, they are
        stored with the item unchanged, by one more write for each such row.

        InvalidRequest for columns that the class has not, where they are refused; NotFound if nothing is there;
        Throttled from a table that refuses for minutes on end.
        """
        check_texts(ignore=ignore)
        if bad_rows is not None and isinstance(source, (str, os.PathLike)) and Path(source) == Path(bad_rows):
            raise InvalidRequest("bad rows can't be told in the file that they come from", hint="Name another file.")
        found = source_at(
            source, datasets_of(*self.tables), FileOptions(into, format, ignore, unknown, self.db.port.names)
        )
        return await self._run(found, ImportOptions(mode, stop_at, dry_run, unknown), bad_rows, rate, progress)

    async def predict_table(self, source: AwaitingDatabase, name: str) -> ImportCost:
        """Predict the cost of `run_table`. One request to the source; NotConfigured if the table is missing."""
        return await self.db.run(predict_import(source.port, name))

    async def run_table(
        self,
        source: AwaitingDatabase,
        name: str,
        into: Into,
        *,
        ignore: Sequence[str] = (),
        unknown: Unknown = "report",
        mode: Mode = "create",
        stop_at: int | None = None,
        bad_rows: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        rate: Rate | None = None,
        source_rate: Rate | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Import the items of another table. Keys are made again.

        With `into={OldOrder: Order, ...}`, classes that the other table's declaration has and those that take their
        items, each item is read by its class there: an id that is only in its key is read from the key. A value goes to
        the attribute of the same name. Items of other classes, and those that no class explains, are left, and
        `left_out` has their number by kind. With one class, `into=Order`, each item is of it, whatever the layout:
        attributes by the names under which they are stored, or which they have in Python.

        `unknown` is for values that the class has no attribute for, as in `run`. A consistent scan; otherwise as `run`,
        with its errors: InvalidRequest, NotFound, Throttled.
        """
        check_texts(ignore=ignore)
        options = FileOptions(into, None, ignore, unknown)
        part = table_part(
            at_rate(source.port, source_rate), name, datasets_of(*self.tables), options, source.target.place
        )
        found = ImportSource([part])
        return await self._run(found, ImportOptions(mode, stop_at, dry_run, unknown), bad_rows, rate, progress)

    async def _run(
        self,
        source: ImportSource,
        options: ImportOptions,
        bad_rows: str | os.PathLike[str] | None,
        rate: Rate | None,
        progress: Progress | None,
    ) -> Imported:
        port = at_rate(self.db.port, rate)
        bad_file = BadRowFile(None if bad_rows is None else Path(bad_rows))
        return await self.db.run(import_rows(port, self.tables, source, options, bad_file, progress))
