"""Checks each item's key against its attributes: an object is never read from under another's key.

A table that other programs wrote may contain items whose key does not match their attributes. They would be written
back under a second key, so they are Corrupt. It may also contain items whose id is in the key only: the id is read from
the key.

The compiled reader of `values.codecs` compares the texts while it builds an object. This module makes the texts for it,
and has the slow path, which explains a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from typing import Any

from singletable.errors import Corrupt, SingletableError
from singletable.operations import Item
from singletable.schema.key_text import Template
from singletable.tables import TableDefinition
from singletable.values import Field, KeyText

_ABSENT: Mapping[str, Any] = {}


class StoredKey:
    """The primary key of one class, as its items must store it."""

    def __init__(
        self,
        kind: type[Any],
        definition: TableDefinition,
        templates: tuple[Template, Template],
        fields: Mapping[str, Field],
        was: StoredKey | None = None,
    ) -> None:
        self._kind, self._table, self._fields = kind, definition.name, fields
        attributes = tuple(filter(None, definition.key))
        self._tags = {attribute: definition.kinds.get(attribute, "S") for attribute in attributes}
        self.was = was
        """The same for the key that the class had before."""
        self._templates = dict(zip(attributes, templates, strict=False))  # no sort key, no template of one
        self._partition = attributes[0]
        self.values_in_key = frozenset(field.stored for field in fields.values() if field.is_in_key)
        """The attributes that an item has in its key only."""
        self._repeated = {a: b for a, b in pairwise((*attributes, attributes[0])) if a != b and self._repeats(a, b)}
        self._writers = {
            attribute: _lenient_writer(template)
            for attribute, template in self._templates.items()
            if attribute not in self._repeated and not self._is_read_from(template, attribute)
        }

    def key_texts(self, loaded: Collection[str]) -> list[KeyText]:
        """The key texts that the loaded attributes determine. The compiled reader compares them."""
        held = [a for a in (*self._writers, *self._repeated) if {*self._templates[a].names} <= {*loaded}]
        return [self._key_text(attribute) for attribute in held]

    def known_from(self, item: Item) -> Mapping[str, Any]:
        """The values of attributes that an item has in its key only."""
        if self.was is not None and self.was.is_written_in(item) and not self.is_written_in(item):
            return self.was.known_from(item)
        known: dict[str, Any] = {}
        for attribute, template in self._templates.items():
            text = item.get(attribute, _ABSENT).get(self._tags[attribute])
            if isinstance(text, str) and any(self._fields[name].stored not in item for name in template.names):
                known |= template.read(text) or {}
        return known

    def is_written_in(self, item: Item) -> bool:
        """Whether an item has a key that these templates could have written."""
        texts = ((item.get(name, _ABSENT).get(self._tags[name]), t) for name, t in self._templates.items())
        return all(isinstance(text, str) and template.read(text) is not None for text, template in texts)

    def check(self, entity: Any, item: Item) -> None:
        """Raises Corrupt if an item's key does not match its attributes. Unloaded attributes are not checked."""
        wrong = self.wrong_in(entity, item)
        if wrong is not None and (self.was is None or self.was.wrong_in(entity, item) is not None):
            raise self._misplaced(wrong)

    def wrong_in(self, entity: Any, item: Item) -> str | None:
        """The attribute of an item's key that does not match the item's attributes, if one does not."""
        for attribute, write in self._writers.items():
            loaded = all(hasattr(entity, name) for name in self._templates[attribute].names)
            if loaded and attribute in item and item[attribute] != {self._tags[attribute]: _said(write, entity)}:
                return attribute
        for attribute, other in self._repeated.items():
            if item.get(attribute) != item.get(other):
                return attribute
        return None

    def _is_read_from(self, template: Template, attribute: str) -> bool:
        """Whether the values of a key text are read from an attribute of the key, as a node's id is."""
        return bool(template.names) and all(self._fields[name].stored == attribute for name in template.names)

    def _repeats(self, attribute: str, other: str) -> bool:
        """Whether a key text can only be checked against the other, which it repeats."""
        template = self._templates[attribute]
        return self._is_read_from(template, other) and template.parts == self._templates[other].parts

    def _key_text(self, attribute: str) -> KeyText:
        if attribute in self._repeated:
            return KeyText(attribute, (), "", _misplaced, same_as=self._repeated[attribute], tag=self._tags[attribute])
        template, write = self._templates[attribute], self._writers[attribute]
        pieces, end = template.pieces

        def check(entity: Any, text: str) -> None:
            if text != _said(write, entity):
                _misplaced(entity, text)

        made = tuple(slot.key_type.piece(literal, slot.name, template.place_of(slot)) for literal, slot in pieces)
        return KeyText(
            attribute,
            made,
            end,
            check,
            attribute == self._partition,
            tag=self._tags[attribute],
            reads={
                name: _reader(template, name)
                for name in template.names
                if self._fields[name].is_in_key and attribute == self._first_with(name)
            },
        )

    def _first_with(self, name: str) -> str:
        """The first attribute of the key that has a value."""
        return next(attribute for attribute, template in self._templates.items() if name in template.names)

    def _misplaced(self, attribute: str) -> Corrupt:
        template = self._templates[attribute]
        made = ", ".join(dict.fromkeys(template.names)) or "the class"
        return Corrupt(
            f"an item of {self._kind.__name__} has another {attribute} than {made} makes ({template.shown})",
            table=self._table,
            attribute=attribute,
            hint="Declare the key in the form that it is stored in, as {number:raw} or {at:ms}; or write the item "
            "again under its key and delete this one. `db.check(table)` finds all such items.",
        )


def _misplaced(entity: Any, text: str) -> None:
    """Sends the item to the slow path, which raises the error."""
    raise ValueError("the item lies elsewhere than its attributes say")


def _lenient_writer(template: Template) -> Callable[[object], str]:
    """`write_of` for stored values: it refuses no identifier for its form and no number for its width."""
    lenient = Template(template.parts, template.separator)
    pieces, end = lenient.pieces
    writers = [
        (literal, slot.name, slot.key_type.lenient_writer(slot.name, lenient.place_of(slot)))
        for literal, slot in pieces
    ]
    return lambda entity: "".join([text + write(getattr(entity, name)) for text, name, write in writers]) + end


def _said(write: Callable[[Any], str], entity: Any) -> str | None:
    """The text that an entity's attributes make; None if a value has no place in a key."""
    try:
        return write(entity)
    except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError):
        return None


def _reader(template: Template, name: str) -> Callable[[str], Any]:
    """The function that takes one value out of a key text. What else the text has is compared afterwards."""
    pieces, end = template.pieces
    literal, slot = pieces[0]
    if len(pieces) == 1 and not end:
        start, read = len(literal), slot.key_type.read
        return lambda text: read(text[start:])

    def read_part(text: str) -> Any:
        values = template.read(text)
        if values is None:
            raise ValueError("the key is of another class")
        return values[name]

    return read_part
