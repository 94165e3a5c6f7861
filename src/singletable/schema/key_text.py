"""The text of a key: parts joined by the table's separator, each a literal, a value, or a literal and then a value.

The rule (docs/explanation/design.md, "Key text"):

* Different values give different texts, a text reads back into its values, and a prefix ends at a separator, so that
  `ORG#1` never matches `ORG#10`.
* With `#`, a str has each of U+0000 to `%` written `%XX` (in the last part of a key only `#`, `$` and `%`). `%`
  follows `#` and precedes all that stays, so texts sort as tuples of values do. With `/` or `-`, a str that others
  follow has the separator, `%` and controls written `%XX`: all of the above but its order, so a range over it is
  refused. In the last part nothing follows, so only `%` is written, `%25`: the separator stands, and the order holds.
* int: a letter for how many digits, then the digits: a7 < b42; below zero `-`, the letter from z back, each digit's
  complement to 9: -y57 (-42) < -z2 (-7). `{n:06}`: 000042. Decimal: b12.5; below zero closed by `~`: -y87.4~.
* datetime 2026-11-20T09:30:00.000000Z, date, time 09:30:00.000000, UUID in lower case; an Enum by its `key_text()`,
  else its value.
* `{id:rest}`: the last part, after literals only, stands unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidValue
from singletable.values import TOP, KeyPlace, KeyType, Source, ValueType, quoted, value_type_of

MAX_PARTITION_BYTES = 2048
MAX_SORT_BYTES = 1024
_GREATEST = ("", "\x7f", "\u07ff", "\uffff")
"""The greatest text of each length in bytes."""


class Slot(Struct, frozen=True):
    """A value's place in a key: the attribute, and how its values are written."""

    name: str
    key_type: KeyType

    @classmethod
    def of(cls, name: str, kind: type[Any], form: str = "") -> Slot:
        """A slot by its type, and the form that a format asks for. LookupError if a key can't hold it so."""
        value_type = value_type_of(kind)
        key_type = value_type and value_type.key and value_type.key.in_form(form)
        if not key_type:
            raise LookupError(f"{kind.__name__} has no form {form!r} in keys")
        return cls(name, key_type)

    @property
    def type(self) -> type[Any]:
        """The Python type of its values."""
        return self.key_type.type

    @property
    def value_type(self) -> ValueType:
        """The facts of its type."""
        value_type = value_type_of(self.key_type.type)
        assert value_type is not None
        return value_type


class KeyPart(Struct, frozen=True):
    literal: str
    slot: Slot | None = None


_Piece = tuple[str, str, Callable[[Any], str]]
"""The literal before a value, the value's name, its writer."""


