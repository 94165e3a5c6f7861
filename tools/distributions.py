"""The distributions of this repository: the library, and those beside it that have its version.

The engines, `packages/engine` and `packages/engine_python`, have versions of their own and no code to import.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT, *(ROOT / "packages" / name for name in ("deploy", "local", "mcp")))
SOURCES = tuple(folder / "src" for folder in FOLDERS)
APPLICATIONS = ("goals", "manhunt", "organisations", "projects")
EXAMPLES = tuple(ROOT / "examples" / name for name in (*APPLICATIONS, "shared", "demo"))
"""The applications, what they share, and what is made of all: distributions that are not released."""
EXAMPLE_SOURCES = tuple(folder / "src" for folder in EXAMPLES)
PYTHONPATH = os.pathsep.join(map(str, (*SOURCES, *EXAMPLE_SOURCES, ROOT)))
"""For a process that is to import this checkout: the distributions, the examples, the recipes, the tests."""


def modules() -> list[Path]:
    """The files of all distributions."""
    return sorted(path for source in SOURCES for path in source.rglob("*.py"))


def editable() -> list[str]:
    """pip's arguments for all distributions of this checkout."""
    return [word for folder in FOLDERS for word in ("--editable", str(folder))]
