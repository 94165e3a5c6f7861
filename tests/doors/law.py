"""What the law says of a value and of what was read of it."""

from __future__ import annotations

import copyreg
import types
from contextlib import suppress
from dataclasses import is_dataclass
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from tests.support.alike import is_alike

_OF_ANY = (bool, str, int, Decimal, float, bytes, list, dict, set)


def is_same(read: Any, value: Any, declared: Any) -> bool:
    """Whether what was read is what was given, and of the declared type. Times are compared in UTC: Python finds one in
    an hour that is there twice unequal to every other."""
    return is_alike(read, _in_utc(as_declared(value, declared)), numbers=True) or _in_utc(read) == value


def as_declared(value: Any, declared: Any) -> Any:
    """A value whose parts are of the declared types, where they were of subclasses."""
    origin, inside = get_origin(declared), get_args(declared)
    if value is None or origin is Literal:
        return value
    if origin is Annotated:
        return as_declared(value, inside[0])
    if origin in (Union, types.UnionType):
        others = [one for one in inside if one is not types.NoneType]
        return as_declared(value, others[0] if len(others) == 1 else type(value))
    if declared is Any:
        return _as_any(value)
    if origin is dict:
        return {as_declared(name, str): as_declared(one, inside[1]) for name, one in value.items()}
    if origin is not None:
        return origin(as_declared(one, inside[0]) for one in value)
    if is_dataclass(declared):
        kinds = get_type_hints(declared)
        return cast("Any", declared)(**{name: as_declared(getattr(value, name), kind) for name, kind in kinds.items()})
    return _in_utc(_base(value, declared))


def _as_any(value: Any) -> Any:
    kind = next((one for one in _OF_ANY if isinstance(value, one)), type(value))
    if kind is dict:
        return {_as_any(name): _as_any(one) for name, one in value.items()}
    return kind(map(_as_any, value)) if kind in (list, set) else _base(value, kind)


def _base(value: Any, kind: Any) -> Any:
    """A value of a subclass as one of the type itself: its parts, in an object of the type."""
    if type(value) is kind or not isinstance(value, kind) or issubclass(kind, Enum):
        return value
    make, arguments, *state = cast("tuple[Any, ...]", value.__reduce_ex__(2))
    if make is not copyreg.__newobj__:  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        return kind(*arguments)
    again = kind.__new__(kind, *arguments[1:])
    if state and state[0]:
        again.__setstate__(state[0])
    return again


def _in_utc(value: Any) -> Any:
    with suppress(OverflowError):  # in the first and the last year
        return value.astimezone(timezone.utc) if isinstance(value, datetime) and value.tzinfo is not None else value
    return value
