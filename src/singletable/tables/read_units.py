"""The capacity units of a read, from the bytes that it reads, as DynamoDB bills it."""

from __future__ import annotations

from math import ceil
from typing import Final

READ_BYTES: Final = 4096
"""Bytes that one unit pays for, in a consistent read."""


def read_units(size: float, *, consistent: bool = False) -> float:
    """One unit for each 4 KB that a request reads, all its items together; half of it where eventually consistent."""
    units = ceil(size / READ_BYTES)
    return float(units) if consistent else units / 2
