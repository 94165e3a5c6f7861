"""Any change of any declaration, on stored items: it is refused with its count, or all reads as the rules say."""

from __future__ import annotations

import pytest

from tests.changed_data.runs import broken


@pytest.mark.parametrize("part", range(2))
def test_a_change_is_refused_with_its_count_or_all_is_read_afterwards(part: int) -> None:
    """50 changes."""
    for seed in range(part, 50, 2):
        assert not broken(seed)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_more_changes_are_refused_or_read(part: int) -> None:
    """500 changes."""
    for seed in range(1000 + part, 1500, 10):
        assert not broken(seed)
