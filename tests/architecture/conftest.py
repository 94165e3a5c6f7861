from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.sources import Source
from tests.support.no_engine import no_engine

__all__ = ["no_engine"]


@pytest.fixture(scope="package", autouse=True)
def forgotten_at_the_end() -> Iterator[None]:
    """The collector of the other tests' processes doesn't go through a million nodes of syntax."""
    yield
    Source.read.cache_clear()
