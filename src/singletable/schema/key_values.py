"""The text of one value in a key: how each type is written, so that texts sort as values do, and read back.

The rules are at the top of `key_text`, which makes whole keys of these texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar
from uuid import UUID

from msgspec import Struct

from singletable.errors import InvalidValue
from singletable.values import Source
from singletable.values.checks import instant_text

SEPARATORS = "#/-"
"""Each sorts before every digit and letter."""
TOP = "\U0010ffff"
"""Sorts after every key; a noncharacter, refused in keys."""
SORTABLE: tuple[type[Any], ...] = (str, int, Decimal, datetime, date, UUID)
MAX_KEY_DIGITS = 26
"""Of a whole number without a width, and of a Decimal before its point: there is a letter for each count."""

_NO_LEAD = "\ud800"
"""No stored text holds a lone surrogate."""
_NINES = str.maketrans("0123456789", "9876543210")
_INTEGER = r"-?[a-z][0-9]+"
_FORMS: Mapping[type[Any], str] = {
    int: _INTEGER,
    Decimal: _INTEGER + r"\.[0-9]+~?",
    datetime: r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z",
    date: r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    UUID: r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
_ESCAPED: Mapping[tuple[str, bool], str] = {
    ("#", True): "[#-%]",
    ("#", False): "[\x00-%]",
    ("/", True): "%",
    ("/", False): "[/%\x00-\x1f\x7f]",
    ("-", True): "%",
    ("-", False): "[-%\x00-\x1f\x7f]",
}
"""Regular expressions of what is written %XX, by separator and whether the text ends its key."""
_UNENCODABLE = re.compile(f"[\ud800-\udfff{TOP}]")


def is_separated(separator: str, last: bool) -> bool:
    """Whether the text of a str never contains the separator. In the last part of a key it may, except for `#`."""
    return separator == "#" or not last


class Verbatim:
    """A type whose values define their own key text. It is the last part of its key and is not escaped."""

    @classmethod
    def to_text(cls, value: Any) -> str:
        """The text of a value; InvalidValue if the value is of another type."""
        raise InvalidValue(f"a {cls.__name__} is expected, not {type(value).__name__}")

    @classmethod
    def from_text(cls, text: str) -> Any:
        """The value of a text; ValueError for a text that no value has."""
        raise ValueError(f"no text of a {cls.__name__}: it has {len(text)} characters")

    @classmethod
    def from_words(cls, text: str) -> Any:
        """The value of command-line input. Raises ValueError if there is none."""
        return cls.from_text(text)

    @classmethod
    def prefixes(cls) -> tuple[str, ...]:
        """The prefixes of its texts; anything may follow."""
        return ("",)

    wanted: ClassVar[str] = "a text of its type"
    """A description of the command-line input."""


class Slot(Struct, frozen=True):
    """A value's place in a key."""

    name: str
    type: type[Any]
    width: int = 0
    rest: bool = False

    def form(self, separator: str, last: bool) -> str:
        """A regular expression of the texts it writes."""
        if self.rest:
            return ".*"
        if issubclass(self.type, Verbatim):
            return "|".join(f"{re.escape(prefix)}.*" for prefix in self.type.prefixes())
        if issubclass(self.type, Enum):
            return "|".join(re.escape(enum_text(m)) for m in self.type)
        if self.width:
            return f"[0-9]{{{self.width}}}"
        return _FORMS.get(self.type, f"[^{separator}]*" if is_separated(separator, last) else ".*")


def slot_writer(slot: Slot, separator: str, last: bool, identifier: bool) -> Callable[[Any], str]:
    """The function that writes one slot's values."""
    if issubclass(slot.type, Verbatim):
        return slot.type.to_text
    if issubclass(slot.type, Enum):
        texts = {m: enum_text(m) for m in slot.type}
        return lambda value: _member_text(slot, texts, value)
    if slot.type is str:
        return _str_writer(slot, separator, last, identifier)
    if slot.width:
        return lambda value: _padded(slot, value)
    return _typed_writer(slot)


def slot_source(
    slot: Slot, separator: str, last: bool, writer: Callable[[Any], str], source: Source, value: str
) -> str:
    """An expression for generated code: what the slot's `writer` makes of the variable `value`.

    The most frequent values are written in place: a str that needs no escape, and a number that fits its width.
    """
    write = f"{source.bind(writer, 'write')}({value})"
    if slot.type is str:
        is_plain = source.bind(_is_plain(slot, separator, last), "is_plain")
        return f"{value} if {value}.__class__ is str and {is_plain}({value}) else {write}"
    if slot.type is int and slot.width:
        zeros, digits = source.bind(number_leads(slot.width), "zeros"), source.fresh("n")
        fits = f"{value}.__class__ is int and 0 <= {value} < {10**slot.width}"
        return f"{zeros}[len({digits} := str({value}))] + {digits} if {fits} else {write}"
    return write


def number_leads(width: int) -> tuple[str, ...]:
    """The text before the digits of a whole number from 0 up, by their count: zeros up to a width, or a letter.

    The last is for the longest negative number, which has a sign besides its digits.
    """
    counts = range(max(width, MAX_KEY_DIGITS) + 1)
    leads = ["0" * (width - digits) if width else count_letter(digits) for digits in counts]
    return (*leads, _NO_LEAD)


def _is_plain(slot: Slot, separator: str, last: bool) -> Callable[[str], object]:
    """Whether a text has only characters that need no escape and no check, as nearly every text has."""
    escaped = re.compile(_ESCAPED[separator, last])
    plain = "".join(c for c in map(chr, range(0x20, 0x7F)) if slot.rest or not escaped.match(c))
    return re.compile(f"[{re.escape(plain)}]*").fullmatch


