"""Tasks: delayed, durable work as items of the application's own table.

    tasks = Tasks(app, index="gsi1")

    @tasks.task
    def next_attempt(search_id: str, index: int) -> None: ...

    with db.transaction() as tx:
        tx.create(search)
        tx.add(tasks.after(timedelta(minutes=10), next_attempt(search.id, 1)))

    tasks.run(db)

Begin with `registry` (what an application calls), then `items` (what is stored), `writes` (what becomes of a task, and
under which conditions) and `working` (the worker).
"""

from singletable.tasks.calls import Backoff, Call, TaskFunction
from singletable.tasks.context import Running
from singletable.tasks.execution import Unfinished, UnknownTask
from singletable.tasks.items import DeadLetter, PlainTask
from singletable.tasks.tasks import Tasks
from singletable.tasks.worker_options import Counts
from singletable.tasks.writes import ClaimLost

__all__ = [
    "Backoff",
    "Call",
    "ClaimLost",
    "Counts",
    "DeadLetter",
    "PlainTask",
    "Running",
    "TaskFunction",
    "Tasks",
    "Unfinished",
    "UnknownTask",
]
