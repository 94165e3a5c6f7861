"""The process that answers one question: it opens the export, takes its limits, and asks."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from singletable.errors import InvalidRequest
from singletable.reports.closed import LESS, ClosedDatabase
from singletable.reports.limits import Limits

_CELL_BYTES: Final = 64
"""The least bytes of a shown cell."""


def main() -> None:
    """Answer the question of standard input: a line of JSON, then the rows as Arrow has them."""
    views, is_covered, steps, limited, sql, most, is_own = json.load(sys.stdin)
    limits = Limits(*limited)
    told: dict[str, Any] = {}
    table = None
    try:
        database = ClosedDatabase(frozenset(views), is_covered=is_covered, megabytes=limits.megabytes)
        database.take(steps)
        _begin(limits)
        if is_own:
            table = database.ask(sql)
        else:
            answered, reads = database.answer(sql, most)
            table = _small(answered, limits)
            told = {"reads": msgspec.to_builtins(reads)}
    except InvalidRequest as error:
        told = {"what": error.what, "hint": error.hint}
    _limit_memory(resource.RLIM_INFINITY)
    out: Any = sys.stdout.buffer
    out.write(json.dumps(told).encode() + b"\n")
    if table is not None:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    out.flush()
    os._exit(0)  # nothing is left to do, and what a question left in memory may take long to free


def _begin(limits: Limits) -> None:
    """The system's limits, from now on: what is in memory already does not count."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statm = Path("/proc/self/statm")
    if limits.megabytes is not None and statm.exists():
        _limit_memory(int(statm.read_text().split()[0]) * resource.getpagesize() + (limits.megabytes << 20))
    if limits.seconds is not None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # whoever began this process may ignore or block it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)


def _limit_memory(most: int) -> None:
    """Up to what the process was started with."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard if most == resource.RLIM_INFINITY else most, hard))


def _small(table: pa.Table, limits: Limits) -> pa.Table:
    """The table. InvalidRequest for one that is too large to be shown."""
    most, size = limits.answer_megabytes, table.nbytes + _CELL_BYTES * table.num_rows * table.num_columns
    if most is not None and size > most << 20:
        raise InvalidRequest(f"the answer has more than {most} MB", hint=LESS)
    return table
