"""Every kind of finding has a test that plants it: one that nothing provokes could be lost without notice."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.oracle import (
    planting,
    test_documents,
    test_foreign,
    test_graph,
    test_jobs,
    test_records,
    test_streams,
    test_sync,
    test_tasks,
)

SRC = Path(__file__).parents[2] / "src" / "singletable"
CHECKERS = sorted(SRC.glob("*/check.py"))
_KIND = re.compile(r"[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*")
_CALLS = ("Finding", "_finding", "finding_in")
PLANTED = {
    code
    for planted in (
        test_documents.PLANTED,
        test_documents.OF_THE_BRANCH,
        test_foreign.PLANTED,
        test_graph.PLANTED,
        test_jobs.PLANTED,
        test_records.PLANTED,
        test_streams.PLANTED,
        test_sync.PLANTED,
        test_tasks.PLANTED,
    )
    for codes, _ in planted.values()
    for code in codes
}


def kinds_of(file: Path) -> set[str]:
    """The codes that a checker gives."""
    calls = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    made = (node for node in calls if isinstance(node.func, ast.Name) and node.func.id in _CALLS)
    constants = (argument.value for node in made for argument in node.args if isinstance(argument, ast.Constant))
    return {value for value in constants if isinstance(value, str) and _KIND.fullmatch(value)}


def test_every_kind_of_finding_is_planted() -> None:
    """And each that is planted is made silent there: see `assert_found`."""
    kinds = {kind for file in CHECKERS for kind in kinds_of(file)}
    assert {Path(checker.__file__ or "") for checker in planting.CHECKERS} == set(CHECKERS)
    assert len(CHECKERS) == 7
    assert all(kinds_of(file) for file in CHECKERS)
    assert kinds - PLANTED == set()
    assert kinds >= PLANTED
