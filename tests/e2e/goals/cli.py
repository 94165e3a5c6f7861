"""The command line as its users run it: a process of its own, and a data file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Ran:
    out: str
    err: str
    code: int

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    """`python -m examples.goals --db ...`"""

    target: str

    def __call__(self, *arguments: str, check: bool = True) -> Ran:
        command = [sys.executable, "-W", "error", "-m", "examples.goals", "--db", self.target, *arguments]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GOALS_")}
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=90, check=False)
        assert not check or done.returncode == 0, done.stderr
        return Ran(done.stdout, done.stderr, done.returncode)
