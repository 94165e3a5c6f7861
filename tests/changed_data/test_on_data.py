"""Any change of any declaration, on stored items: it is refused with its count, or all reads as the rules say."""

from __future__ import annotations

import pytest

from tests.changed_data import layer_runs
from tests.changed_data.runs import DECLARED, broken


@pytest.mark.parametrize("part", range(2))
def test_a_change_is_refused_with_its_count_or_all_is_read_afterwards(part: int) -> None:
    """34 changes."""
    for seed in range(part, 34, 2):
        assert not broken(seed)


def test_a_change_that_says_what_was_before_is_done() -> None:
    """8 changes: other names, values and types of attributes, classes that become others."""
    for seed in range(DECLARED, DECLARED + 8):
        assert not broken(seed)


def test_a_change_of_documents_and_tasks_is_refused_or_read() -> None:
    """8 changes."""
    for seed in range(8):
        assert not layer_runs.broken(seed)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_more_changes_are_refused_or_read(part: int) -> None:
    """500 changes."""
    for seed in range(1000 + part, 1340, 10):
        assert not broken(seed)
    for seed in range(DECLARED + 100 + part, DECLARED + 180, 10):
        assert not broken(seed)
        assert not layer_runs.broken(seed)
