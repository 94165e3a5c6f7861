"""Ranges of a sort key's values, given instead of a value: T -> T keeps the call of a pattern typed."""

from __future__ import annotations

from typing import TypeVar, cast

from singletable.schema.key_bounds import Range

T = TypeVar("T")


def before(value: T) -> T:
    """Less than the value."""
    return cast(T, Range("before", high=value))


def after(value: T) -> T:
    """Greater than the value."""
    return cast(T, Range("after", low=value))


def at_least(value: T) -> T:
    """The value or greater."""
    return cast(T, Range("at_least", low=value))


def at_most(value: T) -> T:
    """The value or less."""
    return cast(T, Range("at_most", high=value))


def between(low: T, high: T) -> T:
    """Both ends included."""
    return cast(T, Range("between", low, high))


def starting_with(prefix: str) -> str:
    """Texts that begin with the prefix, itself included."""
    return cast(str, Range("starting_with", low=prefix))
