"""The clock of durations: leases, pauses, deadlines. It is never set, and it goes on while the machine sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial


def _counting_sleep() -> Callable[[], float]:
    """On Linux `time.monotonic` stands still while a machine is suspended, and so it does on macOS; these don't."""
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        clock = getattr(time, name, None)
        if clock is not None:
            return partial(time.clock_gettime, clock)
    return time.monotonic


elapsed: Callable[[], float] = _counting_sleep()
"""Seconds; only differences have a meaning, and only within one process."""
