"""A lock between threads that a forked child finds free."""

from __future__ import annotations

import os
import threading  # noqa: TID251
from weakref import WeakSet


class ForkSafeLock:
    """`lock` is replaced in a forked child: the thread that held it exists in the parent only."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        _LOCKS.add(self)


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()


def _replace_all() -> None:
    for each in tuple(_LOCKS):
        each.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_all)
