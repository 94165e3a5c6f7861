"""The pages of the documentation: their Python, their links."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = (ROOT / "README.md", CONTRIBUTING, *sorted(DOCS.rglob("*.md")))

_RUNS = count(1)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def python_of(page: Path) -> list[str]:
    """The fenced Python blocks, in order."""
    return _PYTHON.findall(page.read_text())


def run(page: Path) -> ModuleType:
    """Run a page's blocks one after the other, as one module, which is what a reader does."""
    # A name for each run: the databases of a module that is replaced would end with a warning, in any later test.
    module = ModuleType(f"page_{next(_RUNS)}_" + re.sub(r"\W", "_", str(page.with_suffix(""))))
    sys.modules[module.__name__] = module
    log = logging.getLogger("singletable")
    level = log.level
    try:
        for number, block in enumerate(python_of(page), 1):
            exec(compile(block, f"{page.name}, block {number}", "exec"), module.__dict__)
    finally:
        log.setLevel(level)  # a page on logs sets it, and other tests read what is logged
    return module


def links_of(page: Path) -> Iterator[Path]:
    """The files that a page links to."""
    for target, _ in _LINK.findall(page.read_text()):
        if "://" not in target:
            yield (page.parent / target).resolve()
