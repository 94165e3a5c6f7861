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
* Other forms, as `{n:raw}`: `values.key_forms`. A value may be followed by another text than the separator, which
  separates it from the next value then. What of injective, ordered, readable is not sure by this rule alone, the
  automaton of the whole key decides: `capture` refuses the key, or its class says `ambiguous=True`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidValue
from singletable.schema.automata import Automaton, Taken, two_readings
from singletable.values import (
    ANYTHING,
    SEPARATORS,
    KeyPlace,
    KeyType,
    LoneValue,
    Source,
    Steps,
    ValueType,
    exactly,
    in_form,
    quoted,
    value_type_of,
)

_SIGNS = re.compile("[^A-Za-z0-9]+")
MAX_PARTITION_BYTES = 2048
MAX_SORT_BYTES = 1024
WORD_TYPE = "_word"
"""The type of the items that hold words of searches, and the first part of both texts of their key."""


class Slot(Struct, frozen=True):
    """A value's place in a key: the attribute, and how its values are written."""

    name: str
    key_type: KeyType

    @classmethod
    def of(cls, name: str, kind: type[Any], form: str = "") -> Slot:
        """A slot by its type, and the form that a format asks for. LookupError if a key can't hold it so."""
        value_type = value_type_of(kind)
        key_type = value_type and value_type.key and in_form(value_type.key, form)
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
    is_direct: bool = False
    """Whether its literal follows the value before without the separator."""


_Piece = tuple[str, str, Callable[[Any], str]]
"""The literal before a value, the value's name, its writer."""


class Template(Struct, frozen=True, dict=True):
    """The text of one key attribute. `identifier` is true for a primary key, whose texts are kept strict."""

    parts: tuple[KeyPart, ...]
    separator: str = "#"
    identifier: bool = False
    limit: int = MAX_SORT_BYTES

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
        if not self.parts:
            return [f'{text} = ""']
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

    def read(self, text: str, *, whole: bool = False) -> dict[str, Any] | None:
        """The values from which a text was written, of those that it tells; None if this template did not write it.

        `whole` adds for the others what they may have been: the text is written from all.
        """
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        try:
            values = {slot.name: slot.key_type.read(match[i]) for i, slot in self._read_slots}
            if self.write(values) != text:
                return None
        except (ValueError, KeyError, ArithmeticError):
            return None
        return values if whole or not self.untold else {n: v for n, v in values.items() if n not in self.untold}

    def text_of(self, slot: Slot, value: Any) -> str:
        """One value's text, in the form of its part."""
        return self.writer_of(slot)(value)

    def writer_of(self, slot: Slot) -> Callable[[Any], str]:
        """The function that writes a slot's values."""
        return self._writers[id(slot)]

    def place_of(self, slot: Slot) -> KeyPlace:
        """Where a slot's values stand, as its key type has to know."""
        return self._places[id(slot)]

    @cached_property
    def _places(self) -> dict[int, KeyPlace]:
        places: dict[int, KeyPlace] = {}
        for part, after in zip(self.parts, (*self.parts[1:], None), strict=True):
            separator = self.separator if after is None or not after.is_direct else _mark(after.literal)
            places[id(part.slot)] = KeyPlace(separator, after is None, self.identifier)
        return places

    @cached_property
    def segments(self) -> tuple[tuple[str, Slot | None], ...]:
        """Its texts and values in their order: each part's literal, with the separator before it, and slot."""
        return tuple(
            ((self.separator if i and not part.is_direct else "") + part.literal, part.slot)
            for i, part in enumerate(self.parts)
        )

    @cached_property
    def spread(self) -> Slot | None:
        """The value of which it has the shard alone: of the others, a query reads each shard."""
        return next((slot for _, slot in self.segments if slot and slot.key_type.shards), None)

    def orders(self, slot: Slot) -> bool:
        """Whether keys sort by the values of a part."""
        return slot.key_type.is_ordered(self.place_of(slot))

    def comparable(self, text: str) -> Any:
        """The value that the service compares of a text: its bytes, or of a key of numbers the number."""
        slot = self.parts[0].slot if self.parts else None
        if slot is None or not isinstance(slot.key_type, LoneValue) or slot.key_type.kind == "S":
            return text.encode()
        return slot.key_type.comparable(text)

    @property
    def shown(self) -> str:
        """The template as a text: `user#{email}`."""
        return "".join(literal + (f"{{{slot.name}}}" if slot else "") for literal, slot in self.segments)

    @property
    def form(self) -> str:
        """The form of each value, in their order. With `shown` and the separator it decides the text."""
        return ", ".join(part.slot.key_type.form for part in self._slots if part.slot)

    @cached_property
    def _slots(self) -> list[KeyPart]:
        return [p for p in self.parts if p.slot]

    @cached_property
    def _read_slots(self) -> list[tuple[int, Slot]]:
        """Each slot with its number in the pattern; those that tell their value last, where a name stands twice."""
        slots = [(number, part.slot) for number, part in enumerate(self._slots, 1) if part.slot]
        return sorted(slots, key=lambda each: not each[1].key_type.alike)

    @cached_property
    def _writers(self) -> dict[int, Callable[[Any], str]]:
        slots = [part.slot for part in self.parts if part.slot]
        return {id(slot): slot.key_type.writer(slot.name, self.place_of(slot)) for slot in slots}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        forms = [
            re.escape(literal) + (f"({slot.key_type.regex(self.place_of(slot))})" if slot else "")
            for literal, slot in self.segments
        ]
        return re.compile("".join(forms), re.DOTALL)

    @cached_property
    def _pieces(self) -> tuple[tuple[_Piece, ...], str]:
        """Its values, each with the literal before it, and the literal after the last."""
        found: list[_Piece] = []
        literal = ""
        for text, slot in self.segments:
            literal += text
            if slot:
                found.append((literal, slot.name, self.writer_of(slot)))
                literal = ""
        return tuple(found), literal

    # --- what the text tells ------------------------------------------------------------------------------------------
    @cached_property
    def automaton(self) -> Automaton:
        """The texts that it writes."""
        return Automaton(self._steps(self.segments))

    def beginning(self, parts: int) -> Automaton:
        """The texts that begin as its own do through the first parts, and the literal of the next one."""
        literal, _ = self.segments[parts]
        return Automaton([*self._steps((*self.segments[:parts], (literal, None))), [(ANYTHING,)]])

    def _steps(self, segments: Sequence[tuple[str, Slot | None]]) -> list[list[Steps]]:
        places: list[list[Steps]] = []
        for literal, slot in segments:
            places.append([exactly(literal)])
            places.append([*slot.key_type.paths(self.place_of(slot))] if slot else [()])
        return places

    @cached_property
    def is_by_rule(self) -> bool:
        """Whether the rule says that no two values meet. Of other templates the automaton does."""
        is_joined = self.separator in (*SEPARATORS,) and not any(part.is_direct for part in self.parts)
        return is_joined and all(slot.key_type.is_by_rule for _, slot in self.segments if slot)

    @cached_property
    def ambiguity(self) -> Sequence[Taken] | None:
        """A text that other values give too, with both readings; None if no two meet."""
        return None if self.is_by_rule else two_readings(self.automaton, self.automaton, 2 * len(self.parts))

    @cached_property
    def alike(self) -> frozenset[str]:
        """The names of the values that are only in forms which several values share."""
        slots = [slot for _, slot in self.segments if slot]
        exact = {slot.name for slot in slots if not slot.key_type.alike}
        return frozenset(slot.name for slot in slots) - exact

    @cached_property
    def untold(self) -> frozenset[str]:
        """The names of the values that a text doesn't tell: of a form that several share, or all of them where the text
        could be divided in another way."""
        return self.alike if self.ambiguity is None else frozenset(self.names)

    @cached_property
    def meeting(self) -> str:
        """A text that two sets of values give, in words; empty if there is none."""
        return "" if self.ambiguity is None else self._said(self.ambiguity)

    @cached_property
    def meeting_when_open(self) -> str:
        """The same; or a beginning of a sort key, up to a value that is left open, that other values have, too."""
        if self.is_by_rule or self.meeting:
            return self.meeting
        opened = (i for i, part in enumerate(self.parts) if part.slot and any(p.slot for p in self.parts[:i]))
        begun = (two_readings(self.beginning(i), self.automaton, 2 * i + 1) for i in opened)
        return next((f"beginning so, {self._said(readings)}" for readings in begun if readings), "")

    def _said(self, readings: Sequence[Taken]) -> str:
        """Both readings of a text, by the values."""
        texts: list[dict[str, str]] = [{}, {}]
        for character, *places in readings:
            for values, place in zip(texts, places, strict=True):
                at, is_value = divmod(place, 2)
                slot = self.segments[at][1] if is_value and at < len(self.segments) else None
                if slot:
                    values[slot.name] = values.get(slot.name, "") + character
        words = (", ".join(f"{name}={text!r}" for name, text in values.items()) for values in texts)
        return f"{''.join(taken[0] for taken in readings)!r} is {' and '.join(words)}"

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


