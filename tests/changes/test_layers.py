"""What programs make of each other's documents and tasks is what the rules say, of any declaration and any change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.changes.laws import CHANGES_OF_ONE
from tests.changes.layer_laws import broken_layers, check_layers, layer_cases
from tests.changes.test_bytes import record_without


def test_rules_are_true_of_documents_and_tasks() -> None:
    """40 changes, and 2,000 in the long run."""
    for seed in range(40 // CHANGES_OF_ONE):
        assert not check_layers(seed, CHANGES_OF_ONE)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(2))
def test_rules_are_true_of_more_documents_and_tasks(part: int) -> None:
    """2,000 changes."""
    for seed in range(1000 + part, 1000 + 2000 // CHANGES_OF_ONE, 2):
        assert not check_layers(seed, CHANGES_OF_ONE)


@pytest.mark.parametrize(
    ("fact", "value", "seed"),
    [
        ("layers/tasks/*/arguments", None, 0),
        ("layers/documents/*/scalars", None, 0),
        ("layers/documents/*/collections/*/content", None, 4),
        ("layers/documents/*/mutations", None, 0),
    ],
)
def test_a_fact_that_the_record_lacks_is_found(fact: str, value: Any, seed: int) -> None:
    """By the changes of one declaration; those of the next ones are tried where the generator draws others."""
    form = record_without(fact, value)
    seeds = range(seed, seed + 20)
    assert any(broken_layers(case, form) for tried in seeds for case in layer_cases(tried, CHANGES_OF_ONE))
