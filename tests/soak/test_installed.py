"""Installed from the wheels in an empty environment of each Python at hand, without npm: the tutorial runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from singletable.local import engine_package
from tools.wheels.platforms import PLATFORMS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "first_table.py"
IS_WITHOUT_WHEEL = engine_package() not in {each.package for each in PLATFORMS.values()}


def python_of(minor: int) -> str:
    """A Python 3.`minor` that runs here, on PATH or of pyenv; skips the test where there is none."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for path in (sys.executable, shutil.which(f"python3.{minor}"), *sorted(versions.glob(f"3.{minor}.*/bin/python"))):
        if path is not None:
            asked = [path, "-c", "import sys, ensurepip; print(sys.version_info.minor)"]
            told = subprocess.run(asked, capture_output=True, text=True, check=False)
            if told.stdout.strip() == str(minor):
                return str(path)
    pytest.skip(f"there is no Python 3.{minor} here")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, "-m", "tools.wheels", "--out", str(out)], cwd=ROOT, check=True)
    return out


@pytest.mark.skipif(IS_WITHOUT_WHEEL, reason="there is no wheel of the engine for this machine")
@pytest.mark.parametrize("minor", range(11, 16))
def test_the_tutorial_runs_after_one_install(minor: int, wheels: Path, tmp_path: Path) -> None:
    environment, home = tmp_path / "environment", tmp_path / "home"
    home.mkdir()
    subprocess.run([python_of(minor), "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    variables = {name: value for name, value in os.environ.items() if name.lower().startswith(("pip_", "http", "ssl"))}
    bare = {**variables, "HOME": str(home), "PATH": "/nowhere", "LANG": "C.UTF-8"}
    asked = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--find-links", str(wheels)]
    subprocess.run([python, *asked, "singletable[local]"], env=bare, check=True)
    shutil.copy(TUTORIAL, home)
    done = subprocess.run(
        [python, TUTORIAL.name], cwd=home, env=bare, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == _told_here()


def _told_here() -> list[str]:
    """What the program prints in the environment of development."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, str(TUTORIAL)], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()
