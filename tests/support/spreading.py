"""Which tests one worker runs: those of a file, and of some folders all, so that what they share is made once.
`--forks N` asks for it, and with pytest-xdist `--dist loadfile`.

What takes longest begins first: no worker is left with it at the end. What mostly waits lies between the others: all
workers would wait at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # pyright: ignore[reportMissingTypeStubs]

TOGETHER = (
    "tests/architecture/",
    "tests/browser/board/",
    "tests/e2e/cli/",
    "examples/goals/tests/",
    "examples/projects/tests/",
)
"""The folders whose files share a server, a program, an imported file or the parsed sources."""
LONGEST = (
    "tests/browser/",
    "tests/e2e/cli/",
    "tests/aws/",
    "tests/typing/",
    "tests/architecture/",
    "tests/e2e/",
    "examples/",
    "tests/faults/",
)
"""In the order in which they begin, before all others."""
WAITING = (
    "tests/faults/test_every_request.py",
    "tests/faults/test_workers.py",
    "tests/migrations/test_shared_rate.py",
    "tests/queues/",
    "tests/sync/test_poison.py",
    "tests/sync/test_queue.py",
    "tests/tasks/test_clocks.py",
    "tests/tasks/test_leases.py",
    "tests/tasks/test_queued.py",
)
"""What takes ten seconds and more, and little of a processor."""

_ENGINE = re.compile(r"\bon=\w+")


def unit_of(nodeid: str) -> str:
    """What a worker is given as a whole: the folder or the file of a test, on one engine where it runs on several."""
    file = nodeid.partition("::")[0]
    unit = next((folder for folder in TOGETHER if file.startswith(folder)), file)
    engine = _ENGINE.search(nodeid)
    return f"{unit} {engine[0]}" if engine else unit


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput") or config.getoption("forks", 0):
        places = in_order([unit_of(item.nodeid) for item in items])
        items.sort(key=lambda item: places[unit_of(item.nodeid)])


def in_order(units: Iterable[str]) -> Mapping[str, int]:
    """The place of each unit among all. Those that wait are over long before the end."""
    several = sorted(dict.fromkeys(units), key=_rank)
    working = [unit for unit in several if not unit.startswith(WAITING)]
    waiting = [unit for unit in several if unit.startswith(WAITING)]
    every = len(working) // (3 * len(waiting) or 1)
    for number, unit in enumerate(waiting):
        working.insert(number * (every + 1), unit)
    return {unit: place for place, unit in enumerate(working)}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySharing | None:
    return BySharing(config, log) if config.getoption("dist") == "loadfile" else None


def _rank(unit: str) -> int:
    return next((n for n, start in enumerate(LONGEST) if unit.startswith(start)), len(LONGEST))


class BySharing(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist brings no types
    """Units in the order of the tests."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
