"""Key types: how the values of one type are written in a key, so that texts sort as values do, and read back.

A `KeyType` is one type in one form. A key function chooses it when it is captured: `{n}` is a `WholeNumber`, `{n:06}` a
`PaddedNumber`. It says

    paths       the characters of its texts, from which overlaps are decided and texts are taken apart
    writer      what writes a value, at its place in a key; `source` is the same as generated code
    read        the value of a text that fits the paths
    is_ordered  whether texts sort as values do
    in_form     the same type in the form that a format asks for
    form        all that decides its texts, in words, for the record of a table

Whatever handles keys asks the key type, never the Python type. The rules are at the top of `schema.key_text`, which
makes whole keys of these texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from singletable.errors import InvalidValue
from singletable.values.key_lines import Piece
from singletable.values.key_numbers import number_leads, read_decimal, read_integer, write_decimal, write_integer
from singletable.values.shapes import ANYTHING, DIGIT, LETTER, ShapeStep, Steps, exactly, of_shape
from singletable.values.source import Source

SEPARATORS = "#/-"
"""Each sorts before every digit and letter."""
TOP = "\U0010ffff"
"""Sorts after every key; a noncharacter, refused in keys."""

_WIDTH = re.compile("0([1-9][0-9]?)")
_DIGITS = (ShapeStep(DIGIT), ShapeStep(DIGIT, many=True))
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


class KeyPlace(Struct, frozen=True):
    """Where a value stands in a key."""

    separator: str
    is_last: bool
    is_identifier: bool = False
    """Whether it is in a primary key, whose texts are kept strict."""


class KeyType(Struct, frozen=True):
    """One type in one form. `paths`, `writer` and `read` have no default."""

    type: type[Any]

    word: ClassVar[str] = ""
    """The name of its form in records."""
    takes_ranges: ClassVar[bool] = True
    """Whether a sort key's values may be asked for by a range."""
    takes_prefixes: ClassVar[bool] = False
    """Whether a range may be of the values that begin with a text."""
    is_rest: ClassVar[bool] = False
    """Whether its text ends the key and may hold the separator."""

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        """The texts it writes: each has the characters of one path."""
        raise NotImplementedError(f"{self.__class__.__name__} has no paths")

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        """The function that writes the values of an attribute; InvalidValue for a value with no place in a key."""
        raise NotImplementedError(f"{self.__class__.__name__} has no writer")

    def read(self, text: str) -> Any:
        """The value of a text that has one of the paths; ValueError, LookupError or ArithmeticError for others."""
        raise NotImplementedError(f"{self.__class__.__name__} has no read")

    def lenient_writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        """The writer for stored values, which refuses none that another program may have written."""
        return self.writer(name, place)

    def source(self, place: KeyPlace, writer: Callable[[Any], str], source: Source, value: str) -> str:
        """An expression for generated code: what `writer` makes of the variable `value`."""
        return f"{source.bind(writer, 'write')}({value})"

    def piece(self, literal: str, name: str, place: KeyPlace) -> Piece:
        """How the compiled reader compares a stored text with the value."""
        return Piece(literal, name, write=self.writer(name, place))

    def is_ordered(self, place: KeyPlace) -> bool:
        """Whether keys sort by its values."""
        return True

    def in_form(self, form: str) -> KeyType | None:
        """The type in the form that a format in an f-string asks for; None if it has no such form."""
        return None if form else self

    @property
    def form(self) -> str:
        """All that decides its texts: its word, and each of its facts."""
        if not self.word:
            raise NotImplementedError(f"{self.__class__.__name__} has no word")
        facts = (getattr(self, name) for name in self.__struct_fields__ if name != "type")
        return " ".join([self.word, *(str(fact) for fact in facts if not callable(fact))])

    def patterns(self) -> tuple[tuple[str, str], ...]:
        """The texts as the beginning that is known and `*`, or `?` for each character that is not."""
        return (("", "*"),)

    def regex(self, place: KeyPlace) -> str:
        """A regular expression of the texts it writes."""
        return "|".join("".join(step.regex for step in path) for path in self.paths(place))

    def checked(self, name: str, value: Any) -> Any:
        """A value that is of the type; InvalidValue for others."""
        if isinstance(value, bool) or not isinstance(value, self.type):
            wanted, found = self.type.__name__, "None" if value is None else type(value).__name__
            article = "an" if wanted[0] in "aeiouAEIOU" else "a"
            raise InvalidValue(f"{article} {wanted} is expected, not {found}", attribute=name)
        return value


