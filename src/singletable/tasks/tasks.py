"""Tasks: the functions of a program whose calls can be scheduled. Scheduled calls are added to transactions."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ParamSpec, overload
from weakref import WeakKeyDictionary, ref

from singletable.errors import DeclarationError, InvalidRequest, InvalidValue
from singletable.foundation import LayerBelongings, LayerChecks, Table, Write
from singletable.tasks.belongings import TaskBelongings
from singletable.tasks.calls import DEFAULT_TRIES, Backoff, Call, TaskFunction, task_function
from singletable.tasks.check import task_checks
from singletable.tasks.execution import Running, RunningTaskEnd, claimed_now
from singletable.tasks.items import PlainTask, TaskEntities, task_entities
from singletable.tasks.ordered import ScheduleName, ScheduleOrdered
from singletable.tasks.recurrence import Missed, recurrence_of
from singletable.tasks.writes import Cancel, PlannedTask, Schedule

P = ParamSpec("P")
_KEY_BYTES = 16


@dataclass(frozen=True)
class Scheduled:
    """A task to schedule: `tx.add(...)` writes it with the rest of a transaction. A key that is not given is random."""

    tasks: TaskEntities
    call: Call
    due: datetime | timedelta
    key: str
    order: str | None = None

    def __repr__(self) -> str:
        """Without the arguments' values and the key, as logs show it."""
        return f"<Scheduled {self.call.task.name} in {self.tasks.table.name}>"

    def writes(self) -> Sequence[Write]:
        plan = PlannedTask(self.call, self.due, self.key, self.order)
        if self.order is None:
            return [Schedule(self.tasks, plan)]
        return [ScheduleName(self.tasks, plan), ScheduleOrdered(self.tasks, plan)]


@dataclass(frozen=True)
class TaskCancellation:
    """A cancellation, for `tx.add(...)`."""

    tasks: TaskEntities
    key: str

    def __repr__(self) -> str:
        """Without the key, as logs show it."""
        return f"<Cancelled task in {self.tasks.table.name}>"

    def writes(self) -> Sequence[Write]:
        return [Cancel(self.tasks.by_id(self.key))]


class Tasks:
    """Delayed, durable work as items of a table, found through one of its indexes.

        tasks = Tasks(app, index="gsi1")

        @tasks.task
        def remind(user_id: str) -> None: ...

        with db.transaction() as tx:
            tx.create(user)
            tx.add(tasks.after(timedelta(days=3), remind(user.id)))

    A task runs at least once, and never before its time by the clock of the worker that claims it. A task that fails is
    tried again, later each time; after the last try it is a dead letter. `TaskWorker(db, tasks)` runs them.

    A table has one Tasks: DeclarationError for a second, whose workers would claim tasks that only the first has
    functions for.
    """

    def __init__(self, table: Table, *, index: str) -> None:
        _refuse_second(table)
        self.entities = task_entities(table, index)
        _TASKS_OF[table] = ref(self)
        self.table = table
        self.functions: dict[str, TaskFunction[...]] = {}

    def __repr__(self) -> str:
        return f"<Tasks of {self.table.name}: {', '.join(self.functions) or 'none'}>"

    def checks(self) -> LayerChecks:
        """The checks of `db.check(table, tasks)`, beyond those of records."""
        return task_checks(self.entities, self.functions)

    def belongings(self) -> LayerBelongings:
        """The finds of `Erasure(db, table, tasks)`, beyond records: tasks whose arguments name the subject."""
        return TaskBelongings(self.entities, self.functions)

    @property
    def entity(self) -> type[PlainTask]:
        """The entity that tasks are stored as."""
        return self.entities.task

    # --- what can be scheduled ----------------------------------------------------------------------------------------
    @overload
    def task(self, function: Callable[P, Any]) -> TaskFunction[P]: ...
    @overload
    def task(
        self,
        *,
        name: str | None = None,
        tries: int = DEFAULT_TRIES,
        backoff: Backoff = Backoff(),  # noqa: B008 frozen
        belongs_to: Mapping[str, Any] | None = None,
    ) -> Callable[[Callable[P, Any]], TaskFunction[P]]: ...
    def task(
        self,
        function: Callable[P, Any] | None = None,
        *,
        name: str | None = None,
        tries: int = DEFAULT_TRIES,
        backoff: Backoff = Backoff(),  # noqa: B008 frozen
        belongs_to: Mapping[str, Any] | None = None,
    ) -> Any:
        """Declare a function whose calls can be scheduled: `@tasks.task`, or `tasks.task(service.step)` for a method.

        Its calls are stored under `name`, by default the function's own: if it changes, stored tasks have no function.
        `tries` includes the first. `belongs_to={"email": User.email}` says whose a task is: an erasure of the user
        deletes the tasks with the user's value as that argument. Raises DeclarationError for a name that is taken, and
        for parameters without names.
        """

        def register(function: Callable[P, Any]) -> TaskFunction[P]:
            task_of = task_function(function, name or _name_of(function), tries, backoff, belongs_to or {})
            self._admit(task_of)
            return task_of

        return register if function is None else register(function)

    def recurring(
        self,
        *,
        every: timedelta | None = None,
        cron: str | None = None,
        zone: str = "UTC",
        missed: Missed = "once",
        name: str | None = None,
        tries: int = DEFAULT_TRIES,
        backoff: Backoff = Backoff(),  # noqa: B008 frozen
    ) -> Callable[[Callable[P, Any]], TaskFunction[P]]:
        """Declare a function that runs by itself: `@tasks.recurring(every=timedelta(hours=1))`, or at the times of
        cron's five fields in a zone: `@tasks.recurring(cron="30 2 * * *", zone="Europe/Berlin")`.

        The first worker to start writes its item, of the key `recurring:NAME`. With `every` an interval passes before
        the first run. One run is begun at a time. A run that fails for good is reported by `dead_letters` and a check,
        and the next one comes at its time. `missed` says what becomes of runs that no worker began: by default one run
        for all of them, `"each"` one after the other, `"skip"` none that is over a minute late.

        Raises DeclarationError for times that are not valid, for a parameter without a default, and as `task`.
        """

        def register(function: Callable[P, Any]) -> TaskFunction[P]:
            called = name or _name_of(function)
            recurs = recurrence_of(called, every, cron, zone, missed)
            task_of = task_function(function, called, tries, backoff, {}, recurs)
            self._admit(task_of)
            return task_of

        return register

    def _admit(self, task: TaskFunction[...]) -> None:
        other = self.functions.get(task.name)
        if other is not None and _place(other) != _place(task):  # not the same function again, as in a reload
            raise DeclarationError(
                f"two tasks are named {task.name!r}", hint='Name one of them: @tasks.task(name="...").'
            )
        self.functions[task.name] = task

    # --- what joins a transaction -------------------------------------------------------------------------------------
    def after(self, delay: timedelta, call: Call, *, key: str | None = None, order: str | None = None) -> Scheduled:
        """Schedule a call some time after its transaction is written, by the database's clock; see `at`."""
        _check_schedule("after", "timedelta(minutes=10)", timedelta, delay, call)
        return Scheduled(self.entities, call, delay, _key_or_random(key), order)

    def at(self, due: datetime, call: Call, *, key: str | None = None, order: str | None = None) -> Scheduled:
        """Schedule a call at a time, or as soon as possible after it.

        `key` names the task for `cancel`, and makes it unique: TransactionCancelled, whose failure has AlreadyExists,
        is raised if a task of that key waits, runs or is dead. Tasks of one `order` run one after the other, by their
        times; those of the same time in any order. Costs one item in one index; two items with an order.

        Raises InvalidRequest if `call` is not the call of a task, InvalidValue for an empty key.
        """
        _check_schedule("at", "datetime(2027, 1, 1, tzinfo=timezone.utc)", datetime, due, call)
        return Scheduled(self.entities, call, due, _key_or_random(key), order)

    def cancel(self, key: str) -> TaskCancellation:
        """Cancel the task of that key; it may be missing. If it runs, it goes on, but its end is refused."""
        _check_key(key)
        return TaskCancellation(self.entities, key)

    def done(self) -> RunningTaskEnd:
        """The end of the task that runs here, for the transaction of its effect: both are one commit.

        TransactionCancelled, whose failure has ClaimLost, is raised if the task was cancelled, or another worker
        claimed it after this one's lease was over. Raises InvalidRequest outside of a task.
        """
        return RunningTaskEnd(claimed_now())

    def running(self) -> Running:
        """The key, function, due time, tries and fence of the task that runs here; InvalidRequest outside of a task."""
        return claimed_now().running


