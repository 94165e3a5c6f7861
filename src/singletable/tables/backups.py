"""Backups as DynamoDB makes them: recovery to any second of 35 days, and backups on demand. Flows.

A restored table has the keys, indexes and items; it has no stream, TTL, tags, recovery or deletion protection.
`singletable apply` brings it to its declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Final

from msgspec import Struct

from singletable.errors import InvalidRequest, NotConfigured, NotSupported, Unavailable
from singletable.flow import Port, instant, until
from singletable.operations import TableCall
from singletable.tables.admin import set_recovery

LONGEST_RECOVERY_DAYS: Final = 35
"""The recovery period of a table that doesn't set one."""
_UNKNOWN: Final = "UnknownOperationException"
Progress = Callable[[str], object]
"""Called with the state in each answer while waiting."""


class Recovery(Struct, frozen=True):
    """Whether a table can be restored to a time, and to which."""

    is_on: bool
    earliest: datetime | None = None
    latest: datetime | None = None
    days: int = LONGEST_RECOVERY_DAYS
    """The number of days that a restore can go back."""


class Backup(Struct, frozen=True):
    """A backup on demand."""

    arn: str
    name: str
    table: str
    status: str
    made_at: datetime | None
    bytes: int


async def recovery(port: Port, table: str) -> Recovery:
    """The recovery of a table. One request. NotSupported on an engine without it."""
    answer = await _send(port, table, "DescribeContinuousBackups", {"TableName": table})
    status = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    is_on = status.get("PointInTimeRecoveryStatus") == "ENABLED"
    earliest, latest = (_time(status.get(f"{which}RestorableDateTime")) for which in ("Earliest", "Latest"))
    return Recovery(is_on, earliest, latest, int(status.get("RecoveryPeriodInDays", LONGEST_RECOVERY_DAYS)))


async def switch_recovery(port: Port, table: str, enabled: bool) -> Recovery:
    """Switch it, and say what it is then. Switched off, the times before are lost. Two requests."""
    if not await set_recovery(port, table, enabled=enabled):
        raise _lacking("UpdateContinuousBackups", table)
    return await recovery(port, table)


async def begin_backup(port: Port, table: str, name: str) -> str:
    """Begin a backup, and return its ARN. One request."""
    answer = await _send(port, table, "CreateBackup", {"TableName": table, "BackupName": name})
    return str(answer["BackupDetails"]["BackupArn"])


async def wait_backup(port: Port, table: str, arn: str, progress: Progress | None = None) -> Backup:
    """Wait until a backup can be restored. It is there within seconds, whatever the table's size."""

    async def made() -> Backup | None:
        backup = await describe_backup(port, arn)
        if backup.status == "DELETED":
            raise Unavailable("the backup was deleted while it was made", table=table)
        return backup if _told(backup.status, "AVAILABLE", progress) else None

    return await until(port, made)


async def describe_backup(port: Port, arn: str) -> Backup:
    """One backup. InvalidRequest if there is none. One request."""
    answer = await _send(port, "", "DescribeBackup", {"BackupArn": arn})
    said = answer["BackupDescription"]
    return _backup(said["BackupDetails"], _table_of(port, said))


async def list_backups(port: Port, table: str) -> list[Backup]:
    """A table's backups, oldest first. One request for each hundred."""
    backups: list[Backup] = []
    body: dict[str, Any] = {"TableName": table, "BackupType": "USER", "Limit": 100}
    while True:
        answer = await _send(port, table, "ListBackups", body)
        backups += [_backup(said, table) for said in answer.get("BackupSummaries", ())]
        last = answer.get("LastEvaluatedBackupArn")
        if last is None:
            return sorted(backups, key=lambda backup: (backup.made_at or _NEVER, backup.arn))
        body = {**body, "ExclusiveStartBackupArn": last}


async def delete_backup(port: Port, arn: str) -> Backup:
    """Delete a backup. It can't be brought back. InvalidRequest if there is none. One request."""
    answer = await _send(port, "", "DeleteBackup", {"BackupArn": arn})
    said = answer["BackupDescription"]
    return _backup(said["BackupDetails"], _table_of(port, said))


