"""What each form of a range means, in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.property.keys import rank

HOWS = ("before", "after", "at_least", "at_most", "between")


def wanted(how: str, value: Any, low: Any, high: Any) -> bool:
    v, l, h = rank(value), rank(low), rank(high)  # noqa: E741
    choices: dict[str, Callable[[], bool]] = {
        "before": lambda: v < h,
        "after": lambda: v > l,
        "at_least": lambda: v >= l,
        "at_most": lambda: v <= h,
        "between": lambda: l <= v <= h,
    }
    return choices[how]()
