"""DynamoDB's exports to S3, bound to a database: begun, waited for, described."""

from __future__ import annotations

from datetime import datetime

from singletable.errors import InvalidRequest
from singletable.flow import about, check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.tables import Progress, TableExport, exports


class AsyncTableExports:
    """The exports of one table that DynamoDB itself makes to S3.

    They take no read units, whatever the table's size. DynamoDB bills them by the table's GB, and S3 their requests and
    storage. The table needs point-in-time recovery. NotSupported on an engine that makes none, as the embedded one.
    """

    def __init__(self, db: AwaitingDatabase, table: Table) -> None:
        check_awaiting(db, "AsyncTableExports")
        self.db, self.table = about(db, table), table

    async def start(
        self,
        to: str,
        *,
        at: datetime | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> TableExport:
        """Begin an export to `s3://BUCKET/PREFIX`: of all items now, or as they were `at` a time within recovery.

        With `since`, of the items that were written from then on, and before `until`: 15 minutes to 24 hours between
        them. Three requests. NotConfigured if recovery is off; InvalidRequest for times that can't be exported.
        """
        bucket, prefix = _place(to)
        flow = exports.start_export(self.db.port, self.table.name, bucket, prefix, at=at, since=since, until=until)
        return await self.db.run(flow)

    async def describe(self, arn: str) -> TableExport:
        """Describe an export and its progress. One request. Raises NotFound if it is missing."""
        return await self.db.run(exports.describe_export(self.db.port, arn))

    async def wait(self, export: TableExport, *, progress: Progress | None = None) -> TableExport:
        """Wait until it is complete, minutes to hours, without a limit. A request every 15 s. Unavailable if it
        fails."""
        return await self.db.run(exports.await_export(self.db.port, export, progress))


def _place(to: str) -> tuple[str, str]:
    bucket, _, prefix = to.removeprefix("s3://").partition("/")
    if not to.startswith("s3://") or not bucket:
        raise InvalidRequest(
            f"{to} is not a place in S3", hint="As in s3://bucket/prefix: DynamoDB writes there itself."
        )
    return bucket, prefix
