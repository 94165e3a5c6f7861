"""A token bucket for each user."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from singletable.sync.limits import Rates


def test_a_burst_passes_and_then_the_rate() -> None:
    rates = Rates(per_second=10, burst=3, users=100)
    assert [rates.wait_seconds("ada", 0.0) for _ in range(3)] == [0, 0, 0]
    assert rates.wait_seconds("ada", 0.0) == pytest.approx(0.1)
    assert rates.wait_seconds("ada", 0.1) == 0
    assert rates.wait_seconds("ada", 0.15) == pytest.approx(0.05)


def test_one_user_never_waits_for_another() -> None:
    rates = Rates(per_second=1, burst=1, users=100)
    assert rates.wait_seconds("ada", 0.0) == 0
    assert rates.wait_seconds("ada", 0.0) > 0
    assert rates.wait_seconds("ben", 0.0) == 0


def test_the_longest_silent_are_forgotten_first() -> None:
    rates = Rates(per_second=0.001, burst=1, users=2)
    for user in ("ada", "ben", "ada", "cy"):
        rates.wait_seconds(user, 0.0)
    assert rates.wait_seconds("ada", 0.0) > 0
    assert rates.wait_seconds("ben", 0.0) == 0


@given(st.lists(st.floats(0, 5), max_size=60), st.integers(1, 5))
def test_no_more_pass_than_burst_and_rate_allow(steps: list[float], burst: int) -> None:
    rates = Rates(per_second=2, burst=burst, users=10)
    now, ahead, passed = 100.0, 0.0, 0
    for step in steps:
        now, ahead = now + step, ahead + step
        passed += rates.wait_seconds("ada", now) == 0
    assert passed <= burst + 2 * ahead + 1e-6