def key_function(
    source: Source,
    templates: tuple[Template, Template],
    parameters: str,
    place_of: Callable[[str], str],
    key: str,
    mistakes: str,
    explained: str,
) -> Callable[..., Any]:
    """A function that writes both texts of a key, compiled as a whole because requests call it most.

    It returns the expression `key` of `partition` and `sort`; where a value raises one of the `mistakes`, `explained`.
    """
    partition, sort = templates
    lines = [
        "try:",
        *(f"    {line}" for line in partition.lines(source, "partition", place_of)),
        *(f"    {line}" for line in sort.lines(source, "sort", place_of)),
        f"except {mistakes}:",
        f"    return {explained}",
        f"return {key}",
    ]
    shown = f"{partition.shown} / {sort.shown}"
    source.define([f"def make({parameters}):", *(f"    {line}" for line in lines)], f"pattern {shown}")
    return source.names["make"]  # type: ignore[no-any-return]


def _mark(literal: str) -> str:
    """The signs with which a literal begins: they separate the value before it from what follows."""
    signs = _SIGNS.match(literal)
    return signs[0] if signs else literal


def _joined(written: Sequence[tuple[str, str]], end: str) -> str:
    """An expression: texts, each by its literal and a variable, then the end. Two are joined faster than formatted."""
    if len(written) == 1 and written[0][0]:
        ((literal, made),) = written
        return f"{literal!r} + {made}" + (f" + {end!r}" if end else "")
    return f'f"{"".join(f"{quoted(literal)}{{{made}}}" for literal, made in written)}{quoted(end)}"'
