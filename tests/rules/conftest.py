from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from singletable.wire import RetryPolicy
from tests.faults.clock import Clock
from tests.faults.fixtures import clock, engine_url, faults, kind, proxy, pytest_runtest_makereport
from tests.faults.opening import opened_at
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults
from tests.rules.bench import Bench
from tests.rules.models import guarded, shop

__all__ = ["clock", "engine_url", "faults", "kind", "proxy", "pytest_runtest_makereport"]


@pytest.fixture
async def bench(kind: str, proxy: FaultProxy, faults: Faults, clock: Clock) -> AsyncIterator[Bench]:
    """A shell of each kind behind the proxy, its tables made, nothing counted yet."""
    retry = RetryPolicy(deadline_seconds=20.0, transaction_deadline_seconds=20.0)
    async with opened_at(kind, proxy.url, clock=clock, retry=retry, tables=(shop, guarded)) as shell:
        faults.forget()
        yield Bench(shell, faults, clock, proxy.carrier.hides_items)
