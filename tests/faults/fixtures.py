"""Fixtures of everything that runs under faults. A failing test says which seed repeats its run.

`FAULT_SEED` in the environment sets the seed; else each test has its own, the same in every run, and a soak test a
fresh one each time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest

from tests.faults.clock import Clock
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults
from tests.support.engines import fresh_url
from tests.support.shells import KINDS

SEED_VARIABLE = "FAULT_SEED"
_SHOWN = 60


def seed_of(nodeid: str, *, is_soak: bool) -> int:
    """The seed of a test's faults."""
    said = os.environ.get(SEED_VARIABLE)
    if said is not None:
        return int(said)
    return secrets.randbits(32) if is_soak else crc32(nodeid.encode())


def report_of(faults: Faults) -> str:
    """What a failing run says about itself: how to repeat it, and what happened last."""
    last = [str(each) for each in faults.happened[-_SHOWN:]]
    return "\n".join((f"{SEED_VARIABLE}={faults.seed} repeats this run", *last))


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> Faults:
    """Rules, none yet, with the test's seed."""
    is_soak = request.node.get_closest_marker("soak") is not None
    return Faults(seed_of(request.node.nodeid, is_soak=is_soak))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def engine_url() -> Iterator[str]:
    """The address of an engine with nothing in it."""
    with fresh_url() as url:
        yield url


@pytest.fixture
def proxy(engine_url: str, faults: Faults) -> Iterator[FaultProxy]:
    with FaultProxy(engine_url, faults) as made:
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report: pytest.TestReport = yield
    given = getattr(item, "funcargs", {}).get("faults")
    if report.failed and isinstance(given, Faults):
        report.sections.append(("faults", report_of(given)))
    return report
