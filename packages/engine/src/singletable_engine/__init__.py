"""dynoxide's binary, for `singletable.connect("local")`."""

from __future__ import annotations

from pathlib import Path


def binary() -> Path:
    """The binary's path. It is a file of this package, and may be run."""
    return Path(__file__).parent / "dynoxide"