@dataclass(frozen=True)
class Template:
    """The text of one key attribute. `identifier` is true for a primary key, whose texts are kept strict."""

    parts: tuple[KeyPart, ...]
    separator: str = "#"
    identifier: bool = False
    limit: int = field(default=MAX_SORT_BYTES, compare=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes whose values it holds, in order."""
        return tuple(p.slot.name for p in self.parts if p.slot)

    @property
    def pieces(self) -> tuple[tuple[tuple[str, Slot], ...], str]:
        """Its values' slots, each with the literal before it, and the literal after the last."""
        slots = [part.slot for part in self._slots if part.slot]
        named, end = self._pieces
        return tuple((literal, slot) for (literal, _, _), slot in zip(named, slots, strict=True)), end

    @cached_property
    def write(self) -> Callable[[Mapping[str, Any]], str]:
        """`write(values)`: the text for all of its values; InvalidValue if one has no place in a key."""
        return self._compiled(lambda name: f"given[{name!r}]")

    @cached_property
    def write_of(self) -> Callable[[object], str]:
        """`write_of(entity)`: the same for an object's attributes.

        Not by its `__dict__`, which CPython makes only when it is asked for, and then keeps.
        """
        return self._compiled(lambda name: f"given.{name}")

    def _compiled(self, place_of: Callable[[str], str]) -> Callable[[Any], str]:
        source = Source()
        lines = [*self.lines(source, "text", place_of), "return text"]
        source.define(["def write(given):", *(f"    {line}" for line in lines)], f"key text {self.shown}")
        made: Callable[[Any], str] = source.names["write"]
        return made

    def lines(self, source: Source, text: str, place_of: Callable[[str], str]) -> list[str]:
        """Generated code that sets the variable `text`: every request writes at least two of them.

            v1 = given.email
            t2 = v1 if v1.__class__ is str and is_plain(v1) else write(v1)
            text = 'user#' + t2
            if not 0 < len(text) <= 512: text = check(text)

        `place_of(name)` is the expression of a value.
        """
        lines: list[str] = []
        written: list[tuple[str, str]] = []
        named, end = self._pieces
        for (literal, name, writer), part in zip(named, self._slots, strict=True):
            assert part.slot
            value, made = source.fresh("v"), source.fresh("t")
            how = part.slot.key_type.source(self.place_of(part.slot), writer, source, value)
            lines += [f"{value} = {place_of(name)}", f"{made} = {how}"]
            written.append((literal, made))
        short = self.limit // 4  # a character has four bytes at most
        check = source.bind(self._check_length, "check")
        return [
            *lines,
            f"{text} = {_joined(written, end)}",
            f"if not 0 < len({text}) <= {short}: {text} = {check}({text})",
        ]

    def prefix(self, values: Mapping[str, Any]) -> str:
        """The text up to the first missing value: every key with these values begins with it, and no other key does."""
        pieces, end = self._pieces
        text = ""
        for literal, name, write in pieces:
            text += literal
            if name not in values:
                return text
            text += write(values[name])
        return text + end

    def read(self, text: str) -> dict[str, Any] | None:
        """The values from which a text was written; None if this template did not write it."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        try:
            values = {p.slot.name: p.slot.key_type.read(match[i]) for i, p in enumerate(self._slots, 1) if p.slot}
            return values if self.write(values) == text else None
        except (ValueError, KeyError, ArithmeticError):
            return None

    def text_of(self, slot: Slot, value: Any) -> str:
        """One value's text, in the form of its part."""
        return self.writer_of(slot)(value)

    def writer_of(self, slot: Slot) -> Callable[[Any], str]:
        """The function that writes a slot's values."""
        return self._writers[id(slot)]

    def place_of(self, slot: Slot) -> KeyPlace:
        """Where a slot's values stand, as its key type has to know."""
        return KeyPlace(self.separator, self.parts[-1].slot is slot, self.identifier)

    def orders(self, slot: Slot) -> bool:
        """Whether keys sort by the values of a part."""
        return slot.key_type.is_ordered(self.place_of(slot))

    @property
    def shown(self) -> str:
        """The template as a text: `user#{email}`."""
        return self.separator.join(p.literal + (f"{{{p.slot.name}}}" if p.slot else "") for p in self.parts)

    @property
    def form(self) -> str:
        """The form of each value, in their order. With `shown` and the separator it decides the text."""
        return ", ".join(part.slot.key_type.form for part in self._slots if part.slot)

    @cached_property
    def _slots(self) -> list[KeyPart]:
        return [p for p in self.parts if p.slot]

    @cached_property
    def _writers(self) -> dict[int, Callable[[Any], str]]:
        slots = [part.slot for part in self.parts if part.slot]
        return {id(slot): slot.key_type.writer(slot.name, self.place_of(slot)) for slot in slots}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = [
            re.escape(p.literal) + (f"({p.slot.key_type.regex(self.place_of(p.slot))})" if p.slot else "")
            for p in self.parts
        ]
        return re.compile(re.escape(self.separator).join(forms), re.DOTALL)

    @cached_property
    def _pieces(self) -> tuple[tuple[_Piece, ...], str]:
        """Its values, each with the literal before it, and the literal after the last."""
        found: list[_Piece] = []
        literal = ""
        for i, part in enumerate(self.parts):
            literal += (self.separator if i else "") + part.literal
            if part.slot:
                found.append((literal, part.slot.name, self.writer_of(part.slot)))
                literal = ""
        return tuple(found), literal

    def _check_length(self, text: str) -> str:
        size = len(text.encode())
        if not text:
            raise InvalidValue(
                "the key's text is empty",
                attribute=self.shown,
                hint="Give it a literal: DynamoDB has no empty keys.",
            )
        if size > self.limit:
            raise InvalidValue(f"a key of {size} bytes; DynamoDB allows {self.limit}", attribute=self.shown)
        return text


def _joined(written: Sequence[tuple[str, str]], end: str) -> str:
    """An expression: texts, each by its literal and a variable, then the end. Two are joined faster than formatted."""
    if len(written) == 1 and written[0][0]:
        ((literal, made),) = written
        return f"{literal!r} + {made}" + (f" + {end!r}" if end else "")
    return f'f"{"".join(f"{quoted(literal)}{{{made}}}" for literal, made in written)}{quoted(end)}"'


# --- bounds of ranges -------------------------------------------------------------------------------------------------
class Range(Struct, frozen=True):
    """An argument for several values. `how` is the name of the function that made it."""

    how: str
    low: Any = None
    high: Any = None

    def __repr__(self) -> str:
        return f"<{self.how}(...)>"


def bounds(template: Template, known: Mapping[str, Any], slot: Slot, range: Range) -> tuple[str, str]:
    """The bounds, both inclusive, of exactly the wanted keys."""
    head, last, s = template.prefix(known), template.place_of(slot).is_last, template.separator

    def text(value: Any) -> str:
        return head + template.text_of(slot, value)

    if range.how == "starting_with":
        start = text(range.low)
        return start, start + TOP
    low, high = head, head + TOP
    if range.low is not None:
        low = text(range.low)
        if range.how == "after":
            low += "\0" if last else s + TOP
        elif not last:
            low += s
    if range.high is not None:
        top = text(range.high)
        if range.how == "before" and top == head:
            return head + TOP, head + TOP  # nothing is less than the empty text, and no key is this one
        high = below(top) if range.how == "before" else top + ("" if last else s + TOP)
    return (low, high) if high else (TOP, TOP)  # an empty text is not a key, and DynamoDB refuses it as a bound


def below(text: str) -> str:
    """The greatest text below, DynamoDB's BETWEEN having no open end."""
    code = ord(text[-1])
    if code == 0:
        return text[:-1]
    return text[:-1] + chr(0xD7FF if code == 0xE000 else code - 1) + TOP


def within(low: str, high: str, limit: int = MAX_SORT_BYTES) -> tuple[str, str]:
    """The same range of keys, by bounds that are no longer than a key: DynamoDB refuses others."""
    if max(len(low), len(high)) <= limit // 4:
        return low, high
    low, high = _not_below(low, limit), _not_above(high, limit)
    return (low, high) if low.encode() <= high.encode() else (TOP, TOP)


def _not_above(text: str, limit: int) -> str:
    """The greatest text of at most `limit` bytes that is not above. A shorter result is less than the cut character."""
    kept = _cut(text, limit)
    return text if kept == text else kept + _GREATEST[limit - len(kept.encode())]


def _not_below(text: str, limit: int) -> str:
    """The least text of at most `limit` bytes that is not below; U+10FFFF for none. Its longer forms are below."""
    kept = _cut(text, limit)
    if kept == text:
        return text
    while kept:
        kept, code = kept[:-1], ord(kept[-1]) + 1
        least = kept + chr(0xE000 if code == 0xD800 else min(code, ord(TOP)))
        if len(least.encode()) <= limit:
            return least
    return TOP


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
