"""The storm, as a long run; `python -m tests.storm` runs a million operations."""

from __future__ import annotations

import pytest

from tests.faults.fixtures import seed_of
from tests.storm.run import weather

OPERATIONS = 30_000


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_doubled(request: pytest.FixtureRequest) -> None:
    result = weather(OPERATIONS, seed_of(request.node.nodeid, is_soak=True), round_length=OPERATIONS // 2)
    assert result.wrong == []
    assert result.faults > OPERATIONS // 4
    assert result.kills > 0
