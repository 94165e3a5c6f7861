"""Every entry of the catalogue has a test that exists, or a reason."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.faults.catalogue import COUNTS, SECTIONS, Entry
from tests.faults.proven import file_of

ROOT = Path(__file__).parents[2]
ENTRIES = [entry for section in SECTIONS for entry in section.entries]


@cache
def functions_of(path: Path) -> frozenset[str]:
    defined = ast.walk(ast.parse(path.read_text()))
    return frozenset(n.name for n in defined if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_an_entry_has_tests_that_exist_or_a_reason(entry: Entry) -> None:
    assert entry.tests or entry.reason
    assert entry.fault
    assert entry.promise
    assert len(set(entry.tests)) == len(entry.tests)
    for named in entry.tests:
        path, _, name = named.partition("::")
        assert name.startswith("test_")
        assert name in functions_of(ROOT / file_of(path)), named


def test_no_entry_is_left_out() -> None:
    prefix = {letter: "" if letter == "S" else "F-" for letter in COUNTS}
    wanted = [
        f"{prefix[s]}{s}-{n}" if s == "S" else f"{prefix[s]}{s}{n}" for s in COUNTS for n in range(1, COUNTS[s] + 1)
    ]
    assert sorted(entry.id for entry in ENTRIES) == sorted(wanted)
    for section in SECTIONS:
        assert len(section.entries) == COUNTS[section.letter]
