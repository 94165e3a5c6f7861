"""The texts of numbers in keys: they sort as the numbers do, and read back.

write_integer   -y57 (-42) < -z2 (-7) < a7 < b42
write_decimal   -y57.4~ (-42.5) < b12.5
"""

from __future__ import annotations

from decimal import Decimal

from singletable.errors import InvalidValue

MAX_KEY_DIGITS = 26
"""The most digits of a number without a width, before its point: there is a letter for each count."""
_MAX_PLACES = 2048
"""No key has more bytes."""
_NO_LEAD = "\ud800"
"""No stored text holds a lone surrogate."""
_NINES = str.maketrans("0123456789", "9876543210")


def write_integer(value: int) -> str:
    """A letter for the count of digits, then the digits; up to 26."""
    number = int(value)  # of an enum's member, or of another subclass, which may be written otherwise
    return _write_digits(str(abs(number)), number < 0)


def write_decimal(value: Decimal) -> str:
    """A whole number before the point; a negative one has the complements of its decimals, and ends with `~`."""
    if not value.is_finite():
        raise InvalidValue("a number that is not finite can't be ordered")
    if not -_MAX_PLACES <= value.adjusted() < MAX_KEY_DIGITS:
        value = _writable(value)
    whole, _, fraction = f"{value.copy_abs():f}".partition(".")
    fraction = fraction.rstrip("0") or "0"
    if value < 0:
        return f"{_write_digits(whole, True)}.{fraction.translate(_NINES)}~"
    return f"{_write_digits(whole, False)}.{fraction}"


def _writable(value: Decimal) -> Decimal:
    """Zero, of whatever exponent. InvalidValue for another number: its text, of a digit for each place, is not made."""
    if not value:
        return Decimal(0)
    if value.adjusted() < 0:
        raise InvalidValue(f"a number of {-value.adjusted()} decimals; no key has more than {_MAX_PLACES} bytes")
    raise _too_many(value.adjusted() + 1)


def _too_many(digits: int) -> InvalidValue:
    return InvalidValue(f"a number of {digits} digits; a key allows {MAX_KEY_DIGITS}", hint="Give the key a width.")


def count_letter(digits: int) -> str:
    """The letter before the digits of a number from 0 up: `a` before one digit, `b` before two."""
    return chr(ord("a") - 1 + digits)


def _write_digits(digits: str, negative: bool) -> str:
    count = len(digits)
    if count > MAX_KEY_DIGITS:
        raise _too_many(count)
    if negative:
        return "-" + chr(ord("z") + 1 - count) + digits.translate(_NINES)
    return count_letter(count) + digits


def read_integer(text: str) -> int:
    """The number of a text."""
    return int(_read_digits(text))


def read_decimal(text: str) -> Decimal:
    """The number of a text."""
    whole, _, fraction = text.partition(".")
    return Decimal(f"{_read_digits(whole)}.{fraction[:-1].translate(_NINES) if text[0] == '-' else fraction}")


def number_leads(width: int) -> tuple[str, ...]:
    """The text before the digits of a whole number from 0 up, by their count: zeros up to a width, or a letter.

    The last is for the longest negative number, which has a sign in addition to its digits.
    """
    counts = range(max(width, MAX_KEY_DIGITS) + 1)
    leads = ["0" * (width - digits) if width else count_letter(digits) for digits in counts]
    return (*leads, _NO_LEAD)


def _read_digits(text: str) -> str:
    return "-" + text[2:].translate(_NINES) if text[0] == "-" else text[1:]
