"""Every entry of the catalogue has a test that exists, or a reason."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.faults.catalogue import REASONS, SECTIONS, TESTS

HERE = Path(__file__).parent.parent


@cache
def functions_of(path: Path) -> frozenset[str]:
    defined = ast.walk(ast.parse(path.read_text()))
    return frozenset(n.name for n in defined if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.mark.parametrize(("entry", "named"), [(entry, named) for entry, tests in TESTS.items() for named in tests])
def test_the_functions_of_an_entry_exist(entry: str, named: str) -> None:
    path, _, name = named.partition("::")
    assert name.startswith("test_")
    assert name in functions_of(HERE / path)


def test_every_entry_has_tests_or_a_reason() -> None:
    every = {f"F-{section}{n}" for section, count in SECTIONS.items() for n in range(1, count + 1)}
    assert not TESTS.keys() & REASONS.keys()
    assert TESTS.keys() | REASONS.keys() == every
