"""No worker, and no handler of a Lambda event, begins anything without asking a gate: `singletable.holds` says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import Source, sources

ASKS = {
    "Kernel": "gate: the second argument",
    "consume": "gate=",
    "partial_failures": "gate: the last argument",
    "WorkerSlots": "gate: the second argument",
}
"""What begins work, with the gate that it is called with."""
UNGATED = {
    "singletable.flow.worker": "where it is declared",
    "singletable.flow": "passes it on",
    "singletable.queues.consumer": "the default of an application's own queue, which belongs to no table",
    "singletable.jobs.flows": "a person began the job on the table; the target of a copy is held by it",
    "singletable.sync.sync": "an inbox that becomes versions has no effect outside of the table",
    "singletable.sync.worker": "the same",
}
HANDLERS = ("handle_record", "handle_queue", "run_pointer")
"""What calls functions of the application: each asks a gate before, or who calls it does."""
CALLERS = {
    "handle_record": {
        "singletable.streams.dispatch",
        "singletable.streams.lambda_handler",
        "singletable.streams.dead_letters",  # `retry`, which a person calls for one change
    },
    "handle_queue": {"singletable.streams.worker"},
    "run_pointer": {"singletable.tasks.queue_worker"},
}


def calls(source: Source, name: str) -> Iterator[ast.Call]:
    for node in [] if f"{name}(" not in source.text else source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def names_a_gate(call: ast.Call) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    texts = (ast.unparse(each) for each in given)
    return any(text == "UNGATED" or "gate" in text.lower() for text in texts)


def without_gate(files: list[Source]) -> list[str]:
    return [
        f"{file.module} calls {name}"
        for file in files
        for name in ASKS
        for c in calls(file, name)
        if not names_a_gate(c)
    ]


def test_what_begins_work_is_called_with_a_gate() -> None:
    files = [*sources()]
    assert without_gate(files) == []
    assert sum(1 for file in files for name in ASKS for _ in calls(file, name)) >= 10


@pytest.mark.parametrize("text", ["Kernel(port, stop, 'x')", "consume(port, queue, handle, stop=stop)"])
def test_a_worker_that_forgets_it_is_found(text: str) -> None:
    assert len(without_gate([Source("singletable.new", text)])) == 1


def test_work_that_no_hold_stops_is_listed_with_its_reason() -> None:
    assert {file.module for file in sources() if refers(file, "UNGATED")} - UNGATED.keys() == set()


@pytest.mark.parametrize("name", HANDLERS)
def test_handlers_are_called_where_a_gate_was_asked(name: str) -> None:
    assert {file.module for file in sources() if refers(file, name)} == CALLERS[name]


def refers(source: Source, name: str) -> bool:
    """Whether a module calls it, or hands it on to be called."""
    if name not in source.text:
        return False
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in source.nodes)
