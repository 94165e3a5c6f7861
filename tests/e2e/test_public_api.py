"""The applications are built on what anybody may import: the root, and facades of packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.architecture.sources import Source

EXAMPLES = Path(__file__).parents[2] / "examples"
FOR_ALL = {
    "singletable",
    "singletable_deploy",
    "singletable.erasure",
    "singletable.errors",
    "singletable.records",
    "singletable.wire",
}
FACADES = {
    "goals": FOR_ALL | {"singletable.graph"},
    "manhunt": FOR_ALL | {"singletable.queues", "singletable.streams", "singletable.tasks"},
    "organisations": FOR_ALL | {"singletable.streams", "singletable.tasks"},
    "projects": FOR_ALL | {"singletable.documents", "singletable.queues", "singletable.sync", "singletable.values"},
}
"""What each application may use."""
MODULES = [
    path for application in FACADES for path in sorted((EXAMPLES / application / "src" / application).rglob("*.py"))
]


def named(module: Path) -> str:
    return module.relative_to(EXAMPLES).with_suffix("").as_posix().partition("/src/")[2]


def imported(module: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of everything that is imported."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def exported(facade: str) -> set[str]:
    file = import_module(facade).__file__
    assert file is not None
    return {*Source.read(Path(file)).public}


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_only_facades_are_used(module: Path) -> None:
    allowed = FACADES[named(module).partition("/")[0]]
    for of, name in imported(module):
        if of.partition(".")[0] == "singletable":
            assert of in allowed
            assert name in exported(of), f"{of} does not export {name}"


@pytest.mark.parametrize("name", [*(f"{application}/model" for application in FACADES), "manhunt/notifiers/smtp"])
def test_the_modules_are_found(name: str) -> None:
    assert name in map(named, MODULES)
