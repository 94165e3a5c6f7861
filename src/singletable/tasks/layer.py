"""Tasks as a layer of their table."""

from __future__ import annotations

from singletable.foundation import Table
from singletable.layers import TableLayer
from singletable.tasks.held_work import WaitingTasks
from singletable.tasks.items import TASK_TYPE
from singletable.tasks.tasks import Tasks, tasks_of


def _declared(table: Table) -> list[Tasks]:
    tasks = tasks_of(table)
    return [] if tasks is None else [tasks]


LAYER = TableLayer(
    checks=lambda table, settings: [tasks.checks() for tasks in _declared(table)],
    belongings=lambda table, settings: _declared(table),
    work=lambda table: [WaitingTasks(tasks.entities, tasks.functions) for tasks in _declared(table)],
    form=lambda table: {
        name: {"arguments": function.form, "items": (TASK_TYPE, "function")}
        for tasks in _declared(table)
        for name, function in tasks.functions.items()
    },
)
