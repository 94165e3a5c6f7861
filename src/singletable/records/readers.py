"""Readers turn the items of an answer into entities: of one class, of several, or with some of the attributes.

Each is a `ItemReader` of `operations`; a `Model` is the reader of its own class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw

from singletable.errors import Corrupt, InvalidRequest
from singletable.operations import Item, ItemReader, Key, read_item, read_one
from singletable.records.placement import placement_of
from singletable.records.unreadable import TellingReader
from singletable.schema import Entity, KeyOf, Model, Table, model_of, naming
from singletable.values import IN_PART, UNDECLARED, Codec, json_decoder, wire_struct

Place = tuple[str, str]
"""A primary key's two texts."""


def place_in(table: Table, item: Item | Key) -> Place:
    """The place of an item, or of a key as requests have it."""
    definition = table.definition
    if not definition.has_text_keys:
        return definition.place_in(item)
    partition, sort = definition.key
    return item[partition]["S"], item[sort]["S"]


def reader_of(
    kinds: tuple[type[Any], ...], attributes: tuple[str, ...] = (), *, tells: bool = False
) -> ItemReader[Any]:
    """The reader of these classes' items, whole or with some attributes only. One that `tells` makes an Unreadable of
    an item that it can't read."""
    if len(kinds) == 1 and not attributes and not tells:
        return model_of(kinds[0])
    return _reader_of(kinds, attributes, tells)


@cache
def _reader_of(kinds: tuple[type[Any], ...], attributes: tuple[str, ...], tells: bool) -> ItemReader[Any]:
    models = [model_of(kind) for kind in kinds]
    whole = next((model for model in models if attributes and placement_of(model).whole_only), None)
    if whole is not None:
        raise InvalidRequest(
            f"only(...) of {whole.kind.__name__}, which has {placement_of(whole).whole_only}: upcasters need the whole "
            "item",
            table=whole.table.name,
            hint="Read it without only(...).",
        )
    readers: list[ItemReader[Any]] = [_part_reader(model, attributes) if attributes else model for model in models]
    if tells:
        readers = [TellingReader(reader) for reader in readers]
    if len(readers) == 1:
        return readers[0]
    return (ForeignMixedReader if models[0].table.definition.foreign else MixedReader)(models, readers)


@cache
def placed_reader_of(kinds: tuple[type[Any], ...], *, tells: bool = False) -> ItemReader[tuple[Place, Any]]:
    """The same for whole items, each with the two texts of its primary key."""
    reader, table = reader_of(kinds, tells=tells), model_of(kinds[0]).table
    if not _has_key_texts(kinds) or isinstance(reader, ForeignMixedReader):
        return PlacedForeignReader(reader, table)
    return (PlacedMixedReader if isinstance(reader, MixedReader) else PlacedReader)(reader, table)


class PlacedReader:
    """One class's items with their keys, read in the same pass."""

    def __init__(self, reader: ItemReader[Any], table: Table) -> None:
        self._reader, self._table, self._load = reader, table, reader.load
        self._made = self._make(reader.wire)

    @property
    def wire(self) -> Any:
        """Made anew for a reader that has learned names since."""
        if (wire := self._reader.wire) is not self._made[0]:
            self._made = self._make(wire)
        return self._made[1]

    def _make(self, wire: Any) -> tuple[Any, Any, Callable[[Any], Place], Callable[[Any], Any]]:
        """The wire type with its parts. The function is that of the wire type, or a later one, which refuses it."""
        return (wire, *_placed(self._table, wire), self._reader.build)

    def build(self, wire: Any) -> tuple[Place, Any]:
        _, _, place, build = self._made
        return place(wire), build(wire)

    @property
    def build_all(self) -> Callable[[Sequence[Any]], list[tuple[Place, Any]]] | None:
        """`build` of many, where the class's own reader has a way."""
        place, build_all = self._made[2], getattr(self._reader, "build_all", None)
        return None if build_all is None else lambda wires: [*zip(map(place, wires), build_all(wires), strict=True)]

    def load(self, item: Item) -> tuple[Place, Any] | None:
        entity = self._load(item)
        return None if entity is None else (place_in(self._table, item), entity)


class PlacedMixedReader(PlacedReader):
    """The same for several classes: type and key are decoded together first."""

    wire: Any = Raw
    build_all: Any = None

    def __init__(self, reader: Any, table: Table) -> None:
        self._table, self._load, self._by_type = table, reader.load, reader.by_type
        wire, self._place = _placed(table, reader.peek)
        self._peek = json_decoder(wire).decode

    def build(self, wire: Raw) -> Any:
        peeked = self._peek(wire)
        reader = self._by_type.get(peeked.type.S)
        found = None if reader is None else read_one(wire, reader)
        return None if found is None else (self._place(peeked), found)


class PlacedForeignReader(PlacedReader):
    """The same where keys are of other kinds, or attributes; and for several classes of a foreign table."""

    wire: Any = Raw
    build_all: Any = None

    def __init__(self, reader: ItemReader[Any], table: Table) -> None:
        self._table, self._load, self._reader = table, reader.load, reader

    def build(self, wire: Raw) -> Any:
        entity = read_one(wire, self._reader)
        return None if entity is None else (place_in(self._table, read_item(wire)), entity)


