"""Which tests pytest-xdist gives to one worker: those of a file, and of some folders all, so that what they share is
made once. `--dist loadfile` asks for it.

What takes longest begins first: no worker is left with it at the end.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TOGETHER = (
    "tests/browser/board/",
    "tests/e2e/cli/",
    "tests/e2e/goals/",
    "tests/e2e/projects/",
)
"""The folders whose files share a server, a program or an imported file."""
LONGEST = ("tests/browser/", "tests/e2e/cli/", "tests/aws/", "tests/typing/", "tests/e2e/", "tests/faults/")
"""In the order in which they begin, before all others."""

_ENGINE = re.compile(r"\bon=\w+")


def unit_of(nodeid: str) -> str:
    """What a worker is given as a whole: the folder or the file of a test, on one engine where it runs on several."""
    file = nodeid.partition("::")[0]
    unit = next((folder for folder in TOGETHER if file.startswith(folder)), file)
    engine = _ENGINE.search(nodeid)
    return f"{unit} {engine[0]}" if engine else unit


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A worker begins with what takes longest."""
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySharing | None:
    return BySharing(config, log) if config.getoption("dist") == "loadfile" else None


def _rank(item: pytest.Item) -> int:
    return next((n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))


class BySharing(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist brings no types
    """Units in the order of the tests."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
