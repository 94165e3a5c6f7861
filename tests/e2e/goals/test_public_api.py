"""The application is built on what anybody may import: the front door, and the facade of the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import singletable
import singletable.errors
import singletable.graph
import singletable.records
import singletable.wire

FOLDER = Path(__file__).parents[3] / "examples" / "goals"
MODULES = sorted(FOLDER.glob("*.py"))
FACADES = {
    "singletable": set(singletable.__all__),
    "singletable.errors": {name for name, kind in vars(singletable.errors).items() if isinstance(kind, type)},
    "singletable.records": set(singletable.records.__all__),
    "singletable.wire": set(singletable.wire.__all__),
    "singletable.graph": set(singletable.graph.__all__),
}


def imported(module: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of everything that is imported."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_only_facades_are_used(module: Path) -> None:
    for of, name in imported(module):
        assert of.partition(".")[0] != "singletable" or name in FACADES.get(of, ()), f"{of}: {name}"


def test_the_modules_are_found() -> None:
    assert FOLDER / "model.py" in MODULES
