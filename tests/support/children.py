"""Child processes: a function of the tests runs in a process of its own, which may be stopped or killed.

    run_child(processes.load, engine_url, dies_at="request.after:3")    # its return code, when it has ended
    with child(processes.work, engine_url, str(log)) as process: ...    # killed when the block ends

The function gets its arguments as texts. It opens its database with `mortal` where it is to die at its requests.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from examples_shared.testing.nursery import File, Process, start_program
from singletable import Database, Table, connect
from tests.faults.failpoints import VARIABLE, make_mortal
from tests.support.traits import LOCAL
from tools.distributions import PYTHONPATH

KILLED = -9
"""The return code of a child that was killed, by itself too."""
_PATIENCE_SECONDS = 60.0


def run_child(work: Callable[..., Any], *arguments: str, dies_at: str | None = None) -> int:
    """Run a function as a child process; its return code, `KILLED` for one that died at its point."""
    with start_child(work, *arguments, dies_at=dies_at, stdout=None) as process:
        try:
            return process.wait(_PATIENCE_SECONDS)
        finally:
            process.kill()


@contextmanager
def child(work: Callable[..., Any], *arguments: str, starts_python: bool = False) -> Iterator[Process]:
    """A process that runs a function; killed at the end of the block, where it is still there."""
    with start_child(work, *arguments, starts_python=starts_python) as process:
        try:
            yield process
        finally:
            process.kill()


def start_child(
    work: Callable[..., Any],
    *arguments: str,
    dies_at: str | None = None,
    starts_python: bool = False,
    stdin: File = subprocess.DEVNULL,
    stdout: File = subprocess.PIPE,
) -> Process:
    """A process that runs a function; the caller ends it. What it prints is to be read."""
    return start_program(
        "tests.support.called",
        *(work.__module__, work.__qualname__, *arguments),
        warm=[work.__module__],
        environ=_environ(dies_at),
        strict=True,
        stdin=stdin,
        starts_python=starts_python,
        stdout=stdout,
    )


@contextmanager
def mortal(
    target: str, *tables: Table, index_lag_seconds: float = 0.0, clock: Callable[[], float] = time.time
) -> Iterator[Database]:
    """In a child: a database each request of which is a point to die at. On another process's engine `tables` exist."""
    of_others = not target.startswith("local")
    with connect(target, environ={} if of_others else None, clock=clock) as db:
        if of_others:
            db.port.traits = replace(LOCAL, index_lag_seconds=index_lag_seconds)
        db.port.ready.update(table.name for table in tables)
        make_mortal(db.port)
        yield db


def _environ(dies_at: str | None) -> Mapping[str, str]:
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environ["PYTHONPATH"] = PYTHONPATH
    return environ | ({VARIABLE: dies_at} if dies_at is not None else {})
