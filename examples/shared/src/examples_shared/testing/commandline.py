"""An application's command line as its users run it, a process of its own; or in this process, which is quicker."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from tempfile import TemporaryFile
from typing import Any

import click
from click.testing import CliRunner

from examples_shared.testing.nursery import run_program
from singletable import connect


def environ() -> dict[str, str]:
    """For a Python that is to find what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@dataclass(frozen=True)
class Ran:
    out: str
    err: str
    code: int

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    """`python -m <module> --db <target> ...`, without the settings that this machine's environment may hold."""

    module: str
    target: str
    options: tuple[str, ...] = ()

    def __call__(self, *arguments: str, check: bool = True, seconds: float = 90) -> Ran:
        own = _settings_of(self.module)
        environ = {name: value for name, value in os.environ.items() if name not in own}
        with TemporaryFile() as out, TemporaryFile() as err:
            code = run_program(
                self.module,
                *("--db", self.target, *self.options, *arguments),
                warm=[f"{self.module}.cli"],
                environ=environ,
                strict=True,
                stdout=out,
                stderr=err,
                timeout=seconds,
            )
            for file in (out, err):
                file.seek(0)
            ran = Ran(out.read().decode(), err.read().decode(), code)
        assert not check or code == 0, ran.err
        return ran

    @contextmanager
    def inside(self) -> Generator[Inside, None, None]:
        """The same commands, on an engine that runs until the block ends."""
        with connect(self.target):
            yield Inside(self.module, self.target, self.options)


@dataclass(frozen=True)
class Inside:
    """The same commands in this process, which start at once: for long ways, whose start is tested elsewhere."""

    module: str
    target: str
    options: tuple[str, ...] = ()
    columns: str | None = None
    """How wide its tables are; None for what a pipe gets."""

    def __call__(self, *arguments: str, check: bool = True) -> Ran:
        main: click.Command = import_module(f"{self.module}.cli").main
        environ = dict[str, str | None].fromkeys(_settings_of(self.module)) | {"COLUMNS": self.columns}
        done = CliRunner(env=environ).invoke(
            main,
            ["--db", self.target, *self.options, *arguments],
            prog_name=f"python -m {self.module}",
            catch_exceptions=False,
        )
        assert not check or done.exit_code == 0, done.stderr
        return Ran(done.stdout, done.stderr, done.exit_code)


def _settings_of(module: str) -> list[str]:
    """The variables of this machine's environment that an application would heed."""
    prefix = f"{module.rpartition('.')[2].upper()}_"
    return [name for name in os.environ if name.startswith((prefix, "COLUMNS"))]
