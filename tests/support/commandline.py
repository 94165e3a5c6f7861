"""An application's command line as its users run it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]


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
        command = [sys.executable, "-W", "error", "-m", self.module, "--db", self.target, *self.options, *arguments]
        own = (f"{self.module.rpartition('.')[2].upper()}_", "COLUMNS")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        done = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return Ran(done.stdout, done.stderr, done.returncode)


@dataclass(frozen=True)
class Inside:
    """The same commands in this process, which start at once: for long ways, whose start is tested elsewhere."""

    main: click.Command
    target: str

    def __call__(self, *arguments: str, check: bool = True) -> Ran:
        done = CliRunner().invoke(self.main, ["--db", self.target, *arguments], catch_exceptions=False)
        assert not check or done.exit_code == 0, done.stderr
        return Ran(done.stdout, done.stderr, done.exit_code)
