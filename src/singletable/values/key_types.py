"""Key types: how the values of one type are written in a key, so that texts sort as values do, and read back.

A `KeyType` is one type in one form. A key function chooses it when it is captured: `{n}` is a `WholeNumber`, `{n:06}` a
`PaddedNumber`. It says

    paths       the characters of its texts, from which overlaps are decided and texts are taken apart
    writer      what writes a value, at its place in a key; `source` is the same as generated code
    read        the value of a text that fits the paths
    is_ordered  whether texts sort as values do
    in_form     the same type in a form of its own that a format asks for; `key_forms` has the forms of several types
    form        all that decides its texts, in words, for the record of a table

Whatever handles keys asks the key type, never the Python type. The rules are at the top of `schema.key_text`, which
makes whole keys of these texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

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
_ESCAPED: Mapping[tuple[str, bool], str] = {("#", True): "[#-%]", ("#", False): "[\x00-%]"}
"""Regular expressions of what is written %XX where the order is kept, by whether the text ends its key. With another
separator it is `%`, and before the separator also that and controls."""
_CONTROLS = "\x00-\x1f\x7f"
UNENCODABLE = f"[\ud800-\udfff{TOP}]"
"""A regular expression of what no text in a key may hold. Compiled when it is first met: few texts are searched."""


class KeyPlace(Struct, frozen=True):
    """Where a value stands in a key."""

    separator: str
    """The text that follows it; that of the table where nothing does. Empty where another value does."""
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
    alike: ClassVar[str] = ""
    """Two values of one text, in words, where there are such: the text doesn't read back into its value then."""
    is_truncated: ClassVar[bool] = False
    """Whether it writes one text for all values of a period: a range reads whole periods, and filters."""
    is_prefix_free: ClassVar[bool] = False
    """Whether no text begins another one: then what follows it does not matter."""
    is_by_rule: ClassVar[bool] = True
    """Whether values next to the table's separator never meet. Where it is not so, the automaton of the key decides."""
    formats: ClassVar[tuple[str, ...]] = ()
    """The formats of its own forms, by an example each."""

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
        """Whether keys sort by its values. They do where no text begins another, or what follows sorts below all."""
        return place.is_last or self.is_prefix_free or place.separator in (*SEPARATORS,)

    def takes_beginnings(self, place: KeyPlace) -> bool:
        """Whether the keys of the values that begin with a text are those that begin so."""
        return self.takes_prefixes

    def why_unordered(self, place: KeyPlace) -> str:
        """Why keys don't sort by its values there."""
        return f"with {place.separator!r} as separator a {self.type.__name__} that is not the last part has no order"

    def in_form(self, form: str) -> KeyType | None:
        """The type in the form that a format in an f-string asks for; None if it has no such form."""
        return None if form else self

    @property
    def shards(self) -> tuple[Any, ...]:
        """A value of each text, where it has few and a query reads them all: the numbers of its shards."""
        return ()

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
    formats: ClassVar[tuple[str, ...]] = ("rest",)

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
            _check_identifier(name, text, place)
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
        return _escaped(place.separator, place.is_last)

    def _is_plain(self, place: KeyPlace) -> Callable[[str], object]:
        """Whether a text has only characters that need no escape and no check, as nearly every text has."""
        return _is_plain(self.escaped(place))


@cache
def _escaped(separator: str, is_last: bool) -> str:
    others = "%" if is_last else f"[{re.escape(separator)}%{_CONTROLS}]"
    escaped = re.compile(_ESCAPED.get((separator, is_last), others))
    return "".join(c for c in map(chr, range(0x80)) if escaped.match(c))


@cache
def _is_plain(escaped: str) -> Callable[[str], object]:
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
    is_prefix_free: ClassVar[bool] = True
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
    is_prefix_free: ClassVar[bool] = True
    formats: ClassVar[tuple[str, ...]] = ("06",)

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
    is_prefix_free: ClassVar[bool] = True
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


def check_key_text(name: str, value: str) -> None:
    """InvalidValue for a text that no key can hold."""
    if re.search(UNENCODABLE, value):
        raise InvalidValue("a lone surrogate or U+10FFFF can't stand in a key", attribute=name)


def _check_identifier(name: str, value: str, place: KeyPlace) -> None:
    check_key_text(name, value)
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
