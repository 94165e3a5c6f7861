"""What an entry of the catalogue is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A fault or a threat, what is promised, and the tests that inject it; or the reason why there is none."""

    id: str
    fault: str
    promise: str
    tests: tuple[str, ...] = ()
    """Each as `path::name`, the path under `tests`."""
    reason: str = ""
    """Why no test injects it, or what the tests leave out."""


@dataclass(frozen=True)
class Section:
    """Entries about one part."""

    letter: str
    title: str
    entries: tuple[Entry, ...]
