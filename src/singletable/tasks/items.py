"""Tasks as items of the application's own table.

pk  _task#<id>                          sk  _task
index: Due#<0..7> / <wake>              while it waits or runs; a claim sets `wake` to the end of its lease
       Dead#<0..7> / <wake>             when it has failed for the last time
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, Protocol
from zlib import crc32

from singletable.errors import DeclarationError
from singletable.foundation import (
    ANY,
    Entity,
    KeyOf,
    KeyParts,
    Model,
    Query,
    Table,
    field,
    model_of,
    system_index,
    system_key,
)

TASK_TYPE = "_task"
ORDERED_TYPE = "_turn"
LANE_TYPE = "_lane"
LANE_SORT = "!"
"""Before all ordered tasks, which begin with a digit: one query reads the lane and the first of its tasks."""
SHARDS = 8
"""Partitions of the index that share the due tasks: 8,000 changes a second."""


class TaskState(Enum):
    """The state of a task. The value is a part of its index key."""

    DUE = "Due"
    """It waits for its time, or a worker has claimed it."""
    DEAD = "Dead"
    """It failed in its last try. It is kept until it is retried or cancelled."""
    ORDERED = "Ordered"
    """It has an order: its ordered task waits or runs instead."""


class TaskItem(Entity):
    """The item of a task, or of an ordered task.

    `wake` is the time at which a worker may claim it: its due time, a lease's end, or a retry time.
    """

    id: str
    function: str
    arguments: dict[str, Any] = field(personal=True)
    state: TaskState
    shard: int | None
    """The part of the index; None keeps it out of the index."""
    wake: datetime
    due: datetime
    fence: int
    """Raised by each claim. It starts at a random number, so that no earlier task of the same key had it."""
    tries: int = 0
    error: str | None = field(default=None, personal=True)
    sent: bool = False
    """It was sent to a queue, or a worker has claimed it."""
    lease: float | None = None
    """The seconds for which the claim holds without a new `wake`; 0 after its end; missing before the first claim, and
    where a program that doesn't store it has claimed the task."""
    trace: str | None = None
    """The context of the trace in which it was scheduled, where a listener gave one."""
    process: str | None = None
    """The host and the id of the process that has claimed it, or has had its last try: for people."""


class PlainTask(TaskItem):
    """One that has no order, or the name of one that has."""

    order: str | None = None
    turn: str | None = None
    """The sort key of its ordered task."""
    recurs: str | None = None
    """The times of a recurring task; its item stays, and `due` is the next run's."""
    planned: datetime | None = None
    """The start of the worker whose plan that is. A worker that started later replaces it."""
    failed: datetime | None = None
    """The due time of its last run that failed for good, until one succeeds."""
    died: datetime | None = None
    """When that was."""
    failures: int = 0
    """How many of its runs have failed for good since one succeeded."""


class OrderedTask(TaskItem):
    """A task in an order. The one with the earliest due time is the first of its lane."""

    order: str
    ready: datetime
    """Not before: its due time, or a retry's. `wake` is later while another task of the order has to end first."""


class Lane(Entity):
    """The running task of an order; the item is missing while none runs."""

    order: str
    turn: str
    fence: int
    until: datetime
    lease: float | None = None
    """The running task's."""


UNCLAIMED: Final[Mapping[str, Any]] = {"sent": False, "lease": 0.0, "process": None}
"""The changes at the end of a claim."""


def lease_of(lease: float | None, *, sent: bool, tries: int) -> float | None:
    """The length of the lease that a task is under: 0 for a task that nobody has claimed, None for an unknown one."""
    if lease is not None:
        return lease
    return None if sent and tries else 0.0


class ById(Protocol):
    def __call__(self, id: str) -> KeyOf[PlainTask]: ...


class ByWake(Protocol):
    def __call__(self, state: TaskState, shard: int, wake: datetime = ANY) -> Query[Any]: ...


class ByPlace(Protocol):
    def __call__(self, order: str, due: datetime = ANY, id: str = ANY) -> KeyOf[OrderedTask]: ...


class ByOrder(Protocol):
    def __call__(self, order: str) -> KeyOf[Lane]: ...


