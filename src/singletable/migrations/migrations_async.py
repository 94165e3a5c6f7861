"""Migrations bound to a database."""

from __future__ import annotations

from singletable.flow.rate import Rate, at_rate
from singletable.flow.shells import check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.migrations.fill import Filled, Progress, fill


class AsyncMigrations:
    """The changes of a table that is in use."""

    def __init__(self, db: AwaitingDatabase, table: Table) -> None:
        check_awaiting(db, "AsyncMigrations")
        self.db, self.table = db, table

    async def fill(
        self,
        *,
        segments: int = 4,
        rate: Rate | None = None,
        dry_run: bool = False,
        anew: bool = False,
        progress: Progress | None = None,
    ) -> Filled:
        """Write the index keys that items lack, and items of older schema versions in the current form.

        Deploy the program that writes the new form first: one that doesn't know an index leaves its key as it is.
        A fill reads the whole table consistently. It writes each item that needs it once, under the condition that it
        is as it was read, and one item more for each hundred. Killed, it goes on where it was, unless `anew`; a second
        one writes nothing. `dry_run` counts and writes nothing. `progress` is called after each round of pages.

        InvalidRequest for segments that are not 1 to 16; Throttled from a table that refuses for minutes on end.
        """
        port = at_rate(self.db.port, rate)
        flow = fill(port, self.table, segments=segments, dry_run=dry_run, anew=anew, progress=progress)
        return await self.db.run(flow)
