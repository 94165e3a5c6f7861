"""Exports that are killed at random moments, at a size that the environment may raise."""

from __future__ import annotations

import os

import pytest

from benchmarks.exports.kills import killed

ITEMS = int(os.environ.get("EXPORT_ITEMS", "20000"))
KILLS = 5


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_killed_at_random_it_ends_with_the_same_files() -> None:
    done = killed(ITEMS, KILLS, seed=2)
    assert (done.items, done.kills) == (ITEMS, KILLS)
    assert done.held < 300e6
