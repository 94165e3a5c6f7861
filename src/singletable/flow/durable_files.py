"""Files that outlive a power failure: a directory's names are synced, as the contents of its files are."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_KNOWN_DIRECTORIES = 10_000


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class DurableDirectories:
    """Directories below a root. Each is synced into its parent, once per process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._durable: set[Path] = set()

    def make(self, directory: Path) -> None:
        """Create a directory with its parents. One that is there is synced too: who made it may not have done so."""
        if directory.is_dir() and (directory in self._durable or self._root not in directory.parents):
            return
        self.make(directory.parent)
        with suppress(FileExistsError):
            directory.mkdir()
        sync_directory(directory.parent)
        if len(self._durable) >= _KNOWN_DIRECTORIES:
            self._durable.clear()
        self._durable.add(directory)
