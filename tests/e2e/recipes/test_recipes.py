"""Every recipe runs by itself and prints what is written down here, its costs included; each is short, and listed."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.distributions import PYTHONPATH

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "recipes"
EXPECTED = Path(__file__).parent / "expected"
RECIPES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
MOST_LINES = 150

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_prints_what_happens_and_what_it_costs(name: str) -> None:
    """In a process of its own, as a reader runs it. After an intended change, write what it prints to `expected`."""
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-m", f"examples.recipes.{name}"]
    ran = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (EXPECTED / f"{name}.txt").read_text("utf-8")


def test_nothing_is_expected_of_a_recipe_that_is_not_there() -> None:
    assert sorted(path.stem for path in EXPECTED.glob("*.txt")) == RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_short_and_says_its_problem_first_and_its_costs_last(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    problem = ast.get_docstring(ast.parse(text)) or ""
    assert len([line for line in problem.splitlines() if line]) == 3
    printed = (EXPECTED / f"{name}.txt").read_text("utf-8")
    assert re.search(r"Meter\(requests=|\d write units", printed.partition("\ncosts\n")[2])


def test_the_index_page_and_the_menu_of_the_site_list_every_recipe() -> None:
    page, menu = (FOLDER / "README.md").read_text("utf-8"), (ROOT / "tools/site/zensical.toml").read_text("utf-8")
    assert [name for name in RECIPES if f"({name}.py)" not in page] == []
    assert [name for name in RECIPES if f'"examples/recipes/{name}.md"' not in menu] == []


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_imports_the_public_packages_alone(name: str) -> None:
    """What a newcomer copies must not reach into modules."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = {module for module in names if module.partition(".")[0] in ("singletable", "examples", "tests")}
    layers = ("documents", "events", "graph", "migrations", "pytest_plugin", "queues", "streams", "sync", "tasks")
    assert ours <= {"singletable", *(f"singletable.{layer}" for layer in layers)}
