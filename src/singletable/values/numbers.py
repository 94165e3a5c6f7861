"""Numbers, exactly: what is stored is what was given, and what can't be read without loss is an error.

DynamoDB keeps up to 38 significant digits, in magnitude from 1E-130 to 9.99...E+125 (AWS, "Naming rules and data
types"). An int or a Decimal is written as its digits, a float as the shortest text that reads back as the same float.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Context, Decimal
from math import isfinite

from singletable.errors import InvalidValue
from singletable.values.exact import plain, wanted

MAX_DIGITS = 38
PLAIN_INT = 10**MAX_DIGITS
"""Below this (in magnitude) an int is stored unchanged; from here on its digits are counted."""
_LARGEST_EXPONENT = 125
_SMALLEST_EXPONENT = -130
_PLAIN_DECIMAL = re.compile("-?[0-9]{1,20}(?:[.][0-9]{1,18})?").fullmatch
"""Within the limits at a glance: 38 digits at most, and no exponent."""
_EXACT = Context(prec=200)
_SURE_FLOAT = 15
"""A decimal text of this many digits always comes back from a float unchanged (IEEE 754 double: DBL_DIG)."""


def integer_text(value: object) -> str:
    """The text of an int; for a value the fast path did not take."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wanted("an int", value)
    number = value if value.__class__ is int else plain(int, int.__int__, value)
    if abs(number) >= PLAIN_INT:
        _check_range(Decimal(number), "int")
    return str(number)


def decimal_text(value: object) -> str:
    """The text of a Decimal, all its digits."""
    if value.__class__ is Decimal and _PLAIN_DECIMAL(said := str(value)):
        return said
    if not isinstance(value, Decimal):
        raise wanted("a Decimal", value)
    number = value if value.__class__ is Decimal else plain(Decimal, Decimal, value)
    _check_range(number, "Decimal")
    return str(number)


def float_text(value: object) -> str:
    """The shortest text of a float; an int is taken where it is the same number."""
    if isinstance(value, bool) or not isinstance(value, (float, int)):
        raise wanted("a float", value)
    if isinstance(value, int):
        return _whole_float_text(value)
    number = value if value.__class__ is float else plain(float, float.__float__, value)
    if not isfinite(number):
        raise InvalidValue("a float that is not finite has no place in DynamoDB", hint="Use None for no value.")
    text = repr(number)
    _check_range(Decimal(text), "float")
    return text


def read_integer(text: str) -> int:
    """An int from a number's text; ValueError if a fraction would be lost."""
    number = Decimal(text)
    whole = int(number)
    if whole != number:
        raise ValueError("the stored number has a fraction, the attribute is an int")
    return whole


def read_float(text: str) -> float:
    """The float that a number's text says exactly; ValueError if digits would be lost. An attribute is read as the
    nearest one."""
    value = float(text)
    if len(text) > _SURE_FLOAT and Decimal(repr(value)) != Decimal(text):
        raise ValueError("the stored number has more digits than a float holds; declare a Decimal")
    return value


def _check_range(value: Decimal, kind: str) -> None:
    if not value.is_finite():
        raise InvalidValue(f"a {kind} that is not finite has no place in DynamoDB", hint="Use None for no value.")
    if value == 0:
        return
    digits = len("".join(map(str, value.as_tuple().digits)).strip("0"))
    if digits > MAX_DIGITS:
        raise InvalidValue(
            f"a {kind} of {digits} significant digits; DynamoDB keeps {MAX_DIGITS}",
            hint="Round it, or keep it as a str.",
        )
    if not _SMALLEST_EXPONENT <= value.adjusted() <= _LARGEST_EXPONENT:
        raise InvalidValue(f"a {kind} outside DynamoDB's range of 1E-130 to 1E+126", hint="Keep it as a str.")


def _whole_float_text(value: int) -> str:
    text = integer_text(value)
    if int(float(value)) != value:
        raise InvalidValue(
            "an int that no float holds exactly, for a float attribute", hint="Declare it as int or Decimal."
        )
    return text


def duration_text(value: object) -> str:
    """The text of a timedelta: its seconds, with up to six decimals."""
    if not isinstance(value, timedelta):
        raise wanted("a timedelta", value)
    same = value if value.__class__ is timedelta else plain(timedelta, _same_duration, value)
    micros = same // timedelta(microseconds=1)
    whole, rest = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{whole}{f'.{rest:06}'.rstrip('0') if rest else ''}"


def _same_duration(value: timedelta) -> timedelta:
    return timedelta(value.days, value.seconds, value.microseconds)


def read_duration(text: str) -> timedelta:
    """The timedelta of a number of seconds; ValueError if decimals would be lost."""
    micros = _EXACT.scaleb(Decimal(text), 6)
    if micros != micros.to_integral_value():
        raise ValueError("the stored number has more than six decimals of a second")
    return timedelta(microseconds=int(micros))


def normalized(value: Decimal) -> Decimal:
    """A number without trailing zeros, with all its other digits: by itself `Decimal.normalize` rounds to 28."""
    return value.normalize(_EXACT)
