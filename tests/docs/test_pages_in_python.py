"""The tutorial, the pages and the recipes run on the engine in Python too, where there is no binary.

`SINGLETABLE_ENGINE` is the switch, as it says everywhere what `connect("local")` starts. The units of costs are not
compared: this engine counts others. Requests, round trips and all that is read are the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, named, python_of, run
from tests.docs.test_pages import EXPLANATION, HOW_TO, OF_TESTS, TUTORIAL, TWELVE_NAMES, WEB_FRAMEWORKS
from tests.e2e.recipes.test_recipes import EXPECTED, RECIPES
from tests.support.python_engine import python_engine as python_engine
from tools.distributions import PYTHONPATH

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("python_engine")]
QUICK = ("delayed_task", "graph_page")
"""One of a worker, one of a layer's transactions."""
LEFT_OUT = {
    DOCS / "how-to/coming-from.md": "its programs need the binary with a port",
    DOCS / "how-to/existing-table.md": "its programs need the binary with a port",
    DOCS / "how-to/local-engine.md": "it shows a file",
    DOCS / "how-to/recover.md": "it copies a file",
    DOCS / "how-to/answers.md": "it compares units",
    DOCS / "how-to/search.md": "it compares units",
    DOCS / "explanation/how-proven.md": "its suite starts the binary",
}
PAGES = [page for page in (ROOT / "README.md", TWELVE_NAMES, *HOW_TO, *EXPLANATION) if page not in LEFT_OUT]
START = {
    ROOT / "README.md" if page == "index.md" else DOCS / page
    for entry in tomllib.loads((ROOT / "tools/site/zensical.toml").read_text())["project"]["nav"]
    for page in entry.get("Start", ())
}


def without_units(text: str) -> str:
    return re.sub(r"read_units=[\d.]+, write_units=[\d.]+(, estimated=\[[^]]*\])?", "", text)


def printed_by(*arguments: str, folder: Path = ROOT) -> str:
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, *arguments]
    ran = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_tutorial_prints_what_it_prints_on_the_binary(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(TUTORIAL)
    in_python = capsys.readouterr().out
    assert len(in_python.splitlines()) > 3
    monkeypatch.delenv("SINGLETABLE_ENGINE")
    run(TUTORIAL)
    assert [line for line in in_python.splitlines() if " ms" not in line] == [
        line for line in capsys.readouterr().out.splitlines() if " ms" not in line
    ]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.soak) for name in RECIPES]
)
def test_a_recipe_prints_what_it_prints_on_the_binary(name: str) -> None:
    printed = printed_by("-m", f"examples.recipes.{name}")
    assert without_units(printed) == without_units((EXPECTED / f"{name}.txt").read_text("utf-8"))


@pytest.mark.soak
@pytest.mark.filterwarnings("default::singletable.pytest_plugin.UnitsDiffer")
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_runs(page: Path) -> None:
    run(page)


@pytest.mark.soak
def test_the_page_of_web_frameworks_runs(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("\n".join(python_of(WEB_FRAMEWORKS)))
    printed_by("-W", "error", "page.py", folder=tmp_path)


@pytest.mark.soak
def test_the_tests_of_the_page_on_tests_pass(tmp_path: Path) -> None:
    (tmp_path / "test_page.py").write_text("\n".join(python_of(OF_TESTS)))
    printed = printed_by("-m", "pytest", "-p", "no:cacheprovider", "test_page.py", folder=tmp_path)
    assert "8 passed" in printed
    assert "UnitsDiffer: the units of this budget are not those of AWS" in printed


def test_every_page_of_start_is_among_them() -> None:
    assert TUTORIAL in START
    assert {page for page in START if python_of(page)} <= {TUTORIAL, OF_TESTS, WEB_FRAMEWORKS, *PAGES}
