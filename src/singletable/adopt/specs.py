"""Specs: what adoption has found of a kind of items, before it is written as a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from singletable.adopt.attributes import AttributeColumn
from singletable.adopt.key_texts import SlotValue

Stamps = Mapping[str, str | int]


class KeyTextSpec(Struct, frozen=True):
    """The text of one key attribute: literals, and attributes in their forms."""

    attribute: str
    pieces: tuple[str | SlotValue, ...]
    doubts: tuple[str, ...] = ()
    """Other readings, in words, which are right for all items that were read, too."""

    @property
    def places(self) -> tuple[SlotValue, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, SlotValue))

    @property
    def is_lone(self) -> bool:
        """Whether the key attribute is an attribute of the class, unchanged."""
        return len(self.pieces) == 1 and any(place.name == self.attribute for place in self.places)


class KeySpec(Struct, frozen=True):
    """A key of a kind: that of the table, under None, or of an index."""

    index: str | None
    texts: tuple[KeyTextSpec, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes in it, in their order."""
        return tuple(dict.fromkeys(place.name for text in self.texts for place in text.places))


class KindSpec(Struct, frozen=True):
    """A kind of items, as a class of the module."""

    type: str
    title: str
    """The name of its class."""
    items: int
    keys: tuple[KeySpec, ...]
    columns: tuple[AttributeColumn, ...]
    stamps: Stamps = {}
    is_ambiguous: bool = False
    left: tuple[str, ...] = ()
    """The parts that the class does not declare, and why, in words."""

    @property
    def doubts(self) -> Iterator[str]:
        """Other readings of its keys, in words."""
        for key in self.keys:
            for text in key.texts:
                yield from (f"{text.attribute}: {doubt}" for doubt in text.doubts)
