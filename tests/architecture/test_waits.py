"""No wait is silent: a flow waits by `flow.pause`, which tells it. Who sleeps at the port itself is listed here."""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.architecture.sources import sources

EVENTS_OF_ALL = "singletable.events.listeners"
SLEEPS_ITSELF = {
    "singletable.flow.waits": "it tells the wait",
    "singletable.flow.port": "a port that passes the sleep on",
    "singletable.flow.side_by_side": "the waits of its flows, each of which told its own",
    "singletable.flow.worker": "slices of a pause that WorkerPaused has told, of a hold (TableHeld), of a heartbeat",
    "singletable.migrations.leased_port": "the slices of a wait that is told",
    "singletable.wire.delivery": "RequestTried has the wait before the next try",
    "singletable.wire.asyncio_connections": "the loop goes on",
    "singletable.sync.sync": "MutationsWaiting has told it",
    "singletable.jobs.worker": "a worker that has nothing to do: each look is a request",
    "singletable.streams.worker": "the same",
    "singletable.tasks.worker": "the same",
    "singletable.tasks.queue_worker": "the same",
    "singletable.tasks.execution": "until an extension of the same process has been answered",
    "singletable.cli.stream": "between two looks, for who watches",
    "singletable.studio.pages.work": "the same",
    "singletable_local.engine_process": "another process has nothing else to do",
    "singletable_local.polling": "it waits for a process that starts",
}
"""Modules that call `sleep`, with the reason."""


def test_a_flow_waits_by_pause() -> None:
    sleepers = {
        file.module
        for file in sources()
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep"
    }
    assert sleepers - SLEEPS_ITSELF.keys() == set(), "wait by pause(), of singletable.flow"
    assert SLEEPS_ITSELF.keys() - sleepers == set(), "these sleep no more: take them off the list"


def test_a_program_that_does_not_wait_loads_no_event() -> None:
    code = "import sys, singletable.records.batches, singletable.tables; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "singletable.flow.waits" in loaded
    assert not [name for name in loaded if name.startswith("singletable.events.") and name != EVENTS_OF_ALL]
