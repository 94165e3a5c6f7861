"""Numbers, exactly: what is stored is what was given, and what can't be read without loss is an error.

DynamoDB keeps up to 38 significant digits, in magnitude from 1E-130 to 9.99...E+125 (AWS, "Naming rules and data
types"). An int or a Decimal is written as its digits, a float as the shortest text that reads back as the same float.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from math import isfinite

from singletable.errors import InvalidValue

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
        raise InvalidValue(f"an int is expected, not {_named(value)}")
    if abs(value) >= PLAIN_INT:
        _check_range(Decimal(value), "int")
    return str(int(value))


def decimal_text(value: object) -> str:
    """The text of a Decimal, all its digits."""
    if value.__class__ is Decimal and _PLAIN_DECIMAL(said := str(value)):
        return said
    if not isinstance(value, Decimal):
        raise InvalidValue(f"a Decimal is expected, not {_named(value)}")
    _check_range(value, "Decimal")
    return str(value)


def float_text(value: object) -> str:
    """The shortest text of a float; an int is taken where it is the same number."""
    if isinstance(value, bool) or not isinstance(value, (float, int)):
        raise InvalidValue(f"a float is expected, not {_named(value)}")
    if isinstance(value, int):
        return integer_text(value) if int(float(value)) == value else _refuse_rounding()
    if not isfinite(value):
        raise InvalidValue("a float that is not finite has no place in DynamoDB", hint="Use None for no value.")
    text = repr(value)
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
    """A float from a number's text; ValueError if digits would be lost."""
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


def _refuse_rounding() -> str:
    raise InvalidValue(
        "an int that no float holds exactly, for a float attribute", hint="Declare it as int or Decimal."
    )


def _named(value: object) -> str:
    return "None" if value is None else type(value).__name__


def normalized(value: Decimal) -> Decimal:
    """A number without trailing zeros, with all its other digits: by itself `Decimal.normalize` rounds to 28."""
    return value.normalize(_EXACT)
