"""Installed from the wheels in an empty environment of each Python at hand, without npm: the tutorial runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from singletable_local import engine_package
from tools.distributions import APPLICATIONS, PYTHONPATH
from tools.pythons import Python, pythons
from tools.release.__main__ import try_out, tutorial
from tools.release.alone import TESTS, try_alone, try_application
from tools.release.environments import install
from tools.wheels.platforms import PLATFORMS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
THIS = Python(sys.executable, sys.version.split()[0])
IN_PYTHON = "singletable-engine-python"
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


def test_the_tutorial_runs_where_the_binary_has_no_wheel(wheels: Path, tmp_path: Path) -> None:
    """The engine in Python is what pip installs there: here it takes the place of the binary's wheel."""
    expected = tutorial(sys.executable, ROOT, {"PYTHONPATH": PYTHONPATH})
    environment = tmp_path / "environment"
    install(THIS, environment, wheels)
    python = str(environment / "bin" / "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "uninstall", "--yes", "singletable-engine"], check=True)
    subprocess.run([*pip, "install", "--no-index", "--find-links", str(wheels), IN_PYTHON], check=True)
    found = "import os; from singletable_local.binary import find_emulator; print(find_emulator({'PATH': os.defpath}))"
    place = subprocess.run([python, "-c", found], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert place.startswith(str(environment))
    told = tutorial(python, environment, {})
    assert [line for line in told.splitlines() if " ms" not in line] == [
        line for line in expected.splitlines() if " ms" not in line
    ]


@pytest.mark.skipif(IS_WITHOUT_WHEEL, reason="there is no wheel of the engine for this machine")
@pytest.mark.parametrize("distribution", TESTS)
def test_a_distribution_passes_its_tests_alone(distribution: str, wheels: Path, tmp_path: Path) -> None:
    """SystemExit where one fails."""
    try_alone(THIS, tmp_path / "environment", wheels, distribution)


@pytest.mark.skipif(IS_WITHOUT_WHEEL, reason="there is no wheel of the engine for this machine")
@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_application_starts_after_one_install(application: str, wheels: Path, tmp_path: Path) -> None:
    """SystemExit says what it misses."""
    try_application(THIS, tmp_path / "environment", wheels, application)


def test_the_library_alone_has_two_dependencies(wheels: Path, tmp_path: Path) -> None:
    install(THIS, tmp_path / "environment", wheels, "singletable")
    asked = [str(tmp_path / "environment" / "bin" / "python"), "-m", "pip", "list", "--format", "json"]
    listed = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    names = {package["name"] for package in listed} - {"pip", "setuptools"}
    assert names == {"singletable", "httptools", "msgspec"}
    code = "import singletable; singletable.connect('local')"
    ran = subprocess.run([asked[0], "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'pip install "singletable[local]"' in ran.stderr


def test_this_python_is_among_them() -> None:
    assert sys.version_info[:2] in {tuple(map(int, each.version.split(".")[:2])) for each in pythons()}
