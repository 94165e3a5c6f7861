"""The application is built on what anybody may import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import singletable

FOLDER = Path(__file__).parents[3] / "examples" / "organisations"
MODULES = sorted(FOLDER.glob("*.py"))


def imported(module: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of everything that is imported."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_only_the_front_door_is_used(module: Path) -> None:
    names = [(of, name) for of, name in imported(module) if of.partition(".")[0] == "singletable"]
    assert {of for of, _ in names} <= {"singletable"}
    assert {name for _, name in names} <= set(singletable.__all__)


def test_the_modules_are_found() -> None:
    assert FOLDER / "model.py" in MODULES
