"""The names of the library's classes and locals: each says what it is. The bounds only fall."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture.sources import Source, sources

MOST_SHARED_CLASSES = 9
"""Class names that several modules define: most are public names of two layers."""
MOST_LOCALS = {"found": 139, "each": 270, "made": 39, "said": 40}
"""Functions that bind a local or a parameter of this name."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def written() -> list[Source]:
    """The files that a person writes."""
    return [file for file in sources() if not file.is_generated]


@cache
def locals_of_all() -> Counter[str]:
    return bound_names(written())


def shared_classes(files: list[Source]) -> dict[str, list[str]]:
    """The class names that several modules define, with the modules."""
    modules: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for name in {node.name for node in file.nodes if isinstance(node, ast.ClassDef)}:
            modules[name].append(file.module)
    return {name: owners for name, owners in modules.items() if len(owners) > 1}


def bound_names(files: list[Source]) -> Counter[str]:
    """For each name, the functions that bind it."""
    functions = (node for file in files for node in file.nodes if isinstance(node, Function))
    return Counter(name for function in functions for name in set(_bound(function)))


def _bound(function: Function) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_a_class_name_stands_in_one_module() -> None:
    shared = shared_classes(written())
    assert len(shared) <= MOST_SHARED_CLASSES, shared


@pytest.mark.parametrize("name", MOST_LOCALS)
def test_a_local_is_a_noun(name: str) -> None:
    assert locals_of_all()[name] <= MOST_LOCALS[name]


def test_a_shared_class_and_a_vague_local_are_seen() -> None:
    files = [Source(module, "class Run:\n    def go(self, each):\n        found = each\n") for module in ("a", "b")]
    assert shared_classes(files) == {"Run": ["a", "b"]}
    assert bound_names(files) == {"self": 2, "each": 2, "found": 2}
