"""Limits of questions that others ask: rows, seconds, memory. The system keeps them, as DuckDB looks up too seldom.

Each question has a process of its own, `one_question`: an alarm ends it, and an allocation beyond its memory fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import astuple

from singletable.errors import InvalidRequest
from singletable.reports.closed import LESS, Step
from singletable.reports.statements import Reads

_MAIN: Final = "import sys; sys.path += sys.argv[1:]; from singletable.reports.one_question import main; main()"
_START_SECONDS: Final = 60.0
"""The time for the process to open the export: the question's own seconds begin after that."""
_ENVIRON: Final = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
"""Other allocators reserve more of the address space than they use, and the limit counts what is reserved."""


class Limits(Struct, frozen=True):
    """The limits of one question. None is unlimited."""

    rows: int | None = None
    """More are cut off, and the answer says so."""
    seconds: float | None = None
    """A question that takes longer is ended: InvalidRequest."""
    megabytes: int | None = None
    """The limit of memory; more raises InvalidRequest. On Linux the process's memory counts, elsewhere DuckDB's."""
    answer_megabytes: int | None = None
    """The limit of the answer, where each cell counts 64 bytes at least: a larger one raises InvalidRequest."""


class LimitedDatabase:
    """A `ClosedDatabase` for each question, in a process that ends with it."""

    def __init__(self, views: frozenset[str], limits: Limits, *, is_covered: bool) -> None:
        self._views, self._limits = (sorted(views), is_covered), limits
        self._steps: list[Step] = []

    def close(self) -> None:
        """There is nothing to let go of between questions."""
        self._steps.clear()

    def take(self, steps: Sequence[Step]) -> None:
        self._steps += steps

    def ask(self, sql: str) -> pa.Table:
        return _answer_in(self._run(sql, None, is_own=True), self._limits)[0]

    def answer(self, sql: str, most: int | None) -> tuple[pa.Table, Reads]:
        table, told = _answer_in(self._run(sql, most, is_own=False), self._limits)
        return table, msgspec.convert(told["reads"], Reads)

    def _run(self, sql: str, most: int | None, *, is_own: bool) -> subprocess.CompletedProcess[bytes]:
        limits = self._limits
        command = [sys.executable, "-I", "-c", _MAIN, *filter(os.path.isabs, sys.path)]
        try:
            return subprocess.run(  # noqa: S603  (this interpreter)
                command,
                input=json.dumps([*self._views, self._steps, astuple(limits), sql, most, is_own]).encode(),
                capture_output=True,
                env=_ENVIRON | {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                cwd="/",
                timeout=None if limits.seconds is None else limits.seconds + _START_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _too_long(limits) from None


def _answer_in(ended: subprocess.CompletedProcess[bytes], limits: Limits) -> tuple[pa.Table, dict[str, Any]]:
    head, line, rows = ended.stdout.partition(b"\n")
    if ended.returncode == -signal.SIGALRM:
        raise _too_long(limits)
    if not line:
        raise InvalidRequest(
            f"the question ended the process that answered it: {_cause(ended)}",
            hint=f"It is nested too deeply, or needs too much memory. {LESS}",
        )
    told = json.loads(head)
    if "what" in told:
        raise InvalidRequest(told["what"], hint=told["hint"])
    table: pa.Table = pa.ipc.open_stream(rows).read_all()
    return table, told


def _cause(ended: subprocess.CompletedProcess[bytes]) -> str:
    """The signal, or the class of the error, never its text: that may hold values."""
    if ended.returncode < 0:
        return signal.Signals(-ended.returncode).name
    last = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return last.partition(":")[0] or f"exit code {ended.returncode}"


def _too_long(limits: Limits) -> InvalidRequest:
    return InvalidRequest(f"the question took longer than {limits.seconds:g} s, and was ended", hint=LESS)
