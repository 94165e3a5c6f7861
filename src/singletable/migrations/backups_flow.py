"""A table's backups with what lies outside of it: the tables beside it, and contents in stores. Flows.

A backup on demand has the items of one table. The tables beside it, as that of leases and dead letters, get a backup of
the same name; the stores of contents keep what they have until the backup is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Final

from singletable.errors import AlreadyExists, Corrupt, InvalidRequest, NotSupported, SingletableError
from singletable.flow import Port
from singletable.foundation import Table
from singletable.layers import BackedContents, BackupNote, tables_beside
from singletable.tables import Backup, Progress, Recovery, backups, describe_indexes

DATA_FILE: Final = "data.db"
BLOBS: Final = "blobs"
"""The names in the folder of a copy that has contents."""
_NEVER: Final = datetime.min.replace(tzinfo=timezone.utc)
CopyProgress = Callable[[int, int], object]


async def create(
    port: Port, table: Table, contents: Sequence[BackedContents], name: str, progress: Progress | None = None
) -> Backup:
    """Make a backup of a table and of those beside it, and keep the contents that it needs.

    Where the stores fail after the backup was made, they delete nothing until it is called again.
    """
    making = f"{table.name} {name}"
    for store in contents:
        await store.begin(port, making)
    try:
        backup = await backups.create_backup(port, table.name, name, progress)
    except SingletableError:
        await _end(port, contents, making)
        raise
    for beside in tables_beside(table):
        if await describe_indexes(port, beside.definition) is not None:
            await backups.create_backup(port, beside.name, name, progress)
    for store in contents:
        await store.hold(port, backup.arn)
    await _end(port, contents, making)
    return backup


async def switch_recovery(port: Port, table: Table, enabled: bool) -> Recovery:
    """Switch the recovery of a table and of those beside it; returns the table's."""
    for beside in tables_beside(table):
        if await describe_indexes(port, beside.definition) is not None:
            await backups.switch_recovery(port, beside.name, enabled)
    return await backups.switch_recovery(port, table.name, enabled)


async def listed(port: Port, table: Table, contents: Sequence[BackedContents]) -> list[Backup]:
    """The backups of a table, and the copies of its data file that a store knows; oldest first."""
    copies = {note.backup: _copy_of(note) for note in await _notes(port, contents) if not _is_arn(note.backup)}
    try:
        made = await backups.list_backups(port, table.name)
    except NotSupported:
        if not contents:
            raise
        made = []
    return sorted([*made, *copies.values()], key=lambda backup: (backup.made_at or _NEVER, backup.arn))


async def delete(port: Port, table: Table, contents: Sequence[BackedContents], arn: str) -> Backup:
    """Delete a backup with those of the tables beside it, and keep its contents no longer. Called again it goes on.

    The file of a copy stays: whoever made it deletes it.
    """
    note = next((note for note in await _notes(port, contents) if note.backup == arn), None)
    backup = _copy_of(note) if note is not None else None
    if _is_arn(arn):
        try:
            known = await backups.describe_backup(port, arn)
            for beside in tables_beside(table):
                if (other := await beside_backup(port, beside.name, known)) is not None:
                    await backups.delete_backup(port, other.arn)
            backup = await backups.delete_backup(port, arn)
        except InvalidRequest:
            if backup is None:
                raise
    elif backup is None:
        raise InvalidRequest(f"no backup {arn} is known", table=table.name, hint="`singletable backup list` has them.")
    for store in contents:
        await store.forget(port, arn)
    return backup


async def beside_backup(port: Port, beside: str, backup: Backup) -> Backup | None:
    """The backup of a table beside that was made with a backup: the first of its name after it."""
    later = (b for b in await backups.list_backups(port, beside) if b.name == backup.name)
    return next((b for b in later if (b.made_at or _NEVER) >= (backup.made_at or _NEVER)), None)


async def copy_file(
    port: Port,
    contents: Sequence[BackedContents],
    to: Path,
    *,
    with_contents: bool = False,
    progress: CopyProgress | None = None,
) -> int:
    """Copy the embedded engine's file to `to`, and keep the contents that it needs; or copy both into the folder `to`.

    Called again after a kill, it goes on. Returns the file's bytes. AlreadyExists, NotSupported, Unavailable, Corrupt.
    """
    copy_data = port.traits.copy_data
    if copy_data is None:
        raise NotSupported(
            "only the embedded engine has a file to copy", capability="copy", hint="Make a backup instead."
        )
    data, backup = to / DATA_FILE if with_contents else to, str(to.absolute())
    is_begun = any([await store.is_open(port, backup) for store in contents])
    if data.exists() and not is_begun:
        raise AlreadyExists(f"{data} is there already", hint="Name another file, or move that one away.")
    for store in contents:
        await store.begin(port, backup)
    if not data.exists():
        try:
            await port.call_all([partial(copy_data, data, progress)])
        except SingletableError:
            await _end(port, contents, backup)
            raise
    damaged: list[str] = []
    for store in contents:
        if with_contents:
            damaged += (await store.copy(port, to=to / BLOBS)).damaged
        await store.hold(port, backup, backup if with_contents else "")
    await _end(port, contents, backup)
    if damaged:
        raise Corrupt(
            f"{len(damaged)} contents can't be read, and the copy lacks them: {', '.join(damaged[:5])}",
            operation="backup copy",
            hint="`singletable check` says whose they are.",
        )
    return data.stat().st_size


async def _end(port: Port, contents: Sequence[BackedContents], backup: str) -> None:
    for store in contents:
        await store.end(port, backup)


async def _notes(port: Port, contents: Sequence[BackedContents]) -> list[BackupNote]:
    return [note for store in contents for note in await store.notes(port)]


def _copy_of(note: BackupNote) -> Backup:
    return Backup(note.backup, Path(note.backup).name, note.table, "AVAILABLE", note.at, 0)


def _is_arn(backup: str) -> bool:
    return backup.startswith("arn:")