def _has_key_texts(kinds: tuple[type[Any], ...]) -> bool:
    """Whether the key is of two texts that no attribute of a class is."""
    models = [model_of(kind) for kind in kinds]
    own = {field.stored for model in models for field in model.fields if field.is_written}
    return models[0].table.definition.has_text_keys and not own & {*models[0].key_attributes}


def _placed(table: Table, wire: Any) -> tuple[Any, Callable[[Any], Place]]:
    """A wire type extended by the two texts of a key, and the function that gets them from it."""
    key = table.definition.key
    names = {f.encode_name: f.name for f in msgspec.structs.fields(wire)}
    added = [(f"key{i}", wire_struct("S", str), msgspec.field(name=k)) for i, k in enumerate(key) if k not in names]
    names |= {k: f"key{i}" for i, k in enumerate(key) if k not in names}
    placed = msgspec.defstruct("Placed", added, bases=(wire,), kw_only=True, gc=False)
    return placed, attrgetter(*(f"{names[k]}.S" for k in key))


class KeysReader:
    """The keys that items lie under, of some classes of one table. Other items are left out."""

    wire: Any = dict[str, dict[str, Any]]

    def __init__(self, models: Sequence[Model[Any]]) -> None:
        self._table = models[0].table
        self._by_type = {model.type: model for model in models}

    def load(self, item: Item) -> KeyOf[Any] | None:
        model = self._by_type.get(self._table.type_of(item))
        return None if model is None else model.key_at(place_in(self._table, item))

    build = load


class MixedReader:
    """Items of several classes of one table, distinguished by type. Other items are left out."""

    wire = Raw

    def __init__(self, models: list[Model[Any]], readers: list[ItemReader[Any]]) -> None:
        self.by_type: Mapping[str, ItemReader[Any]] = {m.type: r for m, r in zip(models, readers, strict=True)}
        attribute = models[0].table.definition.type_attribute or "no type"
        self.table = models[0].table
        self.peek: Any = msgspec.defstruct(
            "Peek", [("type", wire_struct("S", str))], rename={"type": attribute}, gc=False
        )
        self._peek = json_decoder(self.peek).decode

    def build(self, wire: Raw) -> Any:
        reader = self.by_type.get(self._peek(wire).type.S)
        return None if reader is None else read_one(wire, reader)

    def load(self, item: Item) -> Any:
        reader = self.by_type.get(self.table.type_of(item))
        return None if reader is None else reader.load(item)


class ForeignMixedReader(MixedReader):
    """The same of a foreign table, where an item without a type is of the class whose key it has."""

    def build(self, wire: Raw) -> Any:
        reader = self.by_type.get(self.table.type_of(read_item(wire)))
        return None if reader is None else read_one(wire, reader)


def _part_reader(model: Model[Any], attributes: tuple[str, ...]) -> ItemReader[Any]:
    """The reader of some attributes. If they are all that is declared, its objects could be taken for whole ones."""
    reader = PartReader(model, attributes)
    are_all = {field.name for field in model.fields if field.is_written} <= {*reader.names}
    return InPartReader(reader) if are_all else reader


class InPartReader:
    """The same reader, for an index that holds a part of each item: all that is declared, and maybe no more."""

    def __init__(self, reader: ItemReader[Any]) -> None:
        self.wire, self._build, self._load = reader.wire, reader.build, reader.load

    def build(self, wire: Any) -> Any:
        return _in_part(self._build(wire))

    def load(self, item: Item) -> Any:
        return _in_part(self._load(item))


def _in_part(entity: Any) -> Any:
    if isinstance(entity, Entity):
        vars(entity)[UNDECLARED] = IN_PART
    return entity


class PartReader:
    """Some attributes of one class's items. The objects have no others."""

    def __init__(self, model: Model[Any], attributes: tuple[str, ...]) -> None:
        self.model = model
        expires = () if model.expires is None else (model.expires.name,)
        self.names = (*attributes, *expires)

    @cached_property
    def codec(self) -> Codec[Any]:
        names = dict.fromkeys(self.names)
        fields = [self.model.by_name[name] for name in names]
        keys = self.model.stored_key.key_texts(names)
        return Codec(self.model.kind, fields, self.model.constants, keys=keys, whole=False)

    @property
    def wire(self) -> Any:
        return self.codec.wire

    @property
    def build(self) -> Callable[[Any], Any]:
        is_shown = not self.model.table.definition.foreign or self.model.identity <= {*self.names}
        return self.codec.build if is_shown else _by_load

    def load(self, item: Item) -> Any:
        model = self.model
        if not model.is_mine(item):
            return None
        with naming(model, item):
            version = model.version_of(item)
            if version > model.version:
                raise model.newer(version)
            if version < model.version:
                # An upcaster may need any attribute, and only some were loaded.
                raise Corrupt(
                    f"an item of {model.kind.__name__} has schema version {version}, and only a part of it was loaded",
                    hint="Read it without only(...).",
                )
            entity = self.codec.load(item, model.stored_key.known_from(item))
            model.stored_key.check(entity, item)
            return entity


def _by_load(wire: object) -> Any:
    """Sends an item to `load`, which looks at its whole key: the attributes that are read don't show its class."""
    raise ValueError("the class of the item is not known yet")
