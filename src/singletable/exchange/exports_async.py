"""Exports bound to a database."""

from __future__ import annotations

import os
from collections.abc import Coroutine, Sequence
from typing import Any

from singletable.errors import InvalidRequest
from singletable.exchange.export import Exported, ExportOptions, Progress, export, export_from
from singletable.exchange.exported_items import ExportedTable
from singletable.exchange.formats import Format
from singletable.exchange.stores import Store, store_at
from singletable.exchange.table_export_files import open_table_export
from singletable.flow import Port, Rate, about, at_rate, check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.values import check_texts


class AsyncExports:
    """The exports of tables."""

    def __init__(self, db: AwaitingDatabase, *tables: Table, blobs: Any = None) -> None:
        """`blobs` is the store of contents for documents whose class has none."""
        check_awaiting(db, "AsyncExports")
        self.db, self.tables, self.blobs = about(db, *tables), tables, blobs

    async def export(
        self,
        to: str | os.PathLike[str] | Store,
        *,
        format: Format = "parquet",
        keys: bool = False,
        consistent: bool = False,
        contents: bool = False,
        segments: int | None = None,
        personal: bool = True,
        mask_key: bytes | None = None,
        rate: Rate | None = None,
        anew: bool = False,
        progress: Progress | None = None,
    ) -> Exported:
        """Write every item of the tables to a directory or an `s3://bucket/prefix`: a dataset an entity class.

        Reads the tables once, in pages of 1 MB: half a read unit for each 4 KB, a whole one with `consistent`. At the
        end the manifest is replaced at once; the files of the export before it stay until the next one. `keys` adds the
        keys of the table and of its indexes as columns. Killed, it goes on from its last section of 200,000 items,
        unless `anew`. `progress` is called after each round of pages. Programs may write meanwhile: an item that is
        written during the export appears in its old or new version.

        Where `personal` is false, masks stand for the values of attributes with `field(personal=True)`, as in a copy:
        the same for the same value, of the same type, in keys too. Guards and edge sets are left out then, and an item
        that no class can read is a row of `_unknown` without its raw form. With a `mask_key` of 16 bytes or more, two
        exports mask alike; without one the key is random. It stays in a file that only this user may read,
        with the progress of the export, until the end.

        With `contents` there are two datasets more for documents: each change of an item with its content, and each
        mutation with its arguments and its principal, as JSON. After the scan it reads each document's collections and
        mutations once more, a unit for each 4 KB, and a blob for each change. Masks stand for what contents and
        arguments declare to be personal or to mention somebody; where nothing is declared, for all of it. NotConfigured
        for documents without a store; InvalidRequest for tables without documents.

        `segments` are read at once: 4, or 1 off AWS. InvalidRequest for others than 1 to 16; Denied and Unavailable
        where the place refuses or is full: nothing is left half-written; Throttled from a table that refuses for
        minutes on end.
        """
        options = ExportOptions(format, keys, consistent, segments, anew, personal, mask_key, contents)
        port, store, place = at_rate(self.db.port, rate), store_at(to), self.db.target.place
        if contents:
            return await self.db.run(self._with_contents(port, store, options, progress))
        return await self.db.run(export(port, self.tables, store, options, progress, place))

    def _with_contents(
        self, port: Port, store: Store, options: ExportOptions, progress: Progress | None
    ) -> Coroutine[Any, Any, Exported]:
        from singletable.exchange.content_export import (  # noqa: PLC0415 documents, which other exports don't need
            ContentExport,
            contexts_of_all,
            export_with_contents,
        )

        contexts = contexts_of_all(self.tables, self.db.target.seal, self.blobs)
        run = ContentExport(port, self.tables, store, options, self.db.target.place, contexts)
        return export_with_contents(run, progress)

    async def export_from(
        self,
        exports: Sequence[str],
        to: str | os.PathLike[str] | Store,
        *,
        format: Format = "parquet",
        keys: bool = False,
        personal: bool = True,
        mask_key: bytes | None = None,
        anew: bool = False,
        progress: Progress | None = None,
    ) -> Exported:
        """Write what DynamoDB exported to S3 as datasets: one full export, and the incremental ones after it.

        `exports` are their places, as `s3://BUCKET/PREFIX/AWSDynamoDB/ID`, or directories with a copy. Sends nothing to
        the table, and takes no read units. A full export takes little memory; what incremental ones changed is in
        memory all at once. Otherwise as `export`. InvalidRequest for several tables, and for exports with a time
        between them that is in none; Corrupt for one that is damaged or not complete, and then nothing is replaced.
        """
        check_texts(exports=exports)
        if len(self.tables) != 1:
            raise InvalidRequest("an export of DynamoDB's is of one table", hint="Name it, as in Exports(db, shop).")
        exported = ExportedTable(self.tables[0], [open_table_export(place) for place in exports])
        options = ExportOptions(format, keys, anew=anew, personal=personal, mask_key=mask_key)
        return await self.db.run(export_from(self.db.port, exported, store_at(to), options, progress))
