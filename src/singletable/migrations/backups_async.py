"""Backups bound to a database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from singletable.events import ContentsLeftOut
from singletable.flow import about, check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.layers import contents_of
from singletable.migrations import backups_flow
from singletable.tables import Backup, Progress as StateProgress, Recovery, backups


class AsyncBackups:
    """The backups of one table on AWS; of the embedded engine, copies of its file."""

    def __init__(self, db: AwaitingDatabase, table: Table, *, blobs: Any = None) -> None:
        """`blobs` is the store of contents for documents whose class has none."""
        check_awaiting(db, "AsyncBackups")
        self.db, self.table = about(db, table), table
        parts = contents_of(table, db.target.seal, blobs)
        self.contents = [part for part in parts if part.has_store]
        self.left_out = tuple(part.name for part in parts if not part.has_store)
        """The contents that a backup does not keep, as their store is not known here."""

    async def recovery(self) -> Recovery:
        """Whether the table can be restored to a time, and to which. One request. NotSupported."""
        return await self.db.run(backups.recovery(self.db.port, self.table.name))

    async def switch_recovery(self, enabled: bool) -> Recovery:
        """Switch point-in-time recovery, of the tables beside it too. Switched off, the times before are lost.

        Two requests, and three for each table beside, as that of leases. NotSupported.
        """
        return await self.db.run(backups_flow.switch_recovery(self.db.port, self.table, enabled))

    async def create(self, name: str, *, progress: StateProgress | None = None) -> Backup:
        """Make a backup, and wait until it can be restored. It costs storage until it is deleted. NotSupported.

        The tables beside it, as that of leases, get a backup of the same name. The stores of documents keep the
        contents that it needs: a listing of each store, and a put for each family of documents. They delete nothing
        after a kill or a failure until it is called again, which makes another backup and keeps the contents of both.
        Conflict where two of one name were made at once: the first one to end lets contents go.
        """
        self._warn()
        return await self.db.run(backups_flow.create(self.db.port, self.table, self.contents, name, progress))

    async def list(self) -> list[Backup]:
        """The table's backups, oldest first, and the copies of its data file for which stores keep contents.

        One request for each hundred, and a read of each note in a store. NotSupported.
        """
        return await self.db.run(backups_flow.listed(self.db.port, self.table, self.contents))

    async def delete(self, arn: str) -> Backup:
        """Delete a backup, with those of the tables beside it; it can't be brought back. Called again it goes on.

        Stores keep its contents no longer: the next garbage collection of a document deletes what only it needed, and
        the contents of deleted documents go at once. Of a copy of the data file, by its path, the file stays.
        InvalidRequest if there is none. NotSupported.
        """
        return await self.db.run(backups_flow.delete(self.db.port, self.table, self.contents, arn))

    async def copy(
        self, to: Path, *, with_contents: bool = False, progress: Callable[[int, int], object] | None = None
    ) -> int:
        """Copy the embedded engine's file, with all of its tables, while programs write. Returns the copy's bytes.

        The copy is the data at one moment; an engine runs on it as `local:COPY`. The stores of this table's documents
        keep the contents that it needs until `delete(str(to))`: a listing of each, and a put for each family of
        documents. `with_contents` makes `to` a folder that stands alone, of `data.db` and `blobs`: each content is
        read, verified and written. A copy that was killed goes on when it is called again.

        AlreadyExists if `to` is there; NotSupported on another engine; Unavailable for a file that can't be written;
        Corrupt at the end for contents that can't be read, which the folder lacks.
        """
        self._warn()
        flow = backups_flow.copy_file(self.db.port, self.contents, to, with_contents=with_contents, progress=progress)
        return await self.db.run(flow)

    def _warn(self) -> None:
        for name in self.left_out:
            self.db.port.events.emit(ContentsLeftOut(table=self.table.name, contents=name))
