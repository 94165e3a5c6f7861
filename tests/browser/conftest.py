"""One Chromium for the tests of a module, as Debian installs it: apt-get install chromium-headless-shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = (Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium"))
"""The first has no window to draw, and takes half of the time."""
CHROMIUM = next((path for path in BROWSERS if path.exists()), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Chromium the tests are skipped."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason=f"{BROWSERS[0]} is not there"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window; a test opens pages or profiles of its own in it.

    It ends with the module: while it is open, its event loop runs in this thread, and no other test's can.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield launched
        launched.close()
