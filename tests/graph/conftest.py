from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from singletable import Database
from tests.faults.fixtures import clock, engine_url, faults, kind, proxy, pytest_runtest_makereport
from tests.graph.models import records
from tests.graph.shells import opened
from tests.support.engines import fresh
from tests.support.shells import Shell

__all__ = ["clock", "db", "engine_url", "faults", "kind", "proxy", "pytest_runtest_makereport", "shell"]


@pytest.fixture
async def shell(kind: str) -> AsyncIterator[Shell]:
    """A database of each kind; the graph in it is sound when the test ends."""
    async with opened(kind) as made:
        yield made
        assert await made.check(records) == []


@pytest.fixture
def db() -> Iterator[Database]:
    """The blocking database, for what the shells do not differ in; the graph in it is sound when the test ends."""
    with fresh() as made:
        yield made
        assert made.check(records) == []