# --- texts ------------------------------------------------------------------------------------------------------------
class EscapedText(KeyType, frozen=True):
    """A str, with the separator and what sorts below it escaped."""

    word: ClassVar[str] = "text"
    takes_prefixes: ClassVar[bool] = True

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        """Without the separator, except in the last part of a key that is not separated by `#`."""
        separated = place.separator == "#" or not place.is_last
        yield (ShapeStep(frozenset(place.separator), other=True, many=True) if separated else ANYTHING,)

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        escaped = self.escaped(place)
        is_plain, find = self._is_plain(place), re.compile(f"[{re.escape(escaped)}]" if escaped else "(?!)")

        def write(value: Any) -> str:
            if value.__class__ is str and is_plain(value):
                return value
            text = str.__str__(self.checked(name, value))
            _check_text(name, text, place)
            return find.sub(lambda found: f"%{ord(found[0]):02X}", text)

        return write

    def source(self, place: KeyPlace, writer: Callable[[Any], str], source: Source, value: str) -> str:
        """In place for the most frequent value, a str that needs no escape."""
        is_plain, write = source.bind(self._is_plain(place), "is_plain"), source.bind(writer, "write")
        return f"{value} if {value}.__class__ is str and {is_plain}({value}) else {write}({value})"

    def read(self, text: str) -> str:
        return re.sub("%([0-9A-F]{2})", lambda digits: chr(int(digits[1], 16)), text)

    def piece(self, literal: str, name: str, place: KeyPlace) -> Piece:
        return Piece(literal, name, self.escaped(place))

    def is_ordered(self, place: KeyPlace) -> bool:
        """Texts before another part sort by the separator `#` alone."""
        return place.is_last or place.separator == "#"

    def in_form(self, form: str) -> KeyType | None:
        return RestText(self.type) if form == "rest" else super().in_form(form)

    def escaped(self, place: KeyPlace) -> str:
        """The characters that are escaped."""
        escaped = re.compile(_ESCAPED[place.separator, place.is_last])
        return "".join(c for c in map(chr, range(0x80)) if escaped.match(c))

    def _is_plain(self, place: KeyPlace) -> Callable[[str], object]:
        """Whether a text has only characters that need no escape and no check, as nearly every text has."""
        escaped = self.escaped(place)
        plain = "".join(c for c in map(chr, range(0x20, 0x7F)) if c not in escaped)
        return re.compile(f"[{re.escape(plain)}]*").fullmatch


class RestText(EscapedText, frozen=True):
    """A str that ends its key, after literals only, and stands unchanged: `{id:rest}`."""

    word: ClassVar[str] = "rest"
    is_rest: ClassVar[bool] = True

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield (ANYTHING,)

    def read(self, text: str) -> str:
        return text

    def escaped(self, place: KeyPlace) -> str:
        return ""

    def in_form(self, form: str) -> KeyType | None:
        return None


class FixedText(KeyType, frozen=True):
    """A type whose stored text has a fixed shape, and sorts as values do: the same text is in keys."""

    word: ClassVar[str] = "fixed"
    shape: str
    write: Callable[[Any], str]
    parse: Callable[[str], Any]

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield of_shape(self.shape)

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        return _named_writer(name, self.write)

    def read(self, text: str) -> Any:
        return self.parse(text)


# --- numbers ----------------------------------------------------------------------------------------------------------
class WholeNumber(KeyType, frozen=True):
    """An int as a letter for the count of its digits, then the digits."""

    word: ClassVar[str] = "number"

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield (ShapeStep(LETTER), *_DIGITS)
        yield (*exactly("-z"), ShapeStep(DIGIT))  # of one digit: what an example of a negative number looks like
        yield (*exactly("-"), ShapeStep(LETTER), *_DIGITS)

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        return _named_writer(name, write_integer, self.checked)

    def read(self, text: str) -> int:
        return read_integer(text)

    def piece(self, literal: str, name: str, place: KeyPlace) -> Piece:
        return Piece(literal, name, leads=number_leads(0))

    def in_form(self, form: str) -> KeyType | None:
        width = _WIDTH.fullmatch(form)
        return PaddedNumber(self.type, int(width[1])) if width else super().in_form(form)


