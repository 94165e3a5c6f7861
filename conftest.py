"""Hypothesis: the same examples in every run, no deadline (this machine is shared), and more of them on request.

Signals as in a terminal, files in memory, wherever the tests run, and a collector that leaves the tests themselves
alone. And every request that a test sends is held to the service's models.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from examples_shared.testing.nursery import NURSERY
from tests.conformance.recorder import valid_requests as valid_requests
from tests.support import engine_option, forking, output_scan, spreading

settings.register_profile(
    "default", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("more", settings.get_profile("default"), derandomize=False, max_examples=2000)
settings.register_profile("quick", settings.get_profile("default"), max_examples=25)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


_THRESHOLDS = (700, 10, 100)
"""The collector's. Its whole collections, the usual ones ten times as often, take a fifteenth of the tests' time."""
_SOAK_SECONDS = 300
_IN_MEMORY = Path("/dev/shm")
_MIN_FREE_BYTES = 4 << 30
_STATES = [TemporaryDirectory(prefix="singletable-state-")]
"""The last: where exports and copies with masks keep their keys. Those before it are the parent's, in a worker."""
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]
"""It is not installed, and httpx looks for it in all folders at each request."""
_TEMPORARY = "PYTEST_DEBUG_TEMPROOT"
"""Where pytest makes the folders of `tmp_path`."""


def pytest_configure() -> None:
    """Data files lie in memory where there is room: on a disk, each commit of an engine waits for it."""
    os.environ["XDG_STATE_HOME"] = _STATES[-1].name
    if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free >= _MIN_FREE_BYTES:
        os.environ.setdefault(_TEMPORARY, str(_IN_MEMORY))


def pytest_worker_begins() -> None:
    """A worker's keys are its own."""
    _STATES.append(TemporaryDirectory(prefix="singletable-state-"))
    os.environ["XDG_STATE_HOME"] = _STATES[-1].name


def pytest_unconfigure() -> None:
    _STATES[-1].cleanup()
    NURSERY.close()


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """The option `--engine`, its fixture and its marker; and what a worker is given."""
    pluginmanager.register(engine_option, "engine_option")
    pluginmanager.register(spreading, "spreading")
    pluginmanager.register(forking, "forking")
    pluginmanager.register(output_scan, "output_scan")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Any:
    """Thousands of tests and their modules stay to the end: to go through them again and again takes a tenth of all."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for a fixture that does not exist is an error in every run, also in one that leaves it out. A
    long run may take minutes beside others."""
    for item in items:
        if item.get_closest_marker("soak") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SOAK_SECONDS))
        if isinstance(item, pytest.Function):
            missing = {*item.fixturenames} - {*item._fixtureinfo.name2fixturedefs} - {"request"}
            if missing:
                raise pytest.UsageError(f"{item.nodeid} asks for fixtures that do not exist: {sorted(missing)}")


@pytest.fixture(scope="session", autouse=True)
def children_hear_sigint() -> Iterator[None]:
    """A shell has what it runs in the background ignore SIGINT, and so would the programs that tests start and end."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Tests raise errors whose text holds lone surrogates: what was captured of them has to pass between processes."""
    report: pytest.TestReport = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
