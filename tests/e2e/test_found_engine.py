"""The engine is found however a program is run: from a zipapp, from standard input as a notebook's cells are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

import singletable
from singletable_local import find_engine

PROGRAM = """
import singletable
from singletable import Entity, Key, Table, connect

app = Table("app")


class Note(Entity, table=app, type="note"):
    name: str

    @app.key
    @staticmethod
    def of(name: str) -> Key:
        return f"note#{name}", "note"


with connect("local") as db:
    db.create(Note(name="found"))
    print(db.get(Note.of("found")).name, singletable.__file__)
"""


@pytest.fixture
def engine_wheel(tmp_path: Path) -> Path:
    """A folder with the package `singletable_engine`, as its wheel is unpacked."""
    package = tmp_path / "site" / "singletable_engine"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copy(find_engine(os.environ), package / "dynoxide")
    return package.parent


def ran(arguments: list[str], folder: Path, path: str, given: str = "") -> str:
    """What a Python prints that has nothing on PATH, in a folder of its own."""
    folder.mkdir()
    environ = {"PATH": "/nowhere", "HOME": str(folder), "PYTHONPATH": path, "LANG": "C.UTF-8"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environ, input=given, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_notebook_finds_it(engine_wheel: Path, tmp_path: Path) -> None:
    """Without a file of its own, without an activated environment."""
    source = str(Path(singletable.__file__).parents[1])
    told = ran(["-"], tmp_path / "home", os.pathsep.join((str(engine_wheel), source)), PROGRAM)
    assert told.startswith("found ")


@pytest.mark.parametrize("packed", [True, False], ids=["in the archive", "beside it"])
def test_a_zipapp_finds_it(packed: bool, engine_wheel: Path, tmp_path: Path) -> None:
    """The library in the archive; the engine there too, or in the environment."""
    content = tmp_path / "content"
    shutil.copytree(Path(singletable.__file__).parent, content / "singletable", ignore=shutil.ignore_patterns("*.pyc"))
    (content / "__main__.py").write_text(PROGRAM)
    if packed:
        shutil.move(engine_wheel / "singletable_engine", content)
    archive = tmp_path / "app.pyz"
    zipapp.create_archive(content, archive)
    told = ran([str(archive)], tmp_path / "home", str(engine_wheel))
    assert told.startswith("found ")
    assert str(archive) in told
