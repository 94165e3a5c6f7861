"""Waiting for another process by asking again and again, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.05


def wait_until(ask: Callable[[], T | None], seconds: float) -> T | None:
    """The first truthy result of `ask`; None after `seconds` without one. `ask` is called at least once."""
    deadline = time.monotonic() + seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        answer = ask()
        if answer:
            return answer
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(pause, left))  # noqa: TID251  (another process sends no signal when it is ready)
        pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