_TASKS_OF: WeakKeyDictionary[Table, ref[Tasks]] = WeakKeyDictionary()
"""The one Tasks of each table, while it is referenced."""


def tasks_of(table: Table) -> Tasks | None:
    """The Tasks of a table, if this program has declared it."""
    made = _TASKS_OF.get(table)
    return None if made is None else made()


def _refuse_second(table: Table) -> None:
    if tasks_of(table) is not None:
        raise DeclarationError(
            f"{table.name} has its Tasks already; workers of a second would claim tasks that it has no functions for",
            table=table.name,
            hint="Import the first one from its module. To declare it again, make a new Table too.",
        )


def _name_of(function: Callable[..., Any]) -> str:
    name: str | None = getattr(function, "__name__", None)
    if name is None:
        raise DeclarationError(
            f"a {type(function).__name__} has no name that a task could be stored under",
            hint='Name it: tasks.task(name="...")(function).',
        )
    return name


def _check_schedule(verb: str, example: str, wanted: type[Any], when: Any, call: Any) -> None:
    """InvalidRequest unless a time and the call of a task are given."""
    if isinstance(call, TaskFunction):
        raise InvalidRequest(
            f"the task {call.name} is given without having been called",
            operation=verb,
            hint=f"Call it with its arguments, as in {call.name}(...): that returns what is to run, and runs nothing.",
        )
    for value, kind, named in ((when, wanted, wanted.__name__), (call, Call, "call of a task")):
        if not isinstance(value, kind):
            raise InvalidRequest(
                f"a {named} is expected, not {type(value).__name__}",
                operation=verb,
                hint=f"As in tasks.{verb}({example}, remind(user_id)).",
            )


def _key_or_random(key: str | None) -> str:
    if key is None:
        return secrets.token_urlsafe(_KEY_BYTES)
    _check_key(key)
    return key


def _check_key(key: str) -> None:
    if not key:
        raise InvalidValue("the key of a task is empty", hint="Name it; a task without key= is given one.")


def _place(task: TaskFunction[...]) -> tuple[str, str]:
    function: Any = task.function
    return function.__module__, getattr(function, "__qualname__", f"{id(function)}")
