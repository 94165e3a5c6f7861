"""Files that outlive a power failure: a directory's names are synced, as the contents of its files are."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from singletable.fork_safe_lock import ForkSafeLock

_KNOWN_DIRECTORIES = 10_000


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable. Windows opens no directory: there it does nothing."""
    if sys.platform == "win32":
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(eq=False)
class _SyncTurn:
    """The syncs of one directory that threads wait for."""

    turn: ForkSafeLock = field(default_factory=ForkSafeLock)
    """Held by the thread that syncs."""
    calls: int = 0
    done: int = 0
    """The calls that a sync has covered: those that had come before it began."""
    faults: list[tuple[range, OSError]] = field(default_factory=list[tuple[range, OSError]])
    """The calls that a failed sync covered."""
    users: int = 0


def _sync_all(waiting: _SyncTurn, directory: Path) -> None:
    """Sync for all calls that have come so far."""
    calls = range(waiting.done + 1, waiting.calls + 1)
    try:
        sync_directory(directory)
    except OSError as fault:
        waiting.faults.append((calls, fault))
    waiting.done = calls[-1]


class DurableDirectories:
    """Directories below a root. Each is synced into its parent, once per process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._durable: set[Path] = set()
        self._guard = ForkSafeLock()
        self._turns: dict[Path, _SyncTurn] = {}

    def sync(self, directory: Path) -> None:
        """Make the names that are in a directory durable. Threads that wait for a sync share the next one.

        They share its failure too: Linux reports a failed write once, so that a second sync succeeds without it.
        """
        with self._guard.lock:
            waiting = self._turns.setdefault(directory, _SyncTurn())
            waiting.users += 1
            waiting.calls += 1
            own = waiting.calls
        try:
            with waiting.turn.lock:
                if waiting.done < own:
                    _sync_all(waiting, directory)
                for calls, fault in waiting.faults:
                    if own in calls:
                        raise OSError(fault.errno, fault.strerror or str(fault), str(directory)) from fault
        finally:
            with self._guard.lock:
                waiting.users -= 1
                if not waiting.users:
                    del self._turns[directory]

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
