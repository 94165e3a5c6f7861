"""Backups bound to a database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from singletable.errors import NotSupported
from singletable.flow import check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.tables import Backup, Progress as StateProgress, Recovery, backups


class AsyncBackups:
    """The backups of one table on AWS; of the embedded engine, copies of its file."""

    def __init__(self, db: AwaitingDatabase, table: Table) -> None:
        check_awaiting(db, "AsyncBackups")
        self.db, self.table = db, table

    async def recovery(self) -> Recovery:
        """Whether the table can be restored to a time, and to which. One request. NotSupported."""
        return await self.db.run(backups.recovery(self.db.port, self.table.name))

    async def switch_recovery(self, enabled: bool) -> Recovery:
        """Switch point-in-time recovery. Switched off, the times before are lost. Two requests. NotSupported."""
        return await self.db.run(backups.switch_recovery(self.db.port, self.table.name, enabled))

    async def create(self, name: str, *, progress: StateProgress | None = None) -> Backup:
        """Make a backup, and wait until it can be restored. It costs storage until it is deleted. NotSupported."""
        return await self.db.run(backups.create_backup(self.db.port, self.table.name, name, progress))

    async def list(self) -> list[Backup]:
        """The table's backups, oldest first. One request for each hundred. NotSupported."""
        return await self.db.run(backups.list_backups(self.db.port, self.table.name))

    async def delete(self, arn: str) -> Backup:
        """Delete a backup; it can't be brought back. One request. InvalidRequest if there is none. NotSupported."""
        return await self.db.run(backups.delete_backup(self.db.port, arn))

    async def restore(
        self,
        to: str,
        *,
        at: datetime | None = None,
        backup: str | None = None,
        progress: StateProgress | None = None,
    ) -> None:
        """Restore into a new table `to`: as the table was at a time, as late as it can be, or as a `backup` has it.

        Waits until the new table can be used, without a limit, a request for each look; AWS bills the restored GB. It
        has the keys, indexes and items, but no stream, TTL, tags, recovery or deletion protection: `Migrations.apply`
        with the table declared under that name sets them. InvalidRequest for a time that can't be restored;
        NotConfigured if recovery is off; NotSupported.
        """
        if backup is not None:
            flow = backups.restore_backup(self.db.port, backup, to, progress)
        else:
            flow = backups.restore_to_time(self.db.port, self.table.name, to, at, progress)
        await self.db.run(flow)

    def copy(self, to: Path, *, progress: Callable[[int, int], object] | None = None) -> int:
        """Copy the embedded engine's file, with all of its tables, while programs write. Returns the copy's bytes.

        The copy is the data at one moment; an engine runs on it as `local:COPY`. Blocks for its time. AlreadyExists
        where `to` is there; NotSupported on another engine; Unavailable for a file that can't be written.
        """
        copy_data = self.db.port.traits.copy_data
        if copy_data is None:
            raise NotSupported(
                "only the embedded engine has a file to copy", capability="copy", hint="Make a backup instead."
            )
        return copy_data(to, progress)
