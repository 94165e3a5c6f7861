"""The sources of a restore: each makes the table, and puts its items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from msgspec import Struct, structs

from singletable.exchange.exported_items import ExactItems
from singletable.exchange.table_copy import PAGE, CopyOptions, copy_table, goes_along, put_patiently
from singletable.exchange.transfers import open_record
from singletable.flow import Port, name_in
from singletable.foundation import ResumableRun, Table
from singletable.migrations import flows as migrations
from singletable.tables import backups, create, describe_indexes

Tell = Callable[[str], object]


class RestoreSource(ABC):
    """A source of one table."""

    text: str
    """Its name in messages; the same for the same source."""
    costs: str
    """The time and the money that it takes, in words."""
    is_service: bool = False
    """Whether the service restores the items itself."""
    lacking: tuple[str, ...] = ()
    """The tables beside that it can't bring back, and why: known once `beside` was asked for them."""

    def has_made(self, raw: Mapping[str, Any]) -> bool:
        """Whether the service made a described table from this source."""
        return False

    @abstractmethod
    async def make(self, target: Port, table: Table, tell: Tell) -> None:
        """Make the target's table if it is missing, and wait until it can be used. It has no stream."""

    @abstractmethod
    async def fill(self, target: Port, table: Table, tell: Tell) -> int:
        """Put the items, or go on with that; returns their number."""

    @abstractmethod
    async def beside(self, beside: Table) -> RestoreSource | None:
        """The source of a table beside this one; None if there is none."""

    def lacks(self, beside: Table, why: str) -> None:
        """Note a table beside this one that it can't bring back."""
        self.lacking = (*self.lacking, f"{beside.name} is not brought back: {why}")


class ServiceSource(RestoreSource):
    """A backup on demand, or a point in time: the service restores it into a new table."""

    is_service = True

    def __init__(self, port: Port, table: Table, *, backup: str | None = None, at: datetime | None = None) -> None:
        self.port, self.table, self.backup, self.at = port, table, backup, at
        moment = "as late as it can be" if at is None else f"at {at.isoformat()}"
        self.text = f"the backup {backup}" if backup is not None else f"{table.name} {moment}"
        self.costs = "minutes to hours, whatever its size; AWS bills the restored GB"

    async def make(self, target: Port, table: Table, tell: Tell) -> None:
        if await describe_indexes(target, table.definition) is not None:
            await backups.wait_restored(target, table.name, tell)
        elif self.backup is not None:
            await backups.restore_backup(target, self.backup, table.name, tell)
        else:
            await backups.restore_to_time(self.port, self.table.name, target, self.at, tell)

    async def fill(self, target: Port, table: Table, tell: Tell) -> int:
        return 0

    def has_made(self, raw: Mapping[str, Any]) -> bool:
        summary = raw.get("RestoreSummary", {})
        if self.backup is not None:
            return bool(summary.get("SourceBackupArn") == self.backup)
        source, then = str(summary.get("SourceTableArn", "")), int(summary.get("RestoreDateTime", 0))
        if "SourceBackupArn" in summary or raw.get("TableArn") == source:
            return False  # a table is never restored to a time under its own name
        is_then = self.at is None or then == int(self.at.timestamp())
        return is_then and source.endswith(f":table/{name_in(self.port.names[self.table.name])}")

    async def beside(self, beside: Table) -> RestoreSource | None:
        if self.backup is None:
            if await describe_indexes(self.port, beside.definition) is None:
                return None
            recovery = await backups.recovery(self.port, beside.name)
            if recovery.is_on and (self.at is None or backups.is_in_reach(recovery, self.at, beside.name)):
                return ServiceSource(self.port, beside, at=self.at)
            self.lacks(beside, _reach(recovery))
            return None
        backup = await backups.describe_backup(self.port, self.backup)
        other = await migrations.beside_backup(self.port, beside.name, backup)
        if other is None:
            self.lacks(beside, f"no backup of it is named {backup.name}")
            return None
        return ServiceSource(self.port, beside, backup=other.arn)


def _reach(recovery: backups.Recovery) -> str:
    return f"its recovery has {recovery.earliest} to {recovery.latest}" if recovery.is_on else "its recovery is off"


class ItemSource(RestoreSource):
    """Items that are put one by one into a table that is created for them."""

    async def make(self, target: Port, table: Table, tell: Tell) -> None:
        if await describe_indexes(target, table.definition) is None:
            tell("creating")
            await create(target, structs.replace(table.definition, stream=None, deletion_protection=None))


class CopySource(ItemSource):
    """A table of another database, as of a copy of a data file."""

    costs = "a write unit for each KB and again for each index; for a copy of a data file no more than its time"

    def __init__(self, port: Port, table: Table, place: str) -> None:
        self.port, self.table, self.place = port, table, place
        self.text = f"{table.name} of {place}"

    async def fill(self, target: Port, table: Table, tell: Tell) -> int:
        options = CopyOptions(keep_personal=True, add=True, hold=False)  # the table is this restore's own, and held
        copied = await copy_table(
            self.port, target, table, options, lambda at: tell(f"{at.written} items written"), self.place
        )
        return copied.written

    async def beside(self, beside: Table) -> RestoreSource | None:
        there = await describe_indexes(self.port, beside.definition)
        return None if there is None else CopySource(self.port, beside, self.place)


class ExportSource(ItemSource):
    """An export that DynamoDB made to S3, with the incremental ones after it; or a folder of `singletable export`."""

    costs = "a write unit for each KB and again for each index; S3's requests"

    def __init__(self, exported: ExactItems) -> None:
        self.exported = exported
        self.text = f"the export {exported.where}"

    async def fill(self, target: Port, table: Table, tell: Tell) -> int:
        return await ExportRestoreRun(target, table, self.exported).run(lambda put: tell(f"{put} items written"))

    async def beside(self, beside: Table) -> RestoreSource | None:
        if (exported := self.exported.beside(beside)) is not None:
            return ExportSource(exported)
        self.lacks(beside, "the export has not this table")
        return None


class ExportRestoreState(Struct, frozen=True):
    """The progress of putting an export's items."""

    read: int = 0
    written: int = 0
    is_over: bool = False


class ExportRestoreRun(ResumableRun[ExportRestoreState, int]):
    """Puts the items of an export, in the order of its files, which stays the same."""

    def __init__(self, target: Port, table: Table, exported: ExactItems) -> None:
        self.target, self.table, self.exported = target, table, exported

    @property
    def is_over(self) -> bool:
        return self.state.is_over

    def told(self) -> int:
        return self.state.written

    async def begin(self) -> None:
        self.store = record = await open_record(
            self.target, self.table, ("restore", self.exported.where), ExportRestoreState()
        )
        await record.write(record.state)
        self.state = record.state
        self.items = islice(self.exported.items(), self.state.read, None)

    async def round(self) -> None:
        (items,) = await self.target.call_all([lambda: list(islice(self.items, PAGE))])
        wanted = [item for item in items if goes_along(self.table, item)]
        await put_patiently(self.target, self.table, wanted)
        read, written = self.state.read + len(items), self.state.written + len(wanted)
        self.state = ExportRestoreState(read, written, len(items) < PAGE)
