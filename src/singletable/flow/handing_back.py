"""A handler that may take long asks whether its worker is to stop, and hands its change back to the next worker.

It raises HandedBack by `check_going_on`. The change is then neither done nor failed: no try is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_goes_on: ContextVar[Callable[[], bool] | None] = ContextVar("whether the worker of this handler goes on", default=None)


class HandedBack(Exception):
    """The worker is to stop, and the change is left to the next one."""


@contextmanager
def handling_while(goes_on: Callable[[], bool]) -> Generator[None]:
    """Handlers that are called in the block ask this function."""
    before = _goes_on.set(goes_on)
    try:
        yield
    finally:
        _goes_on.reset(before)


def check_going_on() -> None:
    """Raise HandedBack if the worker that called this handler is to stop; nothing outside of one."""
    goes_on = _goes_on.get()
    if goes_on is not None and not goes_on():
        raise HandedBack
