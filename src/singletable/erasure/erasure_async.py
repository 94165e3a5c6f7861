"""Erasures bound to a database."""

from __future__ import annotations

from typing import Any

from singletable.documents import BlobStore
from singletable.erasure import execution
from singletable.erasure.execution import Progress, parts_of
from singletable.erasure.receipt import ErasurePlan, Receipt
from singletable.erasure.scan_job import ScanJobs, SharedScans
from singletable.flow import Rate, about, at_rate, check_awaiting
from singletable.foundation import AwaitingDatabase, HasBelongings, LayerBelongings, Query, Table, TableItems
from singletable.jobs import JobPlace
from singletable.schema import Whole


class AsyncErasure:
    """Deletes all that belongs to a person or a tenant from one table.

        AsyncErasure(db, shop).plan(Customer.by_email("ada@example.org"))

    It deletes the items in the partition of the subject's key, items that belong to the subject by
    `field(belongs_to=...)`, edges of deleted nodes, and what layers keep: `Tasks`, `Changes`, `Documents`, `Sync`. It
    clears mentions by `field(mentions=...)`, and copies of the subject's attributes, in items that stay.

    Layers that this program declares for the table are found; `layers` are for those with settings of their own, as
    `Documents(db, Kind, blobs=...)`. `blobs` is the store of documents whose class has none.
    """

    def __init__(
        self, db: AwaitingDatabase, table: Table, *layers: HasBelongings, blobs: BlobStore | None = None
    ) -> None:
        check_awaiting(db, "AsyncErasure")
        self.db, self.table = about(db, table), table
        self._layers, self._blobs = layers, blobs

    def __repr__(self) -> str:
        return f"<AsyncErasure of {self.table.name}>"

    def _parts(self) -> list[LayerBelongings]:
        return parts_of(self.table, self._layers, self.db.target.seal, self._blobs)

    def _jobs(self, shared: SharedScans | None, *, is_apply: bool = False) -> ScanJobs | None:
        place = JobPlace(self.table, self.db.target.seal, self.db.target.place)
        return None if shared is None else ScanJobs(place, shared, is_apply=is_apply)

    async def plan(
        self,
        subject: Query[Any] | Whole[Any],
        *,
        rate: Rate | None = None,
        from_export: TableItems | None = None,
        shared: SharedScans | None = None,
    ) -> ErasurePlan:
        """Predict `apply`: the items to delete, one by one, and the ones that stay. Writes nothing.

        A query for each reference whose values make a partition, and a consistent scan of the table for each level of
        those that don't. With `from_export`, as `export_of(shop, "s3://...")`, that export is read instead of a scan,
        and what it shows is read again by its key. InvalidRequest for a pattern of another table, NotFound if nothing
        belongs to the subject. With `shared` each scan is a job, which other processes work on too.
        """
        port = at_rate(self.db.port, rate)
        return await self.db.run(
            execution.plan(port, self.table, subject, self._parts(), from_export, self._jobs(shared))
        )

    async def apply(
        self,
        subject: Query[Any] | Whole[Any],
        *,
        by: str = "",
        rate: Rate | None = None,
        progress: Progress | None = None,
        from_export: TableItems | None = None,
        shared: SharedScans | None = None,
    ) -> Receipt:
        """Delete all of it, the subject last. Programs may read and write meanwhile: it looks again until nothing is
        left. Returns what was deleted, and where copies still are.

        Each item goes under the condition that it still belongs to the subject. Killed, the same call goes on, and
        counts each item once. It searches as `plan` does, three times or more, and writes each item, and a record for
        each 48. One erasure or `Migrations.apply` runs on a table at a time: ApplyRefused. InvalidRequest, NotFound, as
        `plan`. `by` is stored with the record: who does it.

        With `from_export` the first search reads the export, and the table is scanned once for all levels before
        anything is deleted: a scan less for each level after the first, where the export has all. Where it lacks
        something, the table is searched as without it. Nothing that was written since the export is left.

        With `shared` each scan is a job, which other processes work on too; this one alone deletes. The receipt's units
        are those of all, its requests this process's. JobRefused where somebody cancels such a job: call it again.
        """
        options: Any = {"by": by, "rate": rate, "progress": progress, "from_export": from_export}
        options["jobs"] = self._jobs(shared, is_apply=True)
        return await self.db.run(execution.apply(self.db.port, self.table, subject, self._parts(), **options))
