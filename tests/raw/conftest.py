"""One suite for both shells, on the engine of `--engine`: `shell` is a database with nothing in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.shells import KINDS, Shell, opened


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def shell(kind: str) -> AsyncIterator[Shell]:
    async with opened(kind) as made:
        yield made
