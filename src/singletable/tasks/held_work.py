"""The tasks that wait, as the release of a held table reports and drops them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from singletable.flow import Port, instant, pages_side_by_side
from singletable.foundation import get_many, ready
from singletable.holds import PendingWork
from singletable.tasks.belongings import delete_task
from singletable.tasks.due import candidates_in, rows_query
from singletable.tasks.items import SHARDS, TaskEntities, TaskItem, TaskState


class WaitingTasks:
    """The tasks of a table that wait for their time, or for a worker."""

    def __init__(self, tasks: TaskEntities, names: Mapping[str, Any]) -> None:
        self.tasks, self.names = tasks, names

    async def pending(self, port: Port) -> list[PendingWork]:
        """By name; a line for each name that has any. A query for each MB of the index, a read of each task."""
        times: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
        async for page in self._pages(port):
            for item in page:
                times[item.function].append((item.wake, item.due))
        now = instant(port.now())
        return [self._line(name, each, now) for name, each in sorted(times.items())]

    async def drop(self, port: Port, name: str) -> int | None:
        """Delete the tasks of a name. None where this program has no such task, and the table neither."""
        count = 0
        async for page in self._pages(port):
            for item in page:
                if item.function == name:
                    count += await delete_task(self.tasks, item, port)
        return count if count or name in self.names else None

    async def _pages(self, port: Port) -> AsyncIterator[list[TaskItem]]:
        await ready(port, self.tasks.table)
        asks = {shard: partial(rows_query, self.tasks, TaskState.DUE, shard, None) for shard in range(SHARDS)}
        async for shard, page in pages_side_by_side(port, asks):
            keys = [each.key for each in candidates_in(self.tasks, shard, page.items)]
            yield [item for item in await get_many(port, keys, consistent=True) if item.state is TaskState.DUE]

    def _line(self, name: str, times: Sequence[tuple[datetime, datetime]], now: datetime) -> PendingWork:
        due = [due for wake, due in times if wake <= now]
        later = [wake for wake, _ in times if wake > now]
        return PendingWork(
            "task",
            name,
            len(due),
            min(due, default=None),
            len(later),
            min(later, default=None),
            "" if name in self.names else "this program has no task of this name",
        )
