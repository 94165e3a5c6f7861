"""What a process keeps from the children it forks.

A forked child gets a copy of every descriptor. With a copy of the descriptor that keeps an engine alive, or of the
one that holds a data file's lock, the child would keep engine or lock past the end of the process that owns them.
Descriptors made under `guard` and kept here are let go in every forked child before its code runs.
"""

from __future__ import annotations

import os
import threading  # noqa: TID251  (a fork must not fall between making a descriptor and keeping it)
from typing import Protocol


class Private(Protocol):
    """Something of this process alone."""

    def forget(self) -> None:
        """Close the copies of a forked child; what they stand for goes on in the parent."""
        ...


# Reentrant, for a signal handler that forks while this very thread holds the guard.
guard = threading.RLock()
_kept: set[Private] = set()


def keep_private(thing: Private) -> None:
    """Call it under `guard`, together with making the descriptor."""
    _kept.add(thing)


def stop_keeping(thing: Private) -> None:
    """The descriptor is closed here as well: nothing is left to forget."""
    with guard:
        _kept.discard(thing)


def _forget_all() -> None:
    for thing in _kept:
        thing.forget()
    _kept.clear()
    guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=guard.acquire, after_in_parent=guard.release, after_in_child=_forget_all)
