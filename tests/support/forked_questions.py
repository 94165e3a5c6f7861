"""Questions with limits, each in a process that is a fork of one which has imported DuckDB and Arrow.

It is the process of `one_question`, with its limits. What is left out is the start of Python and the imports, most of
what a question takes; `tests/reports/test_limits.py` has questions whose process starts as a user's does.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any

import pytest

from examples_shared.testing.nursery import Nursery, run_program
from singletable.reports import limits

_MODULE = "singletable.reports.one_question"
_SECONDS = 300.0


@pytest.fixture(scope="session")
def nursery_of_questions() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def forked_questions(nursery_of_questions: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions of this test are forks."""

    def run(
        command: Any, *, input: bytes, env: Mapping[str, str], timeout: float | None, **_: Any
    ) -> subprocess.CompletedProcess[bytes]:
        with TemporaryFile() as into, TemporaryFile() as out, TemporaryFile() as err:
            into.write(input)
            into.seek(0)
            code = run_program(
                *("tests.support.called", _MODULE, "main"),
                warm=(_MODULE,),
                nursery=nursery_of_questions,
                environ=env,
                timeout=timeout or _SECONDS,
                stdin=into,
                stdout=out,
                stderr=err,
            )
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(command, code, out.read(), err.read())

    for name in ("ARROW_DEFAULT_MEMORY_POOL", "MALLOC_ARENA_MAX"):  # read when Python starts: where it forks
        monkeypatch.setenv(name, limits._ENVIRON[name])
    monkeypatch.setattr(limits, "subprocess", SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired))