def _str_writer(slot: Slot, separator: str, last: bool, identifier: bool) -> Callable[[Any], str]:
    escaped = re.compile(_ESCAPED[separator, last])
    is_plain = _is_plain(slot, separator, last)

    def write(value: Any) -> str:
        if value.__class__ is str and is_plain(value):
            return value
        text = str.__str__(_of_type(slot, value))
        _check_text(slot, text, identifier)
        return text if slot.rest else escaped.sub(lambda found: f"%{ord(found[0]):02X}", text)

    return write


def _typed_writer(slot: Slot) -> Callable[[Any], str]:
    write_value = _WRITERS[slot.type]

    def write(value: Any) -> str:
        try:
            return write_value(_of_type(slot, value))
        except InvalidValue as error:
            error.attribute = slot.name
            raise

    return write


def read_slot(slot: Slot, text: str) -> Any:
    """The value of a text that matches its slot's form; ValueError, LookupError or ArithmeticError for others."""
    if issubclass(slot.type, Enum):
        return next(m for m in slot.type if enum_text(m) == text)
    if issubclass(slot.type, Verbatim):
        return slot.type.from_text(text)
    if slot.type is str:
        return text if slot.rest else unescape(text)
    if slot.type is int:
        return int(text) if slot.width else int(_read_digits(text))
    readers: Mapping[Any, Callable[[str], Any]] = {
        Decimal: _read_decimal,
        UUID: UUID,
        date: date.fromisoformat,
        datetime: datetime.fromisoformat,
    }
    return readers[slot.type](text)


def must_escape(separator: str, last: bool) -> str:
    """The characters that are escaped in a str."""
    escaped = re.compile(_ESCAPED[separator, last])
    return "".join(c for c in map(chr, range(0x80)) if escaped.match(c))


def unescape(text: str) -> str:
    return re.sub("%([0-9A-F]{2})", lambda digits: chr(int(digits[1], 16)), text)


def enum_text(member: Enum) -> str:
    """An enum's own `key_text()`, or its value's text."""
    said: Callable[[], str] | None = getattr(member, "key_text", None)
    if said is not None:
        return said()
    return member.value if isinstance(member.value, str) else write_integer(member.value)


def write_integer(value: int) -> str:
    """-y57 (-42) < -z2 (-7) < a7 < b42; up to 26 digits."""
    number = int(value)  # of an enum's member, or of another subclass, which may be written otherwise
    return _write_digits(str(abs(number)), number < 0)


def write_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise InvalidValue("a number that is not finite can't be ordered")
    whole, _, fraction = f"{value.copy_abs():f}".partition(".")
    fraction = fraction.rstrip("0") or "0"
    if value < 0:
        return f"{_write_digits(whole, True)}.{fraction.translate(_NINES)}~"
    return f"{_write_digits(whole, False)}.{fraction}"


def _write_digits(digits: str, negative: bool) -> str:
    count = len(digits)
    if count > MAX_KEY_DIGITS:
        raise InvalidValue(f"a number of {count} digits; a key allows {MAX_KEY_DIGITS}", hint="Give the key a width.")
    if negative:
        return "-" + chr(ord("z") + 1 - count) + digits.translate(_NINES)
    return count_letter(count) + digits


def count_letter(digits: int) -> str:
    """The letter before the digits of a number from 0 up: `a` before one digit, `b` before two."""
    return chr(ord("a") - 1 + digits)


def _read_digits(text: str) -> str:
    return "-" + text[2:].translate(_NINES) if text[0] == "-" else text[1:]


def _read_decimal(text: str) -> Decimal:
    whole, _, fraction = text.partition(".")
    return Decimal(f"{_read_digits(whole)}.{fraction[:-1].translate(_NINES) if text[0] == '-' else fraction}")


_WRITERS: Mapping[type[Any], Callable[[Any], str]] = {
    int: write_integer,
    Decimal: write_decimal,
    datetime: instant_text,
    date: date.isoformat,
    UUID: str,
}


def _of_type(slot: Slot, value: Any) -> Any:
    wrong = isinstance(value, bool) or (slot.type is date and isinstance(value, datetime))
    if wrong or not isinstance(value, slot.type):
        wanted, found = slot.type.__name__, "None" if value is None else type(value).__name__
        article = "an" if wanted[0] in "aeiouAEIOU" else "a"
        raise InvalidValue(f"{article} {wanted} is expected, not {found}", attribute=slot.name)
    return value


def _member_text(slot: Slot, texts: Mapping[Any, str], value: Any) -> str:
    return texts[_of_type(slot, value)]


def _padded(slot: Slot, value: Any) -> str:
    number = int(_of_type(slot, value))  # as in write_integer
    text = f"{number:0{slot.width}}"
    if number < 0 or len(text) > slot.width:
        raise InvalidValue(
            f"the number does not fit its width of {slot.width} digits: it is negative or too wide",
            attribute=slot.name,
        )
    return text


def _check_text(slot: Slot, value: str, identifier: bool) -> None:
    if _UNENCODABLE.search(value):
        raise InvalidValue("a lone surrogate or U+10FFFF can't stand in a key", attribute=slot.name)
    if not identifier:
        return
    if any(unicodedata.category(c) == "Cc" for c in value):
        raise InvalidValue("a control character can't stand in an identifier", attribute=slot.name)
    if unicodedata.normalize("NFC", value) != value:
        raise InvalidValue(
            "an identifier is in Unicode's normal form C, so that what looks the same is the same",
            attribute=slot.name,
            hint='Use unicodedata.normalize("NFC", text) where the text enters your program.',
        )
