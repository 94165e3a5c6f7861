"""The storm, short in every run and longer as soak; `python -m tests.storm` runs a million operations."""

from __future__ import annotations

from zlib import crc32

import pytest

from tests.faults.fixtures import seed_of
from tests.storm.run import weather

SHORT, LONG = 7_000, 30_000


@pytest.mark.timeout(600)
def test_nothing_is_lost_or_doubled(request: pytest.FixtureRequest) -> None:
    result = weather(SHORT, crc32(request.node.nodeid.encode()))
    assert result.wrong == []
    assert result.faults > SHORT // 4
    assert result.kills > 0


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_nor_in_a_long_storm(request: pytest.FixtureRequest) -> None:
    result = weather(LONG, seed_of(request.node.nodeid, is_soak=True), round_length=LONG // 2)
    assert result.wrong == []
