"""The test files of a run: every layer's tests that take their engine from `--engine`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITES = (
    "tests/engine",
    "tests/rules",
    "tests/graph",
    "tests/documents",
    "tests/streams",
    "tests/queues",
    "tests/tasks",
    "tests/sync",
)


def files_of_suites(only: Sequence[str], root: Path = ROOT) -> list[str]:
    """Those below the paths, or all of them."""
    files = sorted(str(path.relative_to(root)) for suite in SUITES for path in (root / suite).rglob("test_*.py"))
    wanted = [path.rstrip("/") for path in only]
    return [file for file in files if not wanted or any(file == path or file.startswith(f"{path}/") for path in wanted)]
