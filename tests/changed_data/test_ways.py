"""Drawn changes on stored items, where the apply is not left alone."""

from __future__ import annotations

import pytest

from tests.changed_data.runs import DECLARED
from tests.changed_data.ways import broken_by_another, broken_by_kills, broken_on_the_way_back, goes_on


@pytest.mark.parametrize("seed", [2, DECLARED + 1])
def test_killed_at_every_request(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not broken_by_kills(seed, monkeypatch)


@pytest.mark.parametrize("seed", [12, DECLARED + 1])
def test_another_apply_takes_over(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not broken_by_another(seed, monkeypatch)


@pytest.mark.parametrize("seed", [3, 13, DECLARED + 11])
def test_back_from_each_step(seed: int) -> None:
    assert not broken_on_the_way_back(seed)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_more_changes_that_are_not_left_alone(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in filter(goes_on, (*range(1000 + part, 1080, 10), *range(DECLARED + part, DECLARED + 20, 10))):
        assert not broken_by_kills(seed, monkeypatch)
        assert not broken_by_another(seed, monkeypatch)
        assert not broken_on_the_way_back(seed)
