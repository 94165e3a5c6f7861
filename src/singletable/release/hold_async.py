"""The hold of a table, bound to a database."""

from __future__ import annotations

from collections.abc import Sequence

from singletable.flow import about, check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.holds import TableGate, hold
from singletable.release.reports import HoldReport, Released, drop, release_table, report_of
from singletable.values import check_texts


class AsyncHold:
    """The hold of a table that was copied or restored: until it is released, its workers begin nothing.

        await AsyncHold(db, shop).release(drop=["remind"])

    It knows the tasks and the handlers of changes that this program declares for the table.
    """

    def __init__(self, db: AwaitingDatabase, table: Table) -> None:
        check_awaiting(db, "AsyncHold")
        self.db, self.table = about(db, table), table

    def __repr__(self) -> str:
        return f"<AsyncHold of {self.table.name}>"

    async def report(self) -> HoldReport:
        """Whether the table is held, and what waits: tasks by name, their number, due since when; which handlers begin.

        A read; two queries if it is held, of what still brings items; and for tasks eight queries of their index, half
        a unit for each 4 KB, and a read of each task. Raises NotConfigured if the table is missing.
        """
        return await self.db.run(report_of(self.db.port, self.table))

    async def begin(self, why: str, *, in_use: bool = True) -> HoldReport:
        """Hold the table: no task is begun, no message and no change handled, until `release`.

        `copy` and `restore` do it; call it before you hand out a table that you copied otherwise. `in_use` waits five
        seconds, until the workers that run have noticed. A read and a write; then as `report`, also in its errors, as
        NotConfigured.
        """
        await self.db.run(hold(self.db.port, self.table, why, in_use=in_use))
        return await self.report()

    async def drop(self, name: str) -> int:
        """Delete the tasks of a name that wait; returns their number. NotFound if no task has the name.

        As `report`, and a write for each.
        """
        return await self.db.run(drop(self.db.port, self.table, name))

    async def release(self, *, drop: Sequence[str] = (), unfinished: bool = False) -> Released:
        """Let the workers begin, after the tasks of some names were deleted. Returns what was pending before.

        Each pending task runs once, when it is due. Handlers of changes get what changes after the return of this call,
        and nothing from before it. Takes up to five seconds for a table with a stream. One that is not held stays as it
        is. As `report`, a read and a write; and a write for each dropped task. NotFound for a name of no task; Conflict
        if the table was held again, or if a restore or a copy into it was killed and has not gone on to its end:
        `unfinished` releases it all the same.
        """
        check_texts(drop=drop)
        return await self.db.run(release_table(self.db.port, self.table, drop, unfinished))

    def gate(self) -> TableGate:
        """The gate of the table, for `consume` and `partial_failures` of a queue that belongs to it."""
        return TableGate(self.db.port, self.table)
