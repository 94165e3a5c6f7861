"""Import each module of folders and write what does not come from this checkout: `python -m ... src tools`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from tests.architecture.sources import ROOT

_NOT_IMPORTED = {
    "__main__.py": "it runs a program",
    "recipes": "some connect when they are imported; tests/e2e/recipes runs each",
}
"""Files and folders, with the reason."""


def modules(folder: str) -> dict[str, Path]:
    """Name to file of each module."""
    root = ROOT / folder if folder.endswith("src") else ROOT
    found: dict[str, Path] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if not _NOT_IMPORTED.keys() & set(path.parts):
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        for name, path in modules(folder).items():
            file = importlib.import_module(name).__file__
            if file != str(path):
                sys.stdout.write(f"{name} is {file}\n")