class PaddedNumber(KeyType, frozen=True):
    """An int from 0 up, with zeros up to a width: `{n:06}`."""

    word: ClassVar[str] = "digits"
    width: int

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield (ShapeStep(DIGIT),) * self.width

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        def write(value: Any) -> str:
            number = int(self.checked(name, value))  # as in write_integer
            text = f"{number:0{self.width}}"
            if number < 0 or len(text) > self.width:
                raise InvalidValue(
                    f"the number does not fit its width of {self.width} digits: it is negative or too wide",
                    attribute=name,
                )
            return text

        return write

    def lenient_writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        return f"%0{self.width}d".__mod__

    def source(self, place: KeyPlace, writer: Callable[[Any], str], source: Source, value: str) -> str:
        """In place for a number that fits its width."""
        zeros, digits = source.bind(number_leads(self.width), "zeros"), source.fresh("n")
        fits = f"{value}.__class__ is int and 0 <= {value} < {10**self.width}"
        write = f"{source.bind(writer, 'write')}({value})"
        return f"{zeros}[len({digits} := str({value}))] + {digits} if {fits} else {write}"

    def read(self, text: str) -> int:
        return int(text)

    def piece(self, literal: str, name: str, place: KeyPlace) -> Piece:
        return Piece(literal, name, leads=number_leads(self.width))

    def in_form(self, form: str) -> KeyType | None:
        return None

    def patterns(self) -> tuple[tuple[str, str], ...]:
        return (("", "?" * self.width),)


class DecimalNumber(KeyType, frozen=True):
    """A Decimal as an int before its point; a negative one has the complements of its decimals, and ends with `~`. A
    type whose values have a Decimal each is written as that."""

    word: ClassVar[str] = "decimal"
    write: Callable[[Any], str] = write_decimal
    parse: Callable[[str], Any] = read_decimal

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        fraction = (*exactly("."), *_DIGITS)
        yield (ShapeStep(LETTER), *_DIGITS, *fraction)
        yield (*exactly("-z"), ShapeStep(DIGIT), *fraction, *exactly("~"))
        yield (*exactly("-"), ShapeStep(LETTER), *_DIGITS, *fraction, *exactly("~"))

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        return _named_writer(name, self.write, self.checked)

    def read(self, text: str) -> Any:
        return self.parse(text)


# --- types with texts of their own ------------------------------------------------------------------------------------
class EnumText(KeyType, frozen=True):
    """An Enum by its `key_text()`, else its value."""

    word: ClassVar[str] = "enum"
    type: type[Enum]

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield from map(exactly, self.texts)

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        texts = {member: enum_text(member) for member in self.type}
        return lambda value: texts[self.checked(name, value)]

    def read(self, text: str) -> Enum:
        return next(member for member in self.type if enum_text(member) == text)

    def patterns(self) -> tuple[tuple[str, str], ...]:
        return tuple((text, "") for text in self.texts)

    @property
    def form(self) -> str:
        texts = {member.name: enum_text(member) for member in self.type}
        return f"{self.word} {msgspec.json.encode(texts, order='sorted').decode()}"

    @property
    def texts(self) -> tuple[str, ...]:
        """The key texts of the members, in their order."""
        return tuple(map(enum_text, self.type))


def enum_text(member: Enum) -> str:
    """An enum's own `key_text()`, or its value's text."""
    own_text: Callable[[], str] | None = getattr(member, "key_text", None)
    if own_text is not None:
        return own_text()
    return member.value if isinstance(member.value, str) else write_integer(member.value)


def _named_writer(
    name: str, write: Callable[[Any], str], checked: Callable[[str, Any], Any] | None = None
) -> Callable[[Any], str]:
    def write_named(value: Any) -> str:
        try:
            return write(value if checked is None else checked(name, value))
        except InvalidValue as error:
            error.attribute = name
            raise

    return write_named


def _check_text(name: str, value: str, place: KeyPlace) -> None:
    if _UNENCODABLE.search(value):
        raise InvalidValue("a lone surrogate or U+10FFFF can't stand in a key", attribute=name)
    if not place.is_identifier:
        return
    if any(unicodedata.category(c) == "Cc" for c in value):
        raise InvalidValue("a control character can't stand in an identifier", attribute=name)
    if unicodedata.normalize("NFC", value) != value:
        raise InvalidValue(
            "an identifier is in Unicode's normal form C, so that what looks the same is the same",
            attribute=name,
            hint='Use unicodedata.normalize("NFC", text) where the text enters your program.',
        )
