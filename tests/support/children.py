"""Child processes: a function of the tests runs in a process of its own, which may be stopped or killed.

    run_child(processes.load, engine_url, dies_at="request.after:3")    # its return code, when it has ended
    with child(processes.work, engine_url, str(log)) as process: ...    # killed when the block ends

The function gets its arguments as texts. It opens its database with `mortal` where it is to die at its requests.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from singletable import Database, Table, connect
from tests.faults.failpoints import VARIABLE, make_mortal
from tests.support.traits import LOCAL

ROOT = Path(__file__).parents[2]
KILLED = -9
"""The return code of a child that was killed, by itself too."""
_PATIENCE_SECONDS = 60.0


def run_child(work: Callable[..., Any], *arguments: str, dies_at: str | None = None) -> int:
    """Run a function as a child process; its return code, `KILLED` for one that died at its point."""
    command = _command(work, arguments)
    return subprocess.run(command, env=_environ(dies_at), timeout=_PATIENCE_SECONDS, check=False).returncode


@contextmanager
def child(work: Callable[..., Any], *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs a function; killed at the end of the block, where it is still there."""
    with start_child(work, *arguments) as process:
        try:
            yield process
        finally:
            process.kill()


def start_child(
    work: Callable[..., Any], *arguments: str, dies_at: str | None = None, takes_input: bool = False
) -> subprocess.Popen[bytes]:
    """A process that runs a function; the caller ends it. What it prints is to be read."""
    given = subprocess.PIPE if takes_input else None
    return subprocess.Popen(_command(work, arguments), env=_environ(dies_at), stdin=given, stdout=subprocess.PIPE)


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


def _command(work: Callable[..., Any], arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-W", "error", "-m", __name__, work.__module__, work.__qualname__, *arguments]


def _environ(dies_at: str | None) -> Mapping[str, str]:
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environ["PYTHONPATH"] = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    return environ | ({VARIABLE: dies_at} if dies_at is not None else {})


if __name__ == "__main__":
    gc.disable()
    work = getattr(import_module(sys.argv[1]), sys.argv[2])
    gc.freeze()  # or each child goes through all modules at its end
    gc.enable()
    work(*sys.argv[3:])
