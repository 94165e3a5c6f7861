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

from singletable.errors import (
    AlreadyExists,
    Conflict,
    Corrupt,
    Denied,
    InvalidRequest,
    Mistake,
    NotSupported,
    SingletableError,
)
from singletable.flow import Port
from singletable.foundation import Table
from singletable.layers import BackedContents, BackupNote, tables_beside
from singletable.tables import Backup, Progress, Recovery, backups, describe_indexes

DATA_FILE: Final = "data.db"
BLOBS: Final = "blobs"
"""The names in the folder of a copy that has contents."""
_NEVER: Final = datetime.min.replace(tzinfo=timezone.utc)
_END: Final = datetime.max.replace(tzinfo=timezone.utc)
CopyProgress = Callable[[int, int], object]


async def create(
    port: Port, table: Table, contents: Sequence[BackedContents], name: str, progress: Progress | None = None
) -> Backup:
    """Make a backup of a table and of those beside it, and keep the contents that it needs.

    Whatever fails once it is begun, the stores delete nothing until it is called again. That makes another backup, and
    keeps the contents for each of the name.
    """
    making = f"{table.name} {name}"
    is_first = not any([await store.is_open(port, making) for store in contents])
    for store in contents:
        await store.begin(port, making)
    try:
        arn = await backups.begin_backup(port, table.name, name)
    except (Mistake, Denied):
        if is_first:  # there is no backup
            await _end(port, contents, making)
        raise
    backup = await backups.wait_backup(port, table.name, arn, progress)
    for beside in tables_beside(table):
        if await describe_indexes(port, beside.definition) is not None:
            other = await backups.begin_backup(port, beside.name, name)
            await backups.wait_backup(port, beside.name, other, progress)
    await _hold_named(port, table, contents, backup)
    if not all([await store.is_open(port, making) for store in contents]):
        raise Conflict(
            f"another backup named {name!r} ended while this one was made, and contents may have been deleted since",
            table=table.name,
            operation="backup create",
            hint="Make it again, one at a time. `singletable backup list` has this one: delete it.",
        )
    await _end(port, contents, making)
    return backup


async def _hold_named(port: Port, table: Table, contents: Sequence[BackedContents], backup: Backup) -> None:
    """Keep the contents of a backup, and of each of its name that has no note: it was killed, or its answer lost."""
    if not contents:
        return
    named = [known.arn for known in await backups.list_backups(port, table.name) if known.name == backup.name]
    for store in contents:
        noted = {note.backup for note in await store.notes(port)}
        for arn in dict.fromkeys((backup.arn, *named)):
            if arn not in noted:
                await store.hold(port, arn)


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
    return sorted([*made, *copies.values()], key=lambda backup: (_moment(backup), backup.arn))


async def delete(port: Port, table: Table, contents: Sequence[BackedContents], arn: str) -> Backup:
    """Delete a backup with those of the tables beside it, and keep its contents no longer. Called again it goes on. So
    too what was begun, as a restore under another name that was killed and is given up.

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
    elif backup is None and any([await store.is_open(port, arn) for store in contents]):
        backup = Backup(arn, arn, table.name, "BEGUN", None, 0)
    elif backup is None:
        raise InvalidRequest(f"no backup {arn} is known", table=table.name, hint="`singletable backup list` has them.")
    for store in contents:
        await store.forget(port, arn)
    return backup


async def beside_backup(port: Port, beside: str, backup: Backup) -> Backup | None:
    """The backup of a table beside that was made with a backup: of its name, after it and before the next one."""
    made_at = _moment(backup)
    moments = [_moment(known) for known in await backups.list_backups(port, backup.table) if known.name == backup.name]
    until = min((moment for moment in moments if moment > made_at), default=_END)
    later = (known for known in await backups.list_backups(port, beside) if made_at <= _moment(known) < until)
    return next((known for known in later if known.name == backup.name), None)


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


def _moment(backup: Backup) -> datetime:
    return backup.made_at or _NEVER


def _is_arn(backup: str) -> bool:
    return backup.startswith("arn:")
