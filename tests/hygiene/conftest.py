from collections.abc import Iterator

import pytest

from tests.faults.fixtures import clock, engine_url, faults, kind, proxy, pytest_runtest_makereport
from tests.support.engines import POOL

__all__ = ["clock", "engine_url", "faults", "kind", "proxy", "pytest_runtest_makereport"]


@pytest.fixture(autouse=True)
def new_engines() -> Iterator[None]:
    """Each test gives its transactions the same tokens, and an engine remembers them."""
    with POOL.paused():
        yield