@dataclass(frozen=True, eq=False)
class TaskEntities:
    """The entities of one table's tasks, with the calls of their access patterns."""

    table: Table
    index: str
    task: type[PlainTask]
    ordered: type[OrderedTask]
    lane: type[Lane]
    by_id: ById
    by_wake: ByWake
    by_place: ByPlace
    by_order: ByOrder

    @property
    def worker(self) -> str:
        """The name of their workers in events."""
        return f"tasks of {self.table.name}"

    def model_of_type(self, type_name: str) -> Model[Any] | None:
        """The model of what runs: a task or an ordered task."""
        return next((m for m in (model_of(self.task), model_of(self.ordered)) if m.type == type_name), None)


def task_entities(table: Table, index: str) -> TaskEntities:
    """Admit tasks to a table, found through one of its indexes; DeclarationError for an index that can't hold them."""
    check_index(table, index)

    id_name = stored_id_name(table)

    class Task(PlainTask, table=table, type=TASK_TYPE):
        id: str = field(name=id_name)

        @system_key(table)
        @staticmethod
        def by_id(id: str) -> KeyParts:
            """One task."""
            return (TASK_TYPE, f"{id}"), (TASK_TYPE,)

        @system_index(table, index)
        @staticmethod
        def by_wake(state: TaskState, shard: int, wake: datetime = ANY) -> KeyParts:
            """An eighth of the tasks that are due, or dead, by time."""
            return (f"{state}", f"{shard:01}"), (f"{wake}",)

    class TaskOrdered(OrderedTask, table=table, type=ORDERED_TYPE):
        id: str = field(name=id_name)

        @system_key(table)
        @staticmethod
        def by_place(order: str, due: datetime = ANY, id: str = ANY) -> KeyParts:
            """The tasks of an order, by their due times."""
            return (ORDERED_TYPE, f"{order}"), (f"{due}", f"{id}")

        @system_index(table, index)
        @staticmethod
        def by_wake(state: TaskState, shard: int, wake: datetime = ANY) -> KeyParts:
            """An eighth of the ordered tasks that are due, by time."""
            return (f"{state}", f"{shard:01}"), (f"{wake}",)

    class TaskLane(Lane, table=table, type=LANE_TYPE):
        @system_key(table)
        @staticmethod
        def by_order(order: str) -> KeyParts:
            """The running task of an order."""
            return (ORDERED_TYPE, f"{order}"), (LANE_SORT,)

    return TaskEntities(
        table,
        index,
        Task,
        TaskOrdered,
        TaskLane,
        Task.by_id,
        Task.by_wake,
        TaskOrdered.by_place,
        TaskLane.by_order,
    )


def stored_id_name(table: Table) -> str:
    """The attribute that holds a task's id: another than `id` in a table that has a key attribute of that name."""
    definition = table.definition
    keys = (definition.key, *map(definition.index_keys, definition.indexes))
    return "taskId" if any("id" in key for key in keys) else "id"


def check_index(table: Table, index: str) -> None:
    """DeclarationError for an index that can't hold tasks."""
    definition = table.definition
    if index not in definition.indexes:
        known = ", ".join(definition.indexes) or "none"
        raise DeclarationError(
            f"table {table.name} has no index {index!r} for its tasks; it has {known}",
            hint=f'Declare Table(..., indexes=["{index}"]).',
        )
    if set(definition.index_keys(index)) & set(definition.key):
        raise DeclarationError(
            f"index {index} is keyed by an attribute of the table's own key, and tasks have keys of their own",
            table=table.name,
            hint="Give tasks an index with two attributes of its own, or a table of their own.",
        )


def recurring_key(name: str) -> str:
    """The key of a recurring task."""
    return f"recurring:{name}"


def shard_of(text: str) -> int:
    return crc32(text.encode()) % SHARDS


@dataclass(frozen=True)
class DeadLetter:
    """A task that failed in its last try."""

    key: str
    task: str
    """The name of its function."""
    arguments: Mapping[str, Any]
    due: datetime
    tries: int
    died: datetime
    error: str
    process: str = ""
    """The host and the id of the process that had its last try, where the log has the traceback."""

    def __repr__(self) -> str:
        """Without what it holds, as logs show it."""
        return f"<DeadLetter of {self.task}, {self.tries} tries>"
