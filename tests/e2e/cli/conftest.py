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
from tests.support.forked_program import ForkedProgram

ROOT = Path(__file__).parents[3]
DEFAULT_FILE = "data/singletable.db"
SHOP = Path(__file__).parent / "shop"
_OF_FILES = ("copy", "export", "import", "sql")
"""The commands that import the libraries of file formats, for more than a second."""


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
    program: ForkedProgram
    program_of_files: ForkedProgram

    def run(self, *arguments: str, stdin: str = "", **environ: str) -> Ran:
        """`singletable ...`, in a process that has imported it already."""
        program = self.program_of_files if arguments[:1] and arguments[0] in _OF_FILES else self.program
        ran = program.run(arguments, cwd=self.path, environ={**self.environ, **environ}, stdin=stdin)
        return Ran(*ran)

    def run_installed(self, *arguments: str, stdin: str = "", **environ: str) -> Ran:
        """`singletable ...`, from the start of Python."""
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


@pytest.fixture(scope="session")
def program() -> Iterator[ForkedProgram]:
    forked = ForkedProgram()
    yield forked
    forked.close()


@pytest.fixture(scope="session")
def program_of_files() -> Iterator[ForkedProgram]:
    # Not duckdb: frozen, it says at the end of each process that it was not collected.
    forked = ForkedProgram("pyarrow.dataset", "singletable.exchange.exports", "singletable.exchange.imports")
    yield forked
    forked.close()


@pytest.fixture
def folder(tmp_path: Path, program: ForkedProgram, program_of_files: ForkedProgram) -> Iterator[Folder]:
    """Nothing but the declaration; an engine that a test leaves running is ended."""
    shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("AWS_", "SINGLETABLE_"))}
    engine = {ENGINE_VARIABLE: str(find_engine(os.environ, ROOT))}
    yield Folder(tmp_path, {**kept, **engine, "COLUMNS": "120"}, program, program_of_files)
    control.stop(tmp_path / DEFAULT_FILE)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data file of the sample, which no engine has open."""
    place = tmp_path_factory.mktemp("sample")
    shutil.copytree(SHOP, place / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "shop/sample.py", f"local:{DEFAULT_FILE}"]
    path = os.pathsep.join((".", os.environ.get("PYTHONPATH", "")))
    environ = {**os.environ, ENGINE_VARIABLE: str(find_engine(os.environ, ROOT)), "PYTHONPATH": path}
    subprocess.run(command, cwd=place, env=environ, timeout=60, check=True)
    return (place / DEFAULT_FILE).parent


@pytest.fixture
def shop(folder: Folder, sample: Path) -> Folder:
    """The folder, with the sample in its default data file."""
    shutil.copytree(sample, folder.path / sample.name, ignore=shutil.ignore_patterns("*.lock"))
    return folder
