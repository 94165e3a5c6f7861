"""Installed from the wheels in an empty environment of each Python at hand, without npm: the tutorial runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from singletable_local import engine_package
from tools.distributions import PYTHONPATH
from tools.pythons import Python, pythons
from tools.release.__main__ import try_out, tutorial
from tools.wheels.platforms import PLATFORMS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
IS_WITHOUT_WHEEL = engine_package() not in {each.package for each in PLATFORMS.values()}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, "-m", "tools.wheels", "--out", str(out)], cwd=ROOT, check=True)
    return out


@pytest.mark.skipif(IS_WITHOUT_WHEEL, reason="there is no wheel of the engine for this machine")
@pytest.mark.parametrize("python", pythons(), ids=lambda python: python.name)
def test_the_tutorial_runs_after_one_install(python: Python, wheels: Path, tmp_path: Path) -> None:
    """SystemExit says what it printed instead."""
    expected = tutorial(sys.executable, ROOT, {"PYTHONPATH": PYTHONPATH})
    try_out(python, tmp_path / "environment", wheels, expected)
    assert len(expected.splitlines()) > 3


def test_this_python_is_among_them() -> None:
    assert sys.version_info[:2] in {tuple(map(int, each.version.split(".")[:2])) for each in pythons()}
