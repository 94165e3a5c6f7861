"""Descriptors that a forked child must not inherit.

A forked child gets a copy of every descriptor. A copy of the descriptor that keeps an engine alive, or of the one that
holds a data file's lock, would keep the engine or the lock after the owning process has ended. So every forked child
closes its copies of what is created under `guard` and registered here, before its code runs.
"""

from __future__ import annotations

import os
import threading  # noqa: TID251  (a fork must not fall between creating a descriptor and registering it)
from typing import Protocol


class ProcessOwned(Protocol):
    """Something that belongs to this process alone."""

    def close_in_child(self) -> None:
        """Close a forked child's copies; the parent's descriptors stay open."""
        ...


# Reentrant, for a signal handler that forks while its thread holds the guard.
guard = threading.RLock()
_registered: set[ProcessOwned] = set()


def register(thing: ProcessOwned) -> None:
    """Call it under `guard`, together with creating the descriptor."""
    _registered.add(thing)


def unregister(thing: ProcessOwned) -> None:
    """The descriptor is closed in this process: a child has nothing to close."""
    with guard:
        _registered.discard(thing)


def _close_all_in_child() -> None:
    for thing in _registered:
        thing.close_in_child()
    _registered.clear()
    guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=guard.acquire, after_in_parent=guard.release, after_in_child=_close_all_in_child)
