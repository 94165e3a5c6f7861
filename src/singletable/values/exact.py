"""The law of values: one is stored as it is, or refused by name. Nothing is cut off in silence.

A value of a subclass, as `numpy.float64` is one of float, is stored as the value of the declared type that equals it.
Where none does, as of a pandas Timestamp with nanoseconds, it is refused.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

import msgspec

from singletable.errors import InvalidValue

T = TypeVar("T")
_MISSING = object()


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


def is_kept(given: Any, read: Any) -> bool:
    """Whether what is read says all of what was given. Where an object is wanted, a dict of its attributes does, also
    as JSON has them."""
    with suppress(ValueError, TypeError, ArithmeticError):
        return _is_kept(given, read)
    return False


def _is_kept(given: Any, read: Any) -> bool:
    if type(given) is type(read) and given == read:
        return True
    if isinstance(given, Mapping):
        return _is_mapping_kept(given, read)  # pyright: ignore[reportUnknownArgumentType]
    names = _attributes_of(read)
    if names is not None:
        return type(given) is type(read) and all(_is_kept(getattr(given, n), getattr(read, n)) for n in names)
    if isinstance(given, (list, tuple, set, frozenset)):
        return isinstance(given, type(read)) and _are_kept(cast("Collection[Any]", given), read)
    if isinstance(given, datetime) and isinstance(read, datetime) and given.tzinfo is not None:
        same = same_datetime(given)
        return same == given and _instant(same) == _instant(read)
    return bool(given == read) or bool(given != given and read != read)


def _is_mapping_kept(given: Mapping[Any, Any], read: Any) -> bool:
    if isinstance(read, dict):
        return given.keys() == read.keys() and all(_is_kept(value, read[name]) for name, value in given.items())
    in_json = msgspec.json.decode(msgspec.json.encode(read))
    return all(
        _is_kept(value, getattr(read, name, _MISSING)) or _is_alike(value, in_json.get(name, _MISSING))
        for name, value in given.items()
    )


def _is_alike(given: Any, in_json: Any) -> bool:
    """Whether a value of JSON is the JSON of what is read. A text may say UTC as Python does."""
    if type(given) is not type(in_json):
        return False
    if type(given) is list:
        return len(given) == len(in_json) and all(map(_is_alike, given, in_json))  # pyright: ignore[reportUnknownArgumentType]
    return given == in_json or (isinstance(given, str) and given == in_json.removesuffix("Z") + "+00:00")


def _are_kept(given: Collection[Any], read: Collection[Any]) -> bool:
    if isinstance(given, (set, frozenset)):
        return len(given) == len(read) and all(any(_is_kept(one, other) for other in read) for one in given)
    return len(given) == len(read) and all(map(_is_kept, given, read))


def _attributes_of(value: Any) -> Sequence[str] | None:
    if is_dataclass(value):
        return [field.name for field in fields(value)]
    return value.__struct_fields__ if isinstance(value, msgspec.Struct) else None


def same_datetime(value: datetime) -> datetime:
    """The value of a subclass, or what of it a datetime can say."""
    day, clock = (value.year, value.month, value.day), (value.hour, value.minute, value.second, value.microsecond)
    return datetime(*day, *clock, value.tzinfo, fold=value.fold)


def _instant(value: datetime) -> timedelta:
    """A point in time, which can be compared also in an hour that is there twice, and in the first and last year."""
    return value.replace(tzinfo=None) - datetime.min - (value.utcoffset() or timedelta())
