"""Checks of values before a write: each returns the wire form or raises InvalidValue, without the value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set as AbstractSet
from datetime import datetime, timedelta, timezone
from enum import Enum
from os import PathLike
from typing import Any, TypeVar, cast

from msgspec import to_builtins

from singletable.errors import InvalidRequest, InvalidValue, SingletableError
from singletable.values.exact import named, plain, same_datetime, wanted

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_CANONICAL_INSTANT = 27
"""The length of 2026-11-20T09:30:00.000000Z."""


def name_owner(error: InvalidValue, owner: type[Any]) -> None:
    """Say whose attribute it is that the error names: `User.born` instead of `born`."""
    if error.attribute and "." not in error.attribute:
        error.attribute = f"{owner.__name__}.{error.attribute}"


def text(value: object) -> str:
    if not isinstance(value, str):
        raise wanted("a str", value)
    return value if value.__class__ is str else plain(str, str.__str__, value)


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise wanted("a bool", value)
    return value


def binary(value: object) -> bytes:
    if type(value) is bytes:
        return value
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise wanted("bytes", value)
    return plain(bytes, lambda some: bytes(memoryview(some)), cast("object", value))


def instant_text(value: object) -> str:
    """UTC with six decimals and Z: the text sorts as the time does."""
    is_utc = type(value) is datetime and value.tzinfo is timezone.utc
    text: str = to_builtins(value if is_utc else in_utc(value))  # a tenth of isoformat's time
    return text if len(text) == _CANONICAL_INSTANT else f"{text[:-1]}.000000Z"


def in_utc(value: object) -> datetime:
    """A point in time; InvalidValue for what is none."""
    if not isinstance(value, datetime):
        raise wanted("a datetime", value)
    moment = value if value.__class__ is datetime else plain(datetime, same_datetime, value)
    if moment.tzinfo is None:
        raise _without_zone()
    return moment if moment.tzinfo is timezone.utc else _in_utc(moment)


def _in_utc(moment: datetime) -> datetime:
    """The same point in time. An hour that is there twice says by its `fold` which; one that is left out is refused."""
    try:
        utc = moment.astimezone(timezone.utc)
    except OverflowError:
        raise InvalidValue(
            "a datetime outside the years 1 to 9999 of UTC", hint="Keep it as a str, or None for no limit."
        ) from None
    if moment != utc:  # Python says so in both hours
        if moment.utcoffset() is None:
            raise _without_zone()
        if utc.astimezone(moment.tzinfo).replace(tzinfo=None) != moment.replace(tzinfo=None):
            raise InvalidValue(
                "a datetime in the hour that its zone leaves out, when clocks go forward, is not a point in time",
                hint="Add to times in UTC: value.astimezone(timezone.utc) + timedelta(...).",
            )
    return utc


def _without_zone() -> InvalidValue:
    return InvalidValue("a datetime without a time zone is not a point in time", hint="Use datetime.now(timezone.utc).")


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
    return str((in_utc(value) - _EPOCH) // timedelta(seconds=1))  # exact, as the float of a timestamp is not


def read_expiry(stored: object) -> datetime:
    """From the wire's int, or on the slow path from its text."""
    return datetime.fromtimestamp(int(cast("int", stored)), timezone.utc)


def text_of(
    kind: type[T],
    what: str,
    write: Callable[[T], str],
    read: Callable[[str], T],
    but_not: type[Any] | tuple[()] = (),
) -> Callable[[object], str]:
    """The check of a type whose values have a text: `write` makes it, `read` is the way back. `but_not` is a subclass
    that is another type."""

    def check(value: object) -> str:
        if value.__class__ is kind:
            return write(value)  # pyright: ignore[reportArgumentType] it is of the class
        if not isinstance(value, kind) or isinstance(value, but_not):
            raise wanted(what, value)
        return write(plain(kind, lambda some: read(write(some)), value))

    return check


def member(kind: type[Enum], texts: Mapping[Enum, str]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, kind):
            raise wanted(f"a {kind.__name__}", value)
        return texts[value]

    return check


def literal_value(allowed: Collection[Any], then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value not in allowed:
            raise InvalidValue("one of the values of the Literal is wanted", hint="Give one of them, or add it there.")
        return then(value)

    return check


def sequence(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise wanted("a list", value)
    return value  # pyright: ignore[reportUnknownVariableType]


def tuple_value(value: object) -> Sequence[Any]:
    if not isinstance(value, tuple):
        raise wanted("a tuple", value)
    return value  # pyright: ignore[reportUnknownVariableType]


def mapping(value: Any) -> Mapping[Any, Any]:
    found: Mapping[Any, Any] = value
    if not isinstance(value, Mapping):
        raise wanted("a dict", value)
    return found


def set_value(value: Any) -> AbstractSet[Any]:
    found: AbstractSet[Any] = value
    if value.__class__ is not set and not isinstance(value, AbstractSet):
        raise wanted("a set", value)
    if not found:  # an attribute that is an empty set is absent, and never comes here
        raise InvalidValue("DynamoDB has no empty set inside another value", hint="Leave it out, or use a list.")
    return found


def refusal_of_others(kind: type[Any]) -> Callable[[Any], Any]:
    """The check that raises InvalidValue for a value of another class. A subclass has attributes that would be lost."""

    def refuse(value: Any) -> Any:
        if isinstance(value, kind):
            raise InvalidValue(
                f"a {kind.__name__} is expected, not its subclass {named(value)}, which would be read as another class",
                hint=f"Make a {kind.__name__} of it.",
            )
        raise wanted(f"a {kind.__name__}", value)

    return refuse


def check_texts(*, raises: type[SingletableError] = InvalidRequest, **given: Any) -> None:
    """An error for one text where several are taken: each of its letters would be one."""
    for name, value in given.items():
        if isinstance(value, (str, bytes, PathLike)):
            raise raises(f"{name}= takes several texts, not one", hint=f"Write {name}=[...], also for a single one.")
