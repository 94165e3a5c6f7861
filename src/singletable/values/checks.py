"""Checks of values before a write: each returns the wire form or raises InvalidValue, without the value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set as AbstractSet
from datetime import datetime, timezone
from enum import Enum
from math import floor
from typing import Any, cast

from singletable.errors import InvalidValue

_CANONICAL_INSTANT = 27
"""The length of 2026-11-20T09:30:00.000000Z."""


def _wanted(kind: str, value: object) -> InvalidValue:
    return InvalidValue(f"{kind} is expected, not {'None' if value is None else type(value).__name__}")


def name_owner(error: InvalidValue, owner: type[Any]) -> None:
    """Say whose attribute it is that the error names: `User.born` instead of `born`."""
    if error.attribute and "." not in error.attribute:
        error.attribute = f"{owner.__name__}.{error.attribute}"


def text(value: object) -> str:
    if not isinstance(value, str):
        raise _wanted("a str", value)
    return str.__str__(value)


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _wanted("a bool", value)
    return value


def binary(value: object) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _wanted("bytes", value)
    return bytes(cast("bytes", value))


def instant_text(value: object) -> str:
    """UTC with six decimals and Z: the text sorts as the time does."""
    if not isinstance(value, datetime):
        raise _wanted("a datetime", value)
    if value.tzinfo is None:
        raise InvalidValue(
            "a datetime without a time zone is not a point in time", hint="Use datetime.now(timezone.utc)."
        )
    try:
        utc = value if value.tzinfo is timezone.utc else value.astimezone(timezone.utc)
    except OverflowError:
        raise InvalidValue("a datetime outside the years 1 to 9999 of UTC") from None
    return utc.isoformat("T", "microseconds")[:26] + "Z"


def read_instant(stored: str) -> datetime:
    """The point in time of an ISO 8601 text; ValueError without a zone or with digits below a microsecond."""
    value = datetime.fromisoformat(stored)
    if len(stored) == _CANONICAL_INSTANT and stored[-1] == "Z":
        return value
    if value.tzinfo is None:
        raise ValueError("the stored time has no zone")
    fraction = stored.partition(".")[2].rstrip("Z").partition("+")[0].partition("-")[0]
    if fraction[6:].strip("0"):
        raise ValueError("the stored time has more than six decimals of a second")
    return value


def expiry_text(value: object) -> str:
    """Whole seconds since 1970, as TTL takes it: parts of a second are left off, so that it never ends late."""
    instant_text(value)
    return str(floor(cast("datetime", value).timestamp()))


def read_expiry(stored: object) -> datetime:
    """From the wire's int, or on the slow path from its text."""
    return datetime.fromtimestamp(int(cast("int", stored)), timezone.utc)


def text_of(
    kind: type[Any], wanted: str, write: Callable[[Any], str], but_not: type[Any] | tuple[()] = ()
) -> Callable[[object], str]:
    """The check of a type whose values have a text: `write` makes it. `but_not` is a subclass that is another type."""

    def check(value: object) -> str:
        if not isinstance(value, kind) or isinstance(value, but_not):
            raise _wanted(wanted, value)
        return write(value)

    return check


def member(kind: type[Enum], texts: Mapping[Enum, str]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, kind):
            raise _wanted(f"a {kind.__name__}", value)
        return texts[value]

    return check


def literal_value(allowed: Collection[Any], then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value not in allowed:
            raise InvalidValue("one of the values of the Literal is wanted")
        return then(value)

    return check


def sequence(value: object) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise _wanted("a list", value)
    return cast("Sequence[Any]", value)


def mapping(value: Any) -> Mapping[Any, Any]:
    found: Mapping[Any, Any] = value
    if not isinstance(value, Mapping):
        raise _wanted("a dict", value)
    return found


def set_value(value: Any) -> AbstractSet[Any]:
    found: AbstractSet[Any] = value
    if not isinstance(value, AbstractSet):
        raise _wanted("a set", value)
    if not found:  # an attribute that is an empty set is absent, and never comes here
        raise InvalidValue("DynamoDB has no empty set inside another value", hint="Leave it out, or use a list.")
    return found


def instance_of(kind: type[Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise _wanted(f"a {kind.__name__}", value)
        return value

    return check
