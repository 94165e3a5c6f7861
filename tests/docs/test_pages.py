"""What the documentation shows runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from singletable_local import ENGINE_VARIABLE, find_engine
from tests.docs.pages import DOCS, ROOT, named, python_of, run

TUTORIAL = DOCS / "tutorial" / "first-table.md"
TWELVE_NAMES = DOCS / "tutorial" / "twelve-names.md"
TUTORIAL_CODE = DOCS / "tutorial" / "first_table.py"
OF_TESTS = DOCS / "how-to" / "test.md"
WEB_FRAMEWORKS = DOCS / "how-to" / "web-frameworks.md"
"""Django's settings are a process's own."""
WITHOUT_PYTHON = DOCS / "how-to" / "what-you-see.md"
HOW_TO = sorted({*(DOCS / "how-to").glob("*.md")} - {OF_TESTS, WEB_FRAMEWORKS, WITHOUT_PYTHON})
EXPLANATION = sorted(page for page in (DOCS / "explanation").glob("*.md") if python_of(page))


@pytest.mark.parametrize("page", [ROOT / "README.md", TWELVE_NAMES, *HOW_TO, *EXPLANATION], ids=named)
def test_its_python_runs(page: Path) -> None:
    assert python_of(page)
    run(page)


def test_the_tests_of_the_page_on_tests_pass(tmp_path: Path) -> None:
    file = tmp_path / "test_page.py"
    file.write_text("\n".join(python_of(OF_TESTS)))
    environ = {**os.environ, ENGINE_VARIABLE: str(find_engine(os.environ, ROOT))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "8 passed" in ran.stdout


def test_the_page_of_web_frameworks_runs_as_a_program(tmp_path: Path) -> None:
    file = tmp_path / "page.py"
    file.write_text("\n".join(python_of(WEB_FRAMEWORKS)))
    environ = {**os.environ, ENGINE_VARIABLE: str(find_engine(os.environ, ROOT))}
    command = [sys.executable, "-W", "error", str(file)]
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_tutorial_is_its_file() -> None:
    """Each piece of the page stands in the file, in this order, and nothing of the file is left out."""
    assert "\n".join(block.strip("\n") for block in python_of(TUTORIAL)).split() == TUTORIAL_CODE.read_text().split()


def test_the_tutorial_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    run(TUTORIAL)
    printed = [line for line in capsys.readouterr().out.splitlines() if " ms" not in line]
    shown = TUTORIAL.read_text()
    assert printed
    for line in printed:
        assert line in shown
