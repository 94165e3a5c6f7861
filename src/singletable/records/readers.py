"""Readers: how the items of an answer become entities, for one class, for several, and for a part of the attributes.

Each is a `Reader` of `operations`; a `Model` is the reader of its own class.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import msgspec
from msgspec import Raw

from singletable.errors import Corrupt
from singletable.operations import Item, Reader, read_one
from singletable.records.models import Model, model_of
from singletable.values import Codec, wire_struct


def reader_of(kinds: tuple[type[Any], ...], attributes: tuple[str, ...] = ()) -> Reader[Any]:
    """The reader of these classes' items, whole or of some attributes only."""
    if len(kinds) == 1 and not attributes:
        return model_of(kinds[0])
    return _reader_of(kinds, attributes)


@cache
def _reader_of(kinds: tuple[type[Any], ...], attributes: tuple[str, ...]) -> Reader[Any]:
    models = [model_of(kind) for kind in kinds]
    readers: list[Reader[Any]] = [PartReader(model, attributes) if attributes else model for model in models]
    return readers[0] if len(readers) == 1 else MixedReader(models, readers)


class MixedReader:
    """Items of several classes of one table, told apart by their type. Others are left out."""

    wire = Raw

    def __init__(self, models: list[Model[Any]], readers: list[Reader[Any]]) -> None:
        self.by_type: Mapping[str, Reader[Any]] = {m.type: r for m, r in zip(models, readers, strict=True)}
        attribute = models[0].table.definition.type_attribute
        peek: Any = msgspec.defstruct("Peek", [("type", wire_struct("S", str))], rename={"type": attribute}, gc=False)
        self._peek = msgspec.json.Decoder(peek).decode
        self._attribute = attribute

    def build(self, wire: Raw) -> Any:
        reader = self.by_type.get(self._peek(wire).type.S)
        return None if reader is None else read_one(wire, reader)

    def load(self, item: Item) -> Any:
        reader = self.by_type.get(item.get(self._attribute, {}).get("S", ""))
        return None if reader is None else reader.load(item)


class PartReader:
    """Some attributes of one class's items; the objects have no others."""

    def __init__(self, model: Model[Any], attributes: tuple[str, ...]) -> None:
        self.model = model
        expires = () if model.expires is None else (model.expires.name,)
        self.names = (*attributes, *expires)

    @cached_property
    def codec(self) -> Codec[Any]:
        fields = [self.model.by_name[name] for name in dict.fromkeys(self.names)]
        return Codec(self.model.kind, fields, self.model.constants, whole=False)

    @property
    def wire(self) -> Any:
        return self.codec.wire

    def build(self, wire: Any) -> Any:
        return self.codec.build(wire)

    def load(self, item: Item) -> Any:
        model = self.model
        if not model.is_mine(item):
            return None
        version = model.version_of(item)
        if version > model.version:
            raise model.newer(version)
        if version < model.version:
            # An upcaster may need any attribute, and only some were loaded.
            raise Corrupt(
                f"an item of {model.kind.__name__} has schema version {version}, and only a part of it was loaded",
                table=model.table.name,
                hint="Read it without only(...).",
            )
        return self.codec.load(item)
