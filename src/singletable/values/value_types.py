"""Value types: all that the library knows of a type, in one place.

A type is added here alone: a `ValueType` in `VALUE_TYPES`, with what reads and writes it. A property test needs values
of it (`VALUES` in tests/property/keys.py); nothing else names types. What lies above asks for the facts, or maps the
type's `kind`; `FORMATTED` is the kind of a type with a text of fixed shape, and takes part in everything: columns,
masks, the tools of MCP, forms.

    plan      how an attribute is stored: its kind, wire form, check, reader, shape
    key       how a key holds it; None where a key can't
    read      from what a person types; `shown` is the way back
    wanted    what such a text looks like, in an error
    sample    a value, for documentation and for the test that takes every type through every user of types
    format    the name of its text in JSON Schema
    code      what makes it in Python, from its text
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag
from operator import attrgetter
from typing import Any
from uuid import UUID

from msgspec import Struct

from singletable.errors import DeclarationError, InvalidValue
from singletable.values.checks import (
    binary,
    expiry_text,
    flag,
    instant_text,
    read_expiry,
    read_instant,
    text,
    text_of,
)
from singletable.values.key_enums import EnumText, enum_text
from singletable.values.key_numbers import read_decimal, write_decimal
from singletable.values.key_types import DecimalNumber, EscapedText, FixedText, KeyType, WholeNumber
from singletable.values.kinds import Kind
from singletable.values.numbers import (
    decimal_text,
    duration_text,
    float_text,
    integer_text,
    read_duration,
    read_integer,
)
from singletable.values.plans import Scalar, enum_plan
from singletable.values.verbatim import Verbatim, VerbatimText

TEXT = Scalar(Kind.TEXT, "S", str, str, text, "{v}.__class__ is str")
FLAG = Scalar(Kind.FLAG, "BOOL", bool, bool, flag, "{v} is True or {v} is False")
BINARY = Scalar(Kind.BYTES, "B", bytes, b64decode, binary, "{v}.__class__ is bytes")
INTEGER = Scalar(
    Kind.INTEGER,
    "N",
    int,
    read_integer,
    integer_text,
    "{v}.__class__ is int and -{limit} < {v} < {limit}",
    fast_write="str({v})",
)
DECIMAL = Scalar(Kind.DECIMAL, "N", Decimal, Decimal, decimal_text, "")
FLOAT = Scalar(
    Kind.FLOAT,
    "N",
    str,
    float,
    float_text,
    "{v}.__class__ is float and 1e-100 < abs({v}) < 1e100",
    fast_write="repr({v})",
    reader=float,
)
"""A number with more digits, which another program stored, is read as the nearest float."""
INSTANT = Scalar(
    Kind.INSTANT,
    "S",
    str,
    read_instant,
    instant_text,
    "",
    reader=read_instant,
    shape="dddd-dd-ddTdd:dd:dd.ddddddZ",
)
EXPIRY = Scalar(Kind.INSTANT, "N", int, read_expiry, expiry_text, "", reader=read_expiry)
"""A time to the second, as DynamoDB's TTL takes it: seconds since 1970."""
DURATION = Scalar(
    Kind.DECIMAL, "N", str, read_duration, duration_text, "", reader=read_duration, stored=DECIMAL, name="timedelta"
)


def _duration_key(value: timedelta) -> str:
    return write_decimal(Decimal(duration_text(value)))


def _read_duration_key(text: str) -> timedelta:
    return read_duration(str(read_decimal(text)))


class ValueType(Struct, frozen=True, eq=False):
    """One type that attributes, keys and arguments may have."""

    type: type[Any]
    plan: Scalar
    key: KeyType | None
    wanted: str
    read: Callable[[str], Any]
    sample: Any = None
    shown: Callable[[Any], str] = str
    format: str = ""
    code: str = ""
    spelled: Callable[[Any], str] = repr
    """A value as Python code, where `code` makes none of its text."""
    choices: tuple[str, ...] = ()
    """The texts that `read` is meant for, where there are few."""

    @property
    def kind(self) -> Kind:
        """The physical form of its values."""
        return self.plan.kind

    @property
    def hint(self) -> str:
        """The text of an empty field: an example, if a sample is known."""
        return self.wanted if self.sample is None else self.wanted.rpartition(", as in ")[2]

    def typed(self, text: str) -> Any:
        """The value that a person typed. InvalidValue says what is wanted, and holds no value."""
        try:
            return self.read(text)
        except InvalidValue:
            raise
        except (ValueError, LookupError, ArithmeticError):
            raise InvalidValue(f"it is {self.wanted}") from None

    def python(self, value: Any) -> str:
        """A value as Python code, with the class by its name."""
        return f"{self.code}({self.shown(value)!r})" if self.code else self.spelled(value)


def _in_shape(
    kind: type[Any], plan: Scalar, wanted: str, read: Callable[[str], Any], sample: Any, format: str, **facts: Any
) -> ValueType:
    """A type whose stored text has a shape and sorts as its values do: keys hold the same text."""
    key = FixedText(kind, plan.shape, plan.check, plan.parse)
    return ValueType(kind, plan, key, wanted, read, sample, format=format, **facts)


def _flag_text(value: bool) -> str:
    return "true" if value else "false"


