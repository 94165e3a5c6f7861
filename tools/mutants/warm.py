"""Pytest in processes that begin with what every run imports: a fork for each run, so that nothing outlives it.

A process of its own makes the forks: it has one thread, and none of the library. What the tests and the library import
is imported in each fork anew, from the tree that it runs in.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO

_QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Of the modules that are imported before it begins."""
_IMPORTED_WHERE_INSTALLED = ("botocore.session", "cryptography.x509", "pydantic", "fastapi", "jinja2", "trustme")


class WarmPytest:
    """Runs one pytest at a time, in the folder that it was made for."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root
        self.output = root / "pytest-output.txt"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.mutants.warm"],
            cwd=root,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: Sequence[str], timeout: float) -> tuple[int | None, str]:
        """Pytest's exit code and what it printed; None for one that was ended after its time."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps([list(arguments), str(self.output), timeout]) + "\n")
        asked.flush()
        code: int | None = json.loads(answers.readline())
        return code, self.output.read_text(errors="replace")

    def close(self) -> None:
        self._process.communicate()


def _serve(requests: IO[str], answers: IO[str]) -> None:
    for line in requests:
        arguments, output, timeout = json.loads(line)
        child = os.fork()
        if not child:
            _run(arguments, output)
        answers.write(json.dumps(_waited_for(child, timeout)) + "\n")
        answers.flush()


def _run(arguments: list[str], output: str) -> None:
    """As a process of its own: pytest's output to a file, and its children in its group."""
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    pytest = importlib.import_module("pytest")
    code = 3
    try:
        code = int(pytest.main([*_QUIET, *arguments]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _waited_for(child: int, timeout: float) -> int | None:
    """Its exit code; None where it took longer, and was killed with what it started."""
    late = False

    def end(*_: object) -> None:
        nonlocal late
        late = True
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    try:
        _, status = os.waitpid(child, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None if late else os.waitstatus_to_exitcode(status)


def _main() -> None:
    plugins = {plugin.module for plugin in entry_points(group="pytest11")}
    installed = {name for name in _IMPORTED_WHERE_INSTALLED if importlib.util.find_spec(name.partition(".")[0])}
    for name in ["pytest", "msgspec", *sorted(plugins | installed)]:
        if not name.startswith("singletable"):
            importlib.import_module(name)
    assert "singletable" not in sys.modules
    _serve(sys.stdin, sys.stdout)


if __name__ == "__main__":
    _main()
