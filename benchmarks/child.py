"""A process of the run that is talked to by lines: one in, one out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType


class Child:
    """`python -m <module> <arguments>`. Use it in a `with` block: the child ends when its standard input does."""

    def __init__(self, module: str, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        self.name = " ".join((module, *arguments))
        """For errors."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, line: str) -> str:
        """What it says to a line."""
        self._input.write(f"{line}\n")
        self._input.flush()
        return self.hear()

    def hear(self) -> str:
        """Its next line; RuntimeError where it has ended."""
        line = self._output.readline()
        if not line:
            raise RuntimeError(f"{self.name} has ended; what it said stands above")
        return line.strip()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._process:  # closes both ends, and waits
            pass
