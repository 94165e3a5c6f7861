"""A worker of tasks, bound to a database: it runs what is due, and shows what failed for the last time."""

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
from singletable.queues import Queue
from singletable.tasks import flows
from singletable.tasks.items import DeadLetter
from singletable.tasks.lag import TaskLag
from singletable.tasks.lease_watch import LeaseWatch
from singletable.tasks.tasks import Tasks
from singletable.tasks.worker_options import Counts, TaskWorkerOptions


class AsyncTaskWorker:
    """Runs the tasks of a table, over a database.

        worker = AsyncTaskWorker(db, tasks)

    `await worker.run()` works until SIGTERM; `await worker.drain()` runs what is due now, for tests and scripts. Any
    number of workers may share a table. Raises InvalidRequest for anything but an AsyncDatabase, NotSupported if the
    engine is known to have no transactions.
    """

    def __init__(self, db: Awaiting, tasks: Tasks) -> None:
        check_awaiting(db, "AsyncTaskWorker")
        db.port.traits.check("transactions", "AsyncTaskWorker")
        self.db, self.tasks = about(db, tasks.table), tasks

    def __repr__(self) -> str:
        return f"<AsyncTaskWorker of {self.tasks.table.name}>"

    async def run(
        self,
        *,
        at_once: int = 8,
        poll_seconds: float = 1.0,
        lease_seconds: float = 60.0,
        queue: Queue[Any] | None = None,
        stop: Stop | None = None,
        signals: bool = True,
    ) -> Counts:
        """Run due tasks, `at_once` concurrently, until SIGTERM, SIGINT or `stop()`; then finish the running ones.

        If the process dies, other workers run its tasks once their leases are over: seen to be without a sign of life
        for `lease_seconds` of the worker that claimed them, whatever the clocks say. An idle worker polls every
        `poll_seconds`: eight requests, four read units; and reads the table's hold every three seconds, a unit: while
        the table is held no task is begun. A task costs a claim and an end, a write unit each for each KB,
        and over its whole life four more in the index.

        With a `queue`, tasks reach this worker and others through SQS: it sends what is due to the queue, and runs what
        it receives. The queue must serve no other purpose; it may be fifo or standard.
        """
        self._check_functions()
        options = TaskWorkerOptions(at_once, poll_seconds, lease_seconds)
        tasks = self.tasks
        return await self.db.run(
            flows.run(self.db.port, tasks.entities, tasks.functions, options, queue, stop, signals)
        )

    async def drain(self, *, at_once: int = 8, lease_seconds: float = 60.0, stop: Stop | None = None) -> Counts:
        """Run what is due by the database's clock, and what that makes due, then return. Leases are not extended.

        A task whose worker has died is waited for: until its lease is over, and was seen unchanged for its length.
        Eight requests for each look at the index, a read of the hold, and for each task a claim and an end, as `run`.
        None is begun while the table is held.
        """
        self._check_functions()
        options = TaskWorkerOptions(at_once, 1.0, lease_seconds)
        return await self.db.run(flows.drain(self.db.port, self.tasks.entities, self.tasks.functions, options, stop))

    async def send_due(self, queue: Queue[Any], *, within_seconds: float = 900.0) -> int:
        """Send the tasks that are due within some seconds, 15 minutes at most, to a queue; returns their number.

        For a schedule, such as a Lambda function called every minute. To a fifo queue only what is due now is sent. A
        message is a pointer: the task itself decides whether it is run. What is overdue by two minutes is sent again.
        A read of the hold, eight requests, and one to SQS for each ten tasks. None is sent while the table is held.
        """
        gate, tasks = TableGate(self.db.port, self.tasks.table), self.tasks
        return await self.db.run(
            flows.plan_and_send(self.db.port, gate, tasks.entities, tasks.functions, queue, within_seconds)
        )

    def lambda_handler(self, *, lease_seconds: float = 900.0) -> AsyncLambdaHandler:
        """Returns the handler of a Lambda function behind such a queue, for `ReportBatchItemFailures`.

        A message that is early, or whose task waits for another of its order, is given back. A task that fails is not:
        its next try is in the table, and `send_due` sends it. While the table is held all are given back.
        `lease_seconds` is at least the function's timeout. A read unit more, at most every three seconds.
        """
        self._check_functions()
        gate = TableGate(self.db.port, self.tasks.table)
        watch = LeaseWatch(lease_seconds)

        async def handler(event: Mapping[str, Any], context: Any = None) -> LambdaAnswer:
            self._check_functions()
            tasks = self.tasks
            entities, functions = tasks.entities, tasks.functions
            return await self.db.run(flows.handle_event(self.db.port, gate, entities, functions, watch, event, context))

        return handler

    def lambda_metrics(self) -> AsyncMetricsHandler:
        """Returns the handler of a Lambda function that a schedule calls: it prints the metrics of these tasks.

        CloudWatch reads `TasksOverdueSeconds` and `TasksDead` out of its log, with the dimension `Table`, in the
        namespace `singletable`. `Function(..., measures=[tasks])` makes the alarms. A call takes 16 queries, 8 read
        units, and a unit for each recurring task.
        """

        async def handler(event: Mapping[str, Any], context: Any = None) -> dict[str, float]:
            return await self.db.run(flows.print_task_metrics(self.db.port, self.tasks.entities, self.tasks.functions))

        return handler

    async def dead_letters(self) -> list[DeadLetter]:
        """The tasks that failed for the last time, the longest dead first; kept until retried or cancelled.

        The failed run of a recurring task is one, under the task's key, until it is retried or dropped, or a later run
        succeeds. Eight queries, then a read of each item, and of that of each recurring task.
        """
        return await self.db.run(flows.dead_letters(self.db.port, self.tasks.entities, self.tasks.functions))

    async def retry(self, key: str) -> None:
        """Make a dead task due now, with all its tries before it; raises NotFound if no dead task has it.

        Of a recurring task it is the run that failed: NotFound too while another of its runs is under way.

        A read and a write.
        """
        return await self.db.run(flows.retry(self.db.port, self.tasks.entities, key))

    async def drop(self, key: str) -> None:
        """Delete a dead task; raises NotFound if no dead task has that key. A task that was retried meanwhile stays.

        A read and a write.
        """
        return await self.db.run(flows.drop(self.db.port, self.tasks.entities, key))

    async def lag(self) -> TaskLag:
        """Return what waits for a worker, since when, and the tasks that workers have claimed, with their last beats.

        Eight requests, four read units and more where many tasks wait.
        """
        return await self.db.run(flows.task_lag(self.db.port, self.tasks.entities))

    async def release(self, key: str) -> None:
        """Take a task from the worker that has claimed it, so that another runs it now: for a worker that hangs.

        If that worker lives, its end is refused, and the task has run twice. A read and a write. NotFound for a task
        that nobody has claimed, NotSupported for one that has an order.
        """
        return await self.db.run(flows.release_task(self.db.port, self.tasks.entities, key))

    async def check(self) -> list[Finding]:
        """Return the findings; empty for sound tasks. Reads the whole table, and changes nothing.

        Dead tasks are not findings: `dead_letters` returns them.
        """
        return await self.db.run(flows.check(self.db.port, self.tasks.entities, self.tasks.functions))

    def _check_functions(self) -> None:
        """Before anything begins, as a function may have been declared since."""
        refuse_async(self.db, (f"the task {f.name}" for f in self.tasks.functions.values() if f.is_async))