def _read_base64(text: str) -> bytes:
    return b64decode(text, validate=True)


def _instant_shown(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _read_typed_instant(text: str) -> datetime:
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        raise InvalidValue(
            "it is an instant, as in 2026-01-31T09:30:00Z, with Z or an offset", hint="Add Z for a time in UTC."
        )
    return value


_DAY = Scalar(
    Kind.DAY,
    "S",
    date,
    date.fromisoformat,
    text_of(date, "a date", date.isoformat, date.fromisoformat, but_not=datetime),
    "",
    shape="dddd-dd-dd",
)
_UUID = Scalar(
    Kind.UUID, "S", UUID, UUID, text_of(UUID, "a UUID", str, UUID), "", shape="xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
)

_TIME_OF_DAY = "(?!24)[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?"  # 24:00 is of the next day


def _time_text(value: time) -> str:
    if value.tzinfo is not None:
        raise InvalidValue("a time with a zone is not a time of day", hint="Store a datetime, or the time without it.")
    return value.isoformat("microseconds")


def _read_time(text: str) -> time:
    if not re.fullmatch(_TIME_OF_DAY, text):
        raise ValueError("the stored text is not a time of day")
    return time.fromisoformat(text)


_TIME = Scalar(
    Kind.FORMATTED,
    "S",
    str,
    _read_time,
    text_of(time, "a time", _time_text, _read_time),
    "",
    reader=_read_time,
    shape="dd:dd:dd.dddddd",
)

_FLAGS = {"true": True, "false": False}

_ALL = (
    ValueType(str, TEXT, EscapedText(str), "", str, "Ada"),
    ValueType(bool, FLAG, None, "true or false", _FLAGS.__getitem__, True, _flag_text, choices=tuple(_FLAGS)),
    ValueType(int, INTEGER, WholeNumber(int), "a whole number", int, 42),
    ValueType(
        Decimal, DECIMAL, DecimalNumber(Decimal), "a number, as in 12.5", Decimal, Decimal("12.5"), code="Decimal"
    ),
    ValueType(float, FLOAT, None, "a number", float, 0.5),
    ValueType(
        bytes, BINARY, None, "bytes as base64", _read_base64, b"Ada", shown=lambda value: b64encode(value).decode()
    ),
    _in_shape(
        datetime,
        INSTANT,
        "an instant, as in 2026-01-31T09:30:00Z",
        _read_typed_instant,
        datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc),
        "date-time",
        shown=_instant_shown,
        code="datetime.fromisoformat",
    ),
    _in_shape(
        date,
        _DAY,
        "a date, as in 2026-01-31",
        date.fromisoformat,
        date(2026, 1, 31),
        "date",
        code="date.fromisoformat",
    ),
    _in_shape(time, _TIME, "a time, as in 09:30:00", _read_time, time(9, 30), "time", code="time.fromisoformat"),
    _in_shape(
        UUID,
        _UUID,
        "a UUID, as in 123e4567-e89b-12d3-a456-426614174000",
        UUID,
        UUID("123e4567-e89b-12d3-a456-426614174000"),
        "uuid",
        code="UUID",
    ),
    ValueType(
        timedelta,
        DURATION,
        DecimalNumber(timedelta, _duration_key, _read_duration_key),
        "a number of seconds, as in 90.5",
        read_duration,
        timedelta(seconds=90.5),
        duration_text,
        spelled=lambda value: repr(value).removeprefix("datetime."),
    ),
)
VALUE_TYPES: Mapping[type[Any], ValueType] = {made.type: made for made in _ALL}


def value_type_of(kind: Any) -> ValueType | None:
    """The facts of a type; None for one without a single value. DeclarationError for an Enum of mixed ones."""
    if not isinstance(kind, type):
        return None
    if issubclass(kind, Enum):
        return _enum_type(kind)
    if issubclass(kind, Verbatim):
        plan = Scalar(Kind.REFERENCE, "S", str, kind.from_text, kind.to_text, "", reader=kind.from_text)
        return ValueType(kind, plan, VerbatimText(kind), kind.wanted, kind.from_words)
    return VALUE_TYPES.get(kind)  # pyright: ignore[reportUnknownArgumentType] of any class


def _enum_type(kind: type[Enum]) -> ValueType:
    if issubclass(kind, Flag):
        raise DeclarationError(f"{kind.__name__} is a Flag, which has no one value", hint="Store a set of an Enum.")
    plan = enum_plan(kind, scalar_of(tuple(m.value for m in kind), f"the values of {kind.__name__}"))
    names = tuple(member.name for member in kind)

    def read(text: str) -> Enum:
        """By its name, which may be the value of another member; else by its value or its key text."""
        texts = {text: member for member in reversed(kind) for text in (enum_text(member), str(member.value))}
        return kind[text] if text in names else texts[text]

    shown = attrgetter("name")
    return ValueType(kind, plan, EnumText(kind), f"one of {', '.join(names)}", read, choices=names, shown=shown)


def scalar_of(values: tuple[Any, ...], what: str) -> Scalar:
    """The plan of a few values, which are all texts or all whole numbers."""
    if all(isinstance(v, str) for v in values):
        return TEXT
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return INTEGER
    raise DeclarationError(f"{what} are all str or all int")
