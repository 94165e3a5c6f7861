"""The law of values: one is stored as it is, or refused by name. Nothing is cut off in silence.

A value of a subclass, as `numpy.float64` is one of float, is stored as the value of the declared type that equals it.
Where none does, as of a pandas Timestamp with nanoseconds, it is refused.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from singletable.errors import InvalidValue

T = TypeVar("T")


def named(value: object) -> str:
    """The type of a value as errors show it: `None`, `str`, and `numpy.bool`, which is not Python's."""
    kind = type(value)
    if value is None:
        return "None"
    is_ambiguous = kind.__module__ != "builtins" and hasattr(builtins, kind.__name__)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}" if is_ambiguous else kind.__name__


def wanted(what: str, value: object) -> InvalidValue:
    """The error for a value of another type."""
    hint = "Convert it before it is written, or declare the type that it has."
    return InvalidValue(f"{what} is expected, not {named(value)}", hint=hint)


def plain(kind: type[T], copy: Callable[[Any], T], value: Any) -> T:
    """The value of a type that equals one of a subclass; InvalidValue where none does, or it can't be told."""
    with suppress(ValueError, TypeError, ArithmeticError, AttributeError):
        base = copy(value)
        if base == value or base != base:  # a NaN, whose own error comes
            return base
    raise InvalidValue(
        f"the {named(value)} equals no {kind.__name__}: a part of it would be lost",
        hint=f"Make a {kind.__name__} of it, which says what is left off.",
    )
