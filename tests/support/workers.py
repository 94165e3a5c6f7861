"""Workers over either shell behind one interface: the blocking one's verbs are awaited too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from singletable import Table
from singletable.release import AsyncHold, Hold
from singletable.streams import AsyncChangeWorker, Changes, ChangeWorker
from singletable.tasks import AsyncTaskWorker, Tasks, TaskWorker
from tests.support.shells import Disguised


class _Awaited:
    """A blocking worker with the awaiting one's interface."""

    def __init__(self, worker: ChangeWorker | TaskWorker | Hold) -> None:
        self.worker = worker

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self.worker, name)
        if name == "lambda_handler":
            return lambda **options: _awaited(verb(**options))
        return _awaited(verb)


def _awaited(verb: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        return verb(*args, **kwargs)

    return call


def change_worker(shell: Any, changes: Changes) -> AsyncChangeWorker:
    """A worker of changes over a shell of either kind."""
    made: Any = _Awaited(ChangeWorker(shell.db, changes)) if isinstance(shell, Disguised) else None
    return AsyncChangeWorker(shell, changes) if made is None else made


def task_worker(shell: Any, tasks: Tasks) -> AsyncTaskWorker:
    """A worker of tasks over a shell of either kind."""
    made: Any = _Awaited(TaskWorker(shell.db, tasks)) if isinstance(shell, Disguised) else None
    return AsyncTaskWorker(shell, tasks) if made is None else made


def table_hold(shell: Any, table: Table) -> AsyncHold:
    """The hold of a table over a shell of either kind."""
    made: Any = _Awaited(Hold(shell.db, table)) if isinstance(shell, Disguised) else None
    return AsyncHold(shell, table) if made is None else made
