"""An export that is kept fresh, bound to a database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from singletable.exchange.change_events import log_event
from singletable.exchange.follow import Followed, FollowOptions, Progress, follow, followed_datasets
from singletable.exchange.stores import Store, store_at
from singletable.flow.lambda_handler import AsyncLambdaHandler, LambdaAnswer
from singletable.flow.shells import check_awaiting
from singletable.flow.stop import Stop, stopping
from singletable.foundation import AwaitingDatabase, Table


class AsyncFollower:
    """Keeps the export of a table fresh: a row for each item, as it is.

    The table has a stream of new images. Raises InvalidRequest for anything but an AsyncDatabase, NotSupported where
    the engine is known to have no streams.
    """

    def __init__(self, db: AwaitingDatabase, table: Table, to: str | os.PathLike[str] | Store) -> None:
        check_awaiting(db, "AsyncFollower")
        db.port.traits.check("streams", "AsyncFollower")
        self.db, self.table, self.store = db, table, store_at(to)

    async def run(
        self,
        *,
        stop: Stop | None = None,
        signals: bool = True,
        poll_seconds: float = 1.0,
        flush_seconds: float = 5.0,
        compact_seconds: float = 300.0,
        anew: bool = False,
        progress: Progress | None = None,
    ) -> Followed:
        """Follow the table until SIGTERM or SIGINT, or until `stop()` returns True.

        Without an export in the folder, or with one that can't be followed, the table is scanned first, for half a read
        unit for each 4 KB; then its changes are read, a GetRecords for each shard every `poll_seconds`. They are
        durable after `flush_seconds`, and in the data after `compact_seconds`: then the manifest's `complete_at` says
        up to which moment it has every write. A process that is killed loses nothing, and the next one goes on.

        A table that nothing followed for 23 hours is scanned again, as its stream has the changes of a day only.
        Errors that pass are logged. InvalidRequest for a table without a stream of new images; Denied; Corrupt.
        """
        options = FollowOptions(False, poll_seconds, flush_seconds, compact_seconds, anew)
        with stopping(stop, signals) as is_over:
            return await self.db.run(follow(self.db.port, self.table, self.store, options, is_over, progress))

    async def catch_up(self, *, anew: bool = False, progress: Progress | None = None) -> Followed:
        """Bring the data to what the table is now, and return: for schedules, scripts and tests.

        Costs as `run`. Unavailable where the stream or the folder does not answer.
        """
        options = FollowOptions(once=True, anew=anew)
        return await self.db.run(follow(self.db.port, self.table, self.store, options, bool, progress))

    def lambda_handler(self, *, compact_seconds: float = 300.0) -> AsyncLambdaHandler:
        """Returns a function for AWS Lambda: it writes the changes that it is passed to the log, a file a batch, and
        brings the data to them where it is older than `compact_seconds`.

        The folder needs an export with keys, made after the mapping was; `catch_up` makes one. A shard without changes
        passes nothing, so Lambda alone can't say up to which moment the data is complete: `complete_at` moves when
        `catch_up` runs, as on a schedule. Whatever raises, Lambda sends the batch again.
        """
        datasets = followed_datasets(self.table)

        async def handler(event: Mapping[str, Any], context: Any = None) -> LambdaAnswer:
            flow = log_event(self.db.port, self.table, self.store, datasets, event, compact_seconds)
            return await self.db.run(flow)

        return handler
