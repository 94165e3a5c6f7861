"""The real command, in a folder of its own with the declaration of a shop in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from singletable.local import ENGINE_VARIABLE, control, find_engine

ROOT = Path(__file__).parents[3]
SHOP = Path(__file__).parent / "shop"


@dataclass(frozen=True)
class Ran:
    """What a command printed, and how it ended."""

    out: str
    err: str
    code: int


@dataclass(frozen=True)
class Folder:
    """A folder to run commands in."""

    path: Path
    environ: dict[str, str]

    def run(self, *arguments: str, stdin: str = "", **environ: str) -> Ran:
        """`singletable ...`"""
        program = Path(sys.executable).with_name("singletable")
        return self._ran(str(program), *arguments, stdin=stdin, environ=environ)

    def python(self, *arguments: str) -> Ran:
        return self._ran(sys.executable, *arguments, environ={"PYTHONPATH": self._with(".")})

    def _with(self, path: str) -> str:
        return os.pathsep.join((path, self.environ.get("PYTHONPATH", "")))

    def _ran(self, *command: str, stdin: str = "", environ: dict[str, str]) -> Ran:
        ran = subprocess.run(
            command,
            cwd=self.path,
            env={**self.environ, **environ},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ran(ran.stdout, ran.stderr, ran.returncode)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Nothing but the declaration; an engine that a test leaves running is ended."""
    shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("AWS_", "SINGLETABLE_"))}
    engine = {ENGINE_VARIABLE: str(find_engine(os.environ, ROOT))}
    yield Folder(tmp_path, {**kept, **engine, "COLUMNS": "120"})
    control.stop(tmp_path / "data" / "singletable.db")


@pytest.fixture
def shop(folder: Folder) -> Folder:
    """The folder, with a sample in its default data file."""
    ran = folder.python("shop/sample.py", "local:data/singletable.db")
    assert ran.code == 0, ran.err
    return folder
