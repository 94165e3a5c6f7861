"""Doubts: the other readings of a key that are right for all items, too. They are said, in words; nothing chooses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from singletable.adopt.key_texts import SlotValue
from singletable.adopt.readings import Reading, is_named

_MOST_SHAPES = 2


def doubts_of(live: Sequence[Reading], pieces: Sequence[str | SlotValue], in_key: Collection[str]) -> Iterator[str]:
    """Other readings of a text: other attributes in a place; digits with a width; other ways to read the whole."""
    for before, piece, chosen in zip(("", *live[0]), live[0], pieces, strict=False):
        if isinstance(piece, str) or not isinstance(chosen, SlotValue):
            continue
        if not chosen.name:
            widths = [place.form.format for place in piece if place.kind.startswith("digits")]
            if chosen.kind == "number" and widths:
                yield f"a number that is in the key alone, of {int(widths[0])} digits in all items: raw or {widths[0]}"
            continue
        others = sorted({place.name for place in piece if place.name} - {chosen.name})
        if others:
            yield f"{{{chosen.name}}} or {' or '.join(f'{{{name}}}' for name in others)}"
        if chosen.form.format in ("lower", "upper") and not is_named(before, chosen.name):
            yield f"{{{chosen.name}:{chosen.form.format}}} or a value that is in keys alone"
        widths = [p.form.format for p in piece if p.name == chosen.name and p.form.format[:1] == "0"]
        if chosen.form.format == "raw" and widths and chosen.name not in in_key:
            yield f"{{{chosen.name}:raw}} or {{{chosen.name}:{min(widths)}}}"
    if _is_of_attributes(live[0]) and not _are_named(live[0], pieces):
        yield from islice(_other_shapes(live), _MOST_SHAPES)


def _are_named(reading: Reading, pieces: Sequence[str | SlotValue]) -> bool:
    """Whether the literal before each value has its name."""
    befores = zip(("", *reading), pieces, strict=False)
    return all(is_named(before, piece.name) for before, piece in befores if isinstance(piece, SlotValue))


def _other_shapes(live: Sequence[Reading]) -> Iterator[str]:
    """Other ways to read a text as literals and attributes: by others, not by parts of the same."""
    shapes, names = {first := _shape(live[0])}, _names_in(live[0])
    for reading in filter(_is_of_attributes, live[1:]):
        if (shape := _shape(reading)) not in shapes and not _names_in(reading) <= names:
            shapes.add(shape)
            yield f"{first} or {shape}"


def _names_in(reading: Reading) -> frozenset[str]:
    return frozenset(place.name for piece in reading if not isinstance(piece, str) for place in piece)


def _is_of_attributes(reading: Reading) -> bool:
    places = [piece for piece in reading if not isinstance(piece, str)]
    return bool(places) and all(any(place.name for place in piece) for piece in places)


def _shape(reading: Reading) -> str:
    return "".join(
        piece if isinstance(piece, str) else f"{{{min(place.name for place in piece if place.name)}}}"
        for piece in reading
    )
