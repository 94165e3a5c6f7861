"""What two programs make of each other's bytes is what the rules say, of any declaration and any change of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from singletable import Table
from singletable.migrations.model_document import ModelDocument, document_of
from tests.changes.laws import CHANGES_OF_ONE, Case, broken, cases, check


@pytest.mark.parametrize("part", range(2))
def test_rules_are_true_of_the_bytes(part: int) -> None:
    """200 changes, and thousands in the long run. Each fact of the record is planted as missing below."""
    for seed in range(part, 200 // CHANGES_OF_ONE, 2):
        assert not check(seed, CHANGES_OF_ONE)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_rules_are_true_of_more_bytes(part: int) -> None:
    """4,000 changes."""
    for seed in range(1000 + part, 1000 + 4_000 // CHANGES_OF_ONE, 4):
        assert not check(seed, CHANGES_OF_ONE)


def record_without(fact: str, value: Any) -> Any:
    """The record of a table, with a fact of it the same for all; None takes it out."""

    def form(table: Table) -> ModelDocument:
        tree = _with(msgspec.to_builtins(document_of(table)), fact.split("/"), value)
        return msgspec.convert(tree, ModelDocument)

    return form


def _with(tree: Any, path: list[str], value: Any) -> Any:
    if not isinstance(tree, dict) or (path[0] != "*" and path[0] not in tree):
        return tree
    first, *rest = path
    names = tree if first == "*" else [first]
    if rest:
        return {**tree, **{name: _with(tree[name], rest, value) for name in names}}
    return {name: each if name not in names else value for name, each in tree.items() if name not in names or value}


@pytest.mark.parametrize(
    ("fact", "value", "first"),
    [
        ("entities/*/stored/*/form", "?", 9),
        ("entities/*/stored/*/optional", None, 11),
        ("entities/*/stored/*/default", None, 4),
        ("entities/*/slots/key", ("", ""), 0),
        ("entities/*/slots/index gsi1", ("", ""), 145),
        ("entities/*/key", ("", ""), 8),
        ("entities/*/version", 1, 2),
        ("entities/*/outside", None, 15),
        ("indexes/*/key", ("", ""), 58),
        ("names/type", "_type", 31),
    ],
)
def test_a_fact_that_the_record_lacks_is_found(fact: str, value: Any, first: int) -> None:
    """`first` is the seed of a change that shows it; the next ones are tried where the generator draws others."""
    form = record_without(fact, value)
    assert any(broken(case, form) for seed in range(first, first + 80) for case in kept(seed))


@cache
def kept(seed: int) -> list[Case]:
    return list(cases(seed, CHANGES_OF_ONE))
