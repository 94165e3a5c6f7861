"""Tasks: delayed, durable work as items of the application's own table.

    tasks = Tasks(app, index="gsi1")              # declare

    @tasks.task
    def next_attempt(search_id: str, index: int) -> None: ...

    with db.transaction() as tx:
        tx.create(search)
        tx.add(tasks.after(timedelta(minutes=10), next_attempt(search.id, 1)))

    TaskWorker(db, tasks).run()                   # bind and run, until SIGTERM

Theory of operation. A task is one item. Its life is a table of phases and events in `states`; every event is one
conditional write, so of several workers one succeeds.

    schedule    an application's transaction puts the item, with its function, arguments, due time and a fence
    find        eight index partitions list what is due by `wake`; the index only says where to look
    claim       one update, if the task is due and its fence is unchanged: fence + 1, tries + 1, and `wake` is
                the end of the lease, so that the task is due again if the worker dies
    run         the function, outside of any transaction of the library's
    end         under the claim's fence: the item is deleted, or due again later, or a dead letter

The fence is what makes this safe: a worker whose lease ran out may still run, but its end is refused, because another
worker's claim raised the fence. The function may put the end into its own transaction with `done()`: then its effect
and its end are one commit, and the effect happens once. Otherwise a task runs at least once.

Tasks of one order run one after the other. Then the task's own item is only its name; an ordered task runs, an item
next to the others of its order, and the lane, one item for each order, says which of them runs. A claim is a
transaction of the three, and so is each end; `ordered` has the writes, `ordered_claim` takes the first of a lane.

Begin with `tasks` (what an application declares) and `task_worker_async` (what it calls), then `items` (what is
stored), `states`, `writes` and `worker`.
"""

from singletable.tasks.calls import Backoff as Backoff, Call as Call, TaskFunction as TaskFunction
from singletable.tasks.execution import (
    NothingToDo as NothingToDo,
    Running as Running,
    Unfinished as Unfinished,
    UnknownTask as UnknownTask,
)
from singletable.tasks.items import DeadLetter as DeadLetter, PlainTask as PlainTask
from singletable.tasks.lag import TaskLag as TaskLag, TaskLease as TaskLease
from singletable.tasks.task_worker import TaskWorker as TaskWorker
from singletable.tasks.task_worker_async import AsyncTaskWorker as AsyncTaskWorker
from singletable.tasks.tasks import Tasks as Tasks
from singletable.tasks.worker_options import Counts as Counts
from singletable.tasks.writes import ClaimLost as ClaimLost
