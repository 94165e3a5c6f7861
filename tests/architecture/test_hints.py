"""Errors say what to do next: how many are raised without a hint may fall, and never grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from singletable import errors
from tests.architecture.sources import ROOT, Source
from tools.distributions import modules

MOST_WITHOUT = 213
"""Their text alone says what to do, or nobody can do anything. Whoever adds a hint lowers it."""
_KINDS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.SingletableError) and kind is not errors.SingletableError
}


def without_hint() -> Iterator[str]:
    """Where an error is made that has no `hint`."""
    for path in modules():
        calls = [node for node in Source.read(path).nodes if isinstance(node, ast.Call)]
        for call in calls:
            is_error = isinstance(call.func, ast.Name) and call.func.id in _KINDS
            # **more may bring one.
            if is_error and not any(keyword.arg in ("hint", None) for keyword in call.keywords):
                yield f"{path.relative_to(ROOT)}:{call.lineno}"


def test_no_more_errors_are_without_a_hint() -> None:
    found = list(without_hint())
    assert found, "the test finds none at all"
    assert len(found) <= MOST_WITHOUT, "give the new one a hint:\n" + "\n".join(found)
