from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.otel.traced import Recorded, plain, shop
from tests.support.shells import KINDS, Shell, opened


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
async def shell(kind: str, recorded: Recorded) -> AsyncIterator[Shell]:
    """A database that is traced, with the tables."""
    async with opened(kind, listeners=[recorded.listener()]) as made:
        await made.create_table(shop)
        await made.create_table(plain)
        recorded.exporter.clear()
        yield made
