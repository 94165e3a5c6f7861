"""A fact that the record lacks, and a rule that is another one, are found by drawn changes on stored items."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import SingletableError
from singletable.migrations import comparison, execution, preparation
from singletable.migrations.rules import RULES, Rule
from tests.changed_data.runs import broken
from tests.changes.test_bytes import record_without

FACTS: list[tuple[str, Any, int]] = [
    ("entities/*/stored/*/form", "?", 162),
    ("entities/*/stored/*/default", None, 178),
    ("entities/*/slots/key", ("", ""), 0),
    ("entities/*/key", ("", ""), 0),
    ("entities/*/version", 1, 53),
    ("entities/*/outside", None, 110),
]
"""Facts of the record, what stands in their places, and the seed of a change that finds it."""
SWITCHED: list[tuple[str, Rule, int]] = [
    ("attribute.removed", Rule("free", ""), 18),
    ("attribute.required", Rule("ordered", ""), 1),
    ("default.changed", Rule("breaking", "", "holding"), 418),
    ("type.changed", Rule("breaking", "", "all"), 352),
    ("class.removed", Rule("remove", ""), 149),
    ("key.changed", Rule("free", ""), 9),
]


def is_found(first: int) -> bool:
    """Whether a drawn change breaks a law, or ends in an error that is not of its plan."""
    return any(map(_is_broken, (first, *range(60))))


def _is_broken(seed: int) -> bool:
    try:
        return bool(broken(seed))
    except SingletableError:
        return True


@pytest.mark.parametrize(("fact", "value", "seed"), FACTS)
def test_a_fact_that_the_record_lacks(fact: str, value: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (comparison, execution, preparation):
        monkeypatch.setattr(module, "document_of", record_without(fact, value))
    assert is_found(seed)


@pytest.mark.parametrize(("name", "rule", "seed"), SWITCHED)
def test_a_rule_that_is_another(name: str, rule: Rule, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, name, rule)
    assert is_found(seed)
