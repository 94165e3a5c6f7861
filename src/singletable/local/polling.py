"""Waiting for another process: ask, pause, ask again, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.05


def wait_until(ask: Callable[[], T | None], seconds: float) -> T | None:
    """The first truthy answer of `ask`, or None when there was none for `seconds`; it is asked at least once."""
    deadline = time.monotonic() + seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        answer = ask()
        if answer:
            return answer
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(pause, left))  # noqa: TID251  (nothing tells when another process is ready)
        pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
