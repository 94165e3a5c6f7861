"""The part of a compiled reader that compares an item's key with the item's attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from singletable.values.fields import Field
from singletable.values.source import Source, quoted

_FEW = 3
"""So many characters are looked for one by one; more by a regular expression."""


class Piece(Struct, frozen=True):
    """A value in a text, with what precedes it. At most one of the last three fields is set; it says how the value is
    written. A str without any is written unchanged."""

    literal: str
    name: str
    escaped: str = ""
    """A str is written unchanged unless it contains one of these characters."""
    leads: tuple[str, ...] = ()
    """For a whole number from 0 up: what stands between the literal and its digits, by the number of digits. A number
    with more digits takes the slow path."""
    write: Callable[[Any], str] | None = None


class KeyText(Struct, frozen=True):
    """A stored text that must equal the one that some attributes make: an item's key must match its attributes."""

    stored: str
    pieces: tuple[Piece, ...]
    end: str
    """The text after the last value."""
    check: Callable[[Any, str], None]
    """`check(object, text)`: the full check, which raises ValueError. Called if the inline comparison fails."""
    is_shared: bool = False
    """Items that are read together mostly have the same text: the last text that was right is remembered."""
    same_as: str = ""
    """The stored text that it repeats, in place of pieces: that of an attribute which is read."""
    tag: str = "S"
    """The type of the key attribute: of numbers N, with the digits as its text."""
    reads: Mapping[str, Callable[[str], Any]] = {}
    """The attributes whose values are in this text only, each with the function that takes it out."""


def key_lines(fields: Sequence[Field], keys: Sequence[KeyText], source: Source) -> list[str]:
    """The lines that check a read object against its key: a comparison if that suffices, else the key's own check.

    t0 = w.k0.S
    if t0 != f"user#{(v := o.email)}" or "#" in v or "$" in v or "%" in v:
        check(o, t0)
    """
    lines: list[str] = []
    places = {f.stored: f"w.f{i}" for i, f in enumerate(fields) if not f.is_in_key}
    for i, key in enumerate(keys):
        if not key.pieces and not key.same_as:
            continue  # the wire type takes no other text
        text = f"t{i}"
        differs = f"{text} != {places[key.same_as]}.{key.tag}" if key.same_as else _differs(key, text, source)
        check = [f"if {differs}:", f"    {source.bind(key.check, 'check')}(o, {text})"]
        lines.append(f"{text} = {places.get(key.stored, f'w.k{i}')}.{key.tag}")
        lines += _remembering(key, text, check, source) if key.is_shared else check
    return [f"    {line}" for line in lines]


def _differs(key: KeyText, text: str, source: Source) -> str:
    """A condition that is false only if the text is certainly the one that the attributes make."""
    if len(key.pieces) == 1 and key.pieces[0].leads:
        return _number_differs(key, text, source)
    pieces: list[str] = []
    others: list[str] = []
    for piece in key.pieces:
        literal, value = quoted(piece.literal), f"o.{piece.name}"
        if piece.write is not None:
            value = f"{source.bind(piece.write, 'write')}({value})"
        elif piece.leads:
            n = source.fresh("n")
            literal += f"{{{source.bind(piece.leads, 'leads')}[len({n} := str({value}))]}}"
            others.append(f"{value} < 0")
            value = n
        elif piece.escaped:
            v = source.fresh("v")
            value = f"({v} := {value})"
            others.append(_holds(piece.escaped, v, source))
        pieces.append(f"{literal}{{{value}}}")
    return " or ".join([f'{text} != f"{"".join(pieces)}{quoted(key.end)}"', *others])


def _number_differs(key: KeyText, text: str, source: Source) -> str:
    """For a key of one whole number: two texts are joined, which takes half the time of an f-string."""
    (piece,) = key.pieces
    leads = source.bind(tuple(piece.literal + lead for lead in piece.leads), "leads")
    n = source.fresh("n")
    after = f" + {key.end!r}" if key.end else ""
    return f"{text} != {leads}[len({n} := str(o.{piece.name}))] + {n}{after} or o.{piece.name} < 0"


def _remembering(key: KeyText, text: str, check: Sequence[str], source: Source) -> list[str]:
    """The check, but for what was found right last. One tuple, replaced whole: threads share it."""
    last = source.bind([("", *("" for _ in key.pieces))], "last")
    values = [f"o.{piece.name}" for piece in key.pieces]
    known = source.fresh("m")
    differs = [f"{known}[0] != {text}", *(f"{known}[{n}] != {value}" for n, value in enumerate(values, 1))]
    return [
        f"{known} = {last}[0]",
        f"if {' or '.join(differs)}:",
        *(f"    {line}" for line in check),
        f"    {last}[0] = ({text}, {', '.join(values)})",
    ]


def _holds(characters: str, name: str, source: Source) -> str:
    if len(characters) > _FEW:
        find = re.compile(f"[{re.escape(characters)}]").search
        return f"{source.bind(find, 'find')}({name})"
    return " or ".join(f"{character!r} in {name}" for character in characters)


def key_reads(keys: Sequence[KeyText], source: Source) -> dict[str, str]:
    """The expressions of the attributes that an item has in its key only. The check of the key follows."""
    return {
        name: f"{source.bind(read, 'read')}(w.k{i}.{key.tag})"
        for i, key in enumerate(keys)
        for name, read in key.reads.items()
    }
