"""Whether two values are the same: equal, and of the same types all the way down. `==` takes True for 1."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any, cast


def is_alike(one: Any, other: Any, *, numbers: bool = False) -> bool:
    """With `numbers`, an int and a Decimal are the same where they are equal, as in `Any`."""
    if numbers and {type(one), type(other)} <= {int, Decimal}:
        return bool(one == other) or str(one) == str(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        held: dict[Any, Any] = one
        return held.keys() == other.keys() and all(is_alike(held[n], other[n], numbers=numbers) for n in held)
    if isinstance(one, (list, tuple)):
        pairs = zip(cast("list[Any]", one), cast("list[Any]", other), strict=False)
        return len(cast("list[Any]", one)) == len(other) and all(is_alike(*pair, numbers=numbers) for pair in pairs)
    if is_dataclass(one) and not isinstance(one, type):
        return all(is_alike(getattr(one, f.name), getattr(other, f.name), numbers=numbers) for f in fields(one))
    if isinstance(one, Decimal) and not one.is_finite():
        return str(one) == str(other)
    if isinstance(one, (set, frozenset)):
        ours, theirs = (sorted(map(repr, cast("set[Any]", held))) for held in (one, other))
        return bool(one == other) or ours == theirs
    return bool(one == other) or bool(one != one and other != other)
