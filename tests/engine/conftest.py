"""One suite for both shells and for every engine: `shell` is a database with nothing in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.shells import KINDS, Shell, engines, opened


@pytest.fixture(params=engines())
def target(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def shell(kind: str, target: str) -> AsyncIterator[Shell]:
    async with opened(kind, target) as made:
        yield made
