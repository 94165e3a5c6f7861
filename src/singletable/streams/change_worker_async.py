"""A worker of changes, bound to a database: it calls the handlers, and shows what they failed at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from singletable.flow import (
    AsyncLambdaHandler,
    AsyncMetricsHandler,
    Awaiting,
    LambdaAnswer,
    Stop,
    about,
    check_awaiting,
    refuse_async,
)
from singletable.foundation import Finding
from singletable.holds import TableGate
from singletable.streams import flows
from singletable.streams.changes import Changes
from singletable.streams.consumer import BUFFER_BYTES, ConsumerOptions, Start
from singletable.streams.dead_letters import DeadLetter
from singletable.streams.lag import ChangeLag


class AsyncChangeWorker:
    """Calls the handlers of a table's changes, over a database.

        worker = AsyncChangeWorker(db, changes)

    `await worker.run()` works until SIGTERM; `await worker.drain()` handles what is in the stream now, for tests and
    scripts. Any number of workers share the shards of the stream. Raises InvalidRequest for anything but an
    AsyncDatabase, NotSupported if the engine is known to lack streams.
    """

    def __init__(self, db: Awaiting, changes: Changes) -> None:
        check_awaiting(db, "AsyncChangeWorker")
        db.port.traits.check("streams", "AsyncChangeWorker")
        self.db, self.changes = about(db, changes.table), changes

    def __repr__(self) -> str:
        return f"<AsyncChangeWorker {self.changes.name} of {self.changes.table.name}>"

    async def run(
        self,
        *,
        start: Start = "horizon",
        stop: Stop | None = None,
        signals: bool = True,
        lease_seconds: float = 10.0,
        tries: int = 5,
        backoff_seconds: float = 0.2,
        poll_seconds: float = 0.25,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        """Work until SIGTERM or SIGINT, or until `stop()` returns True: then finish the round and write checkpoints.

        A consumer that never ran begins a day back (`start="horizon"`) or with what comes (`"now"`). Any number of
        workers share the shards; a worker without a heartbeat for `lease_seconds` loses its own. A handler may take as
        long as it likes. A change that fails is tried `tries` times, after `backoff_seconds`, twice that, and so on.

        While an earlier change of an item is tried again, the later ones wait in memory: up to `buffer_bytes` of images
        in all, evenly shared by the shards that this worker reads. A shard over its share is not read until it is below
        it. One answer of the service, 1 MB of items, is the most by which the share can be passed.

        Errors that pass (`Unavailable`, `OutcomeUnknown`, `TransactionConflict`) are logged, and the worker goes on.
        Any other error of the library's own requests is raised.

        While the table is held no handler is called, and what changes until its release is passed over.

        An idle shard costs a GetRecords every `poll_seconds`; a lease three writes in its length, a checkpoint a second
        one more; the hold a read unit every three seconds; and no request otherwise.
        """
        self._check_functions()
        options = ConsumerOptions(start, lease_seconds, tries, backoff_seconds, poll_seconds, buffer_bytes=buffer_bytes)
        return await self.db.run(flows.run(self.db.port, self.changes.consumer, options, stop, signals))

    async def drain(
        self,
        *,
        start: Start = "horizon",
        lease_seconds: float = 10.0,
        tries: int = 5,
        backoff_seconds: float = 0.2,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        """Handle what is in the stream, including changes the handlers make, and return: for tests and scripts.

        Waits until the lease of a worker that died expires; Unavailable if another worker is alive. A read
        of each shard for each answer, and the leases' writes.
        """
        self._check_functions()
        options = ConsumerOptions(start, lease_seconds, tries, backoff_seconds, buffer_bytes=buffer_bytes)
        return await self.db.run(flows.drain(self.db.port, self.changes.consumer, options))

    def lambda_handler(self) -> AsyncLambdaHandler:
        """Returns a function for AWS Lambda, whose event source mapping must say ReportBatchItemFailures.

        Records are handled in their order. The first that fails is reported, and Lambda sends it again with all that
        follow. Lambda's own settings limit the tries, and name the destination of a record that never succeeds. Records
        that come while the table is held are passed over. A read unit, at most every three seconds.
        """
        self._check_functions()
        gate = TableGate(self.db.port, self.changes.table)

        async def handler(event: Mapping[str, Any], context: Any = None) -> LambdaAnswer:
            self._check_functions()
            return await self.db.run(flows.handle_event(self.db.port, gate, self.changes.consumer, event))

        return handler

    def lambda_metrics(self) -> AsyncMetricsHandler:
        """Returns the handler of a Lambda function that a schedule calls: it prints the metrics of this consumer.

        CloudWatch reads out of its log `ChangesDead`, 1 if there is a dead letter in the table, 0 if there is none, and
        `ChangesBehindSeconds`, which is left out where it can't be measured, as before the first worker. Dimensions are
        `Table` and `Consumer`, the namespace is `singletable`. `Function(..., measures=[changes])` makes the alarms. A
        query of one item, and what `lag` takes.
        """

        async def handler(event: Mapping[str, Any], context: Any = None) -> dict[str, float]:
            return await self.db.run(flows.print_change_metrics(self.db.port, self.changes.consumer))

        return handler

    async def dead_letters(self) -> list[DeadLetter]:
        """The changes that failed too often, each with its images and its last error. One query: a request
        for each MB."""
        consumer = self.changes.consumer
        return await self.db.run(flows.dead_letters(self.db.port, consumer.state, consumer.name))

    async def retry(self, dead_letter: DeadLetter) -> None:
        """Call the handlers of a dead letter once more, here and now; where they succeed it is deleted.

        Raises what a handler raises, and the dead letter stays. Later changes of its item were handled before it: a
        handler that must not go back reads the item itself. NotFound if it is no longer a dead letter. Two requests.
        """
        self._check_functions()
        return await self.db.run(flows.retry(self.db.port, self.changes.consumer, dead_letter))

    async def drop(self, dead_letter: DeadLetter) -> None:
        """Delete a dead letter without handling its change. A query and a delete. NotFound if it is no longer one.

        The work of its handlers is left undone.
        """
        return await self.db.run(flows.drop(self.db.port, self.changes.consumer, dead_letter))

    async def lag(self) -> ChangeLag:
        """Return how far the handlers are behind, and who holds each shard that has not ended, with its last beat.

        Four requests, and two more for each of up to 8 shards. An error of the stream is told as `trouble`.
        NotConfigured before the first worker.
        """
        return await self.db.run(flows.consumer_lag(self.db.port, self.changes.consumer))

    async def release(self, shard: str) -> None:
        """Take a shard from the worker that holds it, at its checkpoint, so that another reads it: for one that hangs.

        Changes after the checkpoint may be handled twice. Three requests. NotFound for a shard that nobody holds.
        """
        return await self.db.run(flows.release_shard(self.db.port, self.changes.consumer, shard))

    async def check(self) -> list[Finding]:
        """Return the findings: dead letters, leases without a shard, tries of finished changes. Two requests or more:
        it reads all of the worker's items."""
        return await self.db.run(flows.check(self.db.port, self.changes.consumer))

    def _check_functions(self) -> None:
        """Before anything begins, as a handler may have been declared since."""
        refuse_async(self.db, self.changes.consumer.async_functions())