async def restore_to_time(
    port: Port, table: str, target: Port, at: datetime | None = None, progress: Progress | None = None
) -> None:
    """Restore a table's state at a time into a new table, and wait for it: minutes to hours, without a limit.

    The new one has the name that the table has on the port `target`. Without `at`, as late as it can be. InvalidRequest
    for a time without a zone, or one that can't be restored.
    """
    body: dict[str, Any] = {"SourceTableName": port.names[table], "TargetTableName": table}
    if at is None:
        body["UseLatestRestorableTime"] = True
    else:
        body["RestoreDateTime"] = int(_in_reach(await recovery(port, table), at, table).timestamp())
    await _restore(target, table, "RestoreTableToPointInTime", body, progress)


async def restore_backup(target: Port, arn: str, table: str, progress: Progress | None = None) -> None:
    """Restore a backup into a new table, and wait for it, without a limit."""
    await _restore(target, table, "RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": table}, progress)


_NEVER: Final = datetime.min.replace(tzinfo=timezone.utc)


def is_in_reach(known: Recovery, at: datetime, table: str) -> bool:
    """Whether a table can be restored to a time. InvalidRequest for one without a zone."""
    if at.tzinfo is None:
        raise InvalidRequest("a time of recovery has a zone", table=table, hint="As in 2026-11-20T09:30:00Z.")
    is_late = known.latest is not None and at > known.latest
    return known.is_on and not is_late and (known.earliest is None or at >= known.earliest)


def _in_reach(known: Recovery, at: datetime, table: str) -> datetime:
    is_reached = is_in_reach(known, at, table)
    if not known.is_on:
        raise NotConfigured(
            "point-in-time recovery is off, so the table can't be restored to a time",
            table=table,
            hint="Switch it on, for the future: singletable backup recovery MODULE --on.",
        )
    if not is_reached:
        raise InvalidRequest(
            f"{at:%Y-%m-%d %H:%M:%S%z} can't be restored", table=table, hint=f"Say {known.earliest} to {known.latest}."
        )
    return at


async def _restore(target: Port, table: str, operation: str, body: dict[str, Any], progress: Progress | None) -> None:
    await _send(target, table, operation, body)
    await wait_restored(target, table, progress)


async def wait_restored(port: Port, table: str, progress: Progress | None = None) -> None:
    """Wait until a table that is being restored can be used, without a limit."""

    async def is_restored() -> bool:
        answer = await port.send(TableCall("DescribeTable", {"TableName": table}, "ResourceNotFoundException"))
        raw: dict[str, Any] = {} if answer is None else answer["Table"]
        parts: list[dict[str, Any]] = [raw, *raw.get("GlobalSecondaryIndexes", ())]
        states = {str(part.get("TableStatus") or part.get("IndexStatus") or "ACTIVE") for part in parts if part}
        return _told(" ".join(sorted(states)) or "CREATING", "ACTIVE", progress)

    await until(port, is_restored)


def _told(state: str, wanted: str, progress: Progress | None) -> bool:
    """Return True for the wanted state; report any other to `progress`."""
    if state != wanted and progress is not None:
        progress(state)
    return state == wanted


async def _send(port: Port, table: str, operation: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await port.send(TableCall(operation, body, or_none=_UNKNOWN))
    if answer is None:
        raise _lacking(operation, table)
    return answer


def _lacking(operation: str, table: str) -> NotSupported:
    return NotSupported(
        "the engine has no backups",
        capability="backups",
        operation=operation,
        table=table,
        hint="Copy the embedded engine's file: singletable backup copy FILE.",
    )


def _table_of(port: Port, backup: dict[str, Any]) -> str:
    """The declared name of the table of a described backup."""
    return port.names.declared(str(backup.get("SourceTableDetails", {}).get("TableName", "")))


def _backup(summary: dict[str, Any], table: str) -> Backup:
    return Backup(
        str(summary["BackupArn"]),
        str(summary.get("BackupName", "")),
        table,
        str(summary.get("BackupStatus", "")),
        _time(summary.get("BackupCreationDateTime")),
        int(summary.get("BackupSizeBytes", 0)),
    )


def _time(seconds: Any) -> datetime | None:
    return None if seconds is None else instant(float(seconds))
