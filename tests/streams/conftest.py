"""Databases with a stream, in both shells; and one engine for what simulated workers write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from singletable import Database
from tests.support.engines import fresh
from tests.support.shells import KINDS, Shell, opened


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def shell(kind: str) -> AsyncIterator[Shell]:
    async with opened(kind) as made:
        yield made


@pytest.fixture(scope="module")
def engine() -> Iterator[Database]:
    with fresh() as db:
        yield db
