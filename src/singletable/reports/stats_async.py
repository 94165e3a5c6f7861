"""The shape of a table, read through a database."""

from __future__ import annotations

from singletable.flow import Rate, about, at_rate, check_awaiting
from singletable.foundation import AwaitingDatabase, Table, TableItems
from singletable.reports import measurement
from singletable.reports.measurement import MOST_CHANGES, Progress
from singletable.reports.shape import Prediction, TableShape


class AsyncStats:
    """Tells what a table is made of.

    AsyncStats(db, shop).read(sample=0.01)
    """

    def __init__(self, db: AwaitingDatabase, table: Table) -> None:
        check_awaiting(db, "AsyncStats")
        self.db, self.table = about(db, table), table

    def __repr__(self) -> str:
        return f"<AsyncStats of {self.table.name}>"

    async def predict(self, sample: float | None = None) -> Prediction:
        """Predict the cost of `read`, by the size that DescribeTable returns. Two requests, no units.

        Raises NotConfigured if the table is missing, InvalidRequest for a sample outside 0 to 1.
        """
        return await self.db.run(measurement.predict(self.db.port, self.table, sample))

    async def read(
        self,
        *,
        sample: float | None = None,
        seed: int = 0,
        segments: int | None = None,
        rate: Rate | None = None,
        changes: int = MOST_CHANGES,
        progress: Progress | None = None,
        from_export: TableItems | None = None,
    ) -> TableShape:
        """Items, bytes and read units by class, index and item collection, and the twenty largest and hottest.

        One scan, eventually consistent: half a read unit for each 4 KB of the table, or of the sample; and requests to
        its stream, which take no units, for the oldest `changes` of a day. Memory does not grow with the table. Writes
        nothing. Raises InvalidRequest for a sample outside 0 to 1, or too many segments.

        With `from_export`, as `export_of(shop, "s3://...")`, it reads that export and sends nothing: `as_of` is the
        moment that it shows, and the hottest keys are left out. Corrupt for a damaged export; InvalidRequest for one of
        another table, and with a sample.
        """
        flow = measurement.read_shape(
            at_rate(self.db.port, rate),
            self.table,
            sample=sample,
            seed=seed,
            segments=segments,
            changes=changes,
            progress=progress,
            from_export=from_export,
        )
        return await self.db.run(flow)
