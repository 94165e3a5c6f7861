"""The real command, in a folder of its own with the declaration of a shop in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from examples_shared.testing.nursery import NURSERY, Nursery, run_program
from singletable import connect
from singletable.cli.app import COMMANDS
from singletable_local import ENGINE_VARIABLE, control, find_engine
from tests.support.output_scan import note_program

ROOT = Path(__file__).parents[3]
DEFAULT_FILE = "data/singletable.db"
SHOP = Path(__file__).parent / "shop"
_SECONDS = 60.0
_OF_FILES = ("copy", "export", "import", "restore", "sql")
"""The commands that import the libraries of file formats, for more than a second."""
_WARM = tuple(sorted({"singletable.cli.app", *(entry.module for entry in COMMANDS.entries().values())}))
# Not duckdb: frozen, it says at the end of each process that it was not collected.
_WARM_FOR_FILES = (*_WARM, "pyarrow.dataset", "singletable.exchange.exports", "singletable.exchange.imports")
_NURSERY_OF_FILES = Nursery()
"""Apart: a fork of what has imported those libraries takes longer."""


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
        """`singletable ...`, in a process that has imported it already."""
        of_files = bool(arguments) and arguments[0] in _OF_FILES
        with TemporaryFile() as into, TemporaryFile() as out, TemporaryFile() as err:
            into.write(stdin.encode())
            into.seek(0)
            code = run_program(
                *("tests.support.installed_program", str(self.path), *arguments),
                warm=_WARM_FOR_FILES if of_files else _WARM,
                nursery=_NURSERY_OF_FILES if of_files else NURSERY,
                environ={**self.environ, **environ},
                timeout=_SECONDS,
                stdin=into,
                stdout=out,
                stderr=err,
            )
            out.seek(0)
            err.seek(0)
            ran = Ran(out.read().decode(), err.read().decode(), code)
            note_program(arguments[0] if arguments else "singletable", ran.out, ran.err)
            return ran

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
            timeout=_SECONDS,
            check=False,
        )
        return Ran(ran.stdout, ran.stderr, ran.returncode)


@pytest.fixture(scope="session", autouse=True)
def _nursery_of_files() -> Iterator[None]:
    yield
    _NURSERY_OF_FILES.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Nothing but the declaration; an engine that a test leaves running is ended."""
    shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("AWS_", "SINGLETABLE_"))}
    engine = {ENGINE_VARIABLE: str(find_engine(os.environ, ROOT))}
    yield Folder(tmp_path, {**kept, **engine, "COLUMNS": "120", "XDG_STATE_HOME": str(tmp_path / "state")})
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
def shop(folder: Folder, sample: Path) -> Iterator[Folder]:
    """The folder, with the sample in its default data file. Its engine runs: each command would start one."""
    shutil.copytree(sample, folder.path / sample.name, ignore=shutil.ignore_patterns("*.lock"))
    with connect(f"local:{folder.path / DEFAULT_FILE}"):
        yield folder
