"""Restores bound to a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from singletable.errors import InvalidRequest
from singletable.exchange.restore_run import Restored, RestorePlan, RestoreRun
from singletable.exchange.restore_sources import CopySource, ExportSource, RestoreSource, ServiceSource, Tell
from singletable.flow import about, check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.layers import contents_of
from singletable.values import check_texts


class AsyncRestore:
    """Brings a table back, with the tables beside it and the contents of its documents, from one source.

        AsyncRestore(db, shop, to="shop-monday").run(backup=arn)

    `to` is the restored table's name in the account, by default that of the table: no table may have it. `blobs` is the
    store of contents for documents whose class has none.
    """

    def __init__(self, db: AwaitingDatabase, table: Table, *, to: str | None = None, blobs: Any = None) -> None:
        check_awaiting(db, "AsyncRestore")
        self.db, self.table, self.to = about(db, table), table, to or db.port.names[table.name]
        self.contents = contents_of(table, db.target.seal, blobs)

    def __repr__(self) -> str:
        return f"<AsyncRestore of {self.table.name} as {self.to}>"

    async def plan(
        self,
        *,
        backup: str | None = None,
        at: datetime | Literal["latest"] | None = None,
        copy: AwaitingDatabase | None = None,
        export: Sequence[str] = (),
        contents: Any = None,
    ) -> RestorePlan:
        """The work of `run` with the same arguments, and its cost in words. A few requests; nothing is written.

        InvalidRequest if the table is there already; NotSupported.
        """
        return await self.db.run(self._restore(backup, at, copy, export, contents).plan())

    async def run(
        self,
        *,
        backup: str | None = None,
        at: datetime | Literal["latest"] | None = None,
        copy: AwaitingDatabase | None = None,
        export: Sequence[str] = (),
        contents: Any = None,
        progress: Tell | None = None,
    ) -> Restored:
        """Restore, or go on with a restore of the same arguments that was killed.

        The source is one of these: a `backup` by its ARN; the table `at` a time of its recovery, or the latest; a
        `copy`, the database of a copied data file; an `export` that DynamoDB made to S3, with the incremental ones
        after it, or a folder of `Exports.export(keys=True)`. `contents` is a folder, or a store, with the contents of
        documents that came with it.

        The restored table is held: its tasks, handlers and queues do nothing until `Hold(db, table).release()`. It
        gets the stream, expiry, tags, recovery and protection that are declared.

        AWS bills a restore by the GB, and takes minutes to hours. A copy reads its source once, and writes each item
        once, 25 in a request. InvalidRequest if the table is there already, or for a time that can't be restored;
        NotConfigured if recovery is off; NotSupported.
        """
        return await self.db.run(self._restore(backup, at, copy, export, contents, progress).run())

    def _restore(
        self,
        backup: str | None,
        at: datetime | Literal["latest"] | None,
        copy: AwaitingDatabase | None,
        export: Sequence[str],
        contents: Any,
        progress: Tell | None = None,
    ) -> RestoreRun:
        check_texts(export=export)
        if sum(bool(given) for given in (backup, at, copy, export)) != 1:
            raise InvalidRequest(
                "a restore has one source", table=self.table.name, hint="Give one of backup=, at=, copy= and export=."
            )
        source: RestoreSource
        if copy is not None:
            source = CopySource(copy.port, self.table, copy.target.place)
        elif export:
            from singletable.exchange.exported_folder import exported_at  # noqa: PLC0415 it loads pyarrow

            source = ExportSource(exported_at(self.table, export))
        else:
            source = ServiceSource(self.db.port, self.table, backup=backup, at=None if at == "latest" else at)
        tell = progress or (lambda state: None)
        return RestoreRun(self.db.port, self.table, self.to, source, self.contents, contents, tell)
