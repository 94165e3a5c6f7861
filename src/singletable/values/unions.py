"""Unions of dataclasses: a map of the attributes of one of them, and a tag that says of which.

    shape: Circle | Square                      # {"_type": "Circle", "radius": 2}
    Shape = Annotated[Circle | Square, Tagged("kind", circle=Circle, square=Square)]

The tag is read first, then the map by the compiled reader of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from singletable.errors import DeclarationError, InvalidValue
from singletable.values.codecs import Codec
from singletable.values.decoders import json_decoder
from singletable.values.exact import named
from singletable.values.fields import Constant, Field
from singletable.values.plans import Form, ValuePlan, wire_struct
from singletable.values.source import Source
from singletable.values.untyped import MAX_CONTAINERS, AttributeValue, too_deep

TAG: Final = "_type"
_formed: ContextVar[tuple[object, ...]] = ContextVar("forms of unions under way", default=())
_depth: ContextVar[int] = ContextVar("objects of unions in each other", default=0)


class Tagged:
    """The tags of a union's classes: `Annotated[Circle | Square, Tagged("kind", circle=Circle, square=Square)]`.

    `untagged` is the class of a map without a tag: of what was stored before the union was declared.
    """

    def __init__(self, name: str = TAG, /, *, untagged: type[Any] | None = None, **classes: type[Any]) -> None:
        self.name, self.untagged, self.classes = name, untagged, classes

    def tags_of(self, kinds: Sequence[type[Any]]) -> dict[str, type[Any]]:
        """Each class by its tag; DeclarationError where the tags and the union have different classes."""
        tags = self.classes or {kind.__name__: kind for kind in kinds}
        if len(tags) != len(kinds) or set(tags.values()) != set(kinds) or not {self.untagged} <= {None, *kinds}:
            names = ", ".join(kind.__name__ for kind in kinds)
            raise DeclarationError(
                f"the tags of a union are not those of its classes: {names}",
                hint='Name each once, as in Tagged("kind", circle=Circle, square=Square).',
            )
        return tags


class UnionPlan(ValuePlan, frozen=True, eq=False, dict=True):
    """One of several dataclasses, stored with its tag."""

    name: str
    classes: Mapping[str, type[Any]]
    fields_of: Callable[[type[Any]], Sequence[Field]]
    untagged: type[Any] | None = None

    @property
    def wire(self) -> Any:
        return wire_struct("M", Raw)

    def read(self, source: Source, name: str) -> str:
        return f"{source.bind(self._read, 'union')}({name}.M)"

    def write(self, source: Source, name: str) -> str:
        return f'{{"M": {source.bind(self._dump, "union")}({name})}}'

    def load(self, value: AttributeValue) -> Any:
        if "M" not in value:
            raise ValueError(f"stored as {', '.join(value)}, not as M")
        return self.codec_at(value["M"]).load(value["M"])

    @property
    def form(self) -> Form:
        """By its tags; of a union inside of itself, the number of unions up to it: "^1"."""
        around = _formed.get()
        if self in around:
            return {"tagged": f"^{len(around) - around.index(self)}", "by": self.name}
        token = _formed.set((*around, self))
        try:
            tagged = {tag: {"object": {f.stored: f.form for f in codec.fields}} for tag, codec in self._codecs.items()}
        finally:
            _formed.reset(token)
        untagged = [tag for tag, kind in self.classes.items() if kind is self.untagged]
        return {"tagged": tagged, "by": self.name, **({"untagged": untagged[0]} if untagged else {})}

    def codec_of(self, value: Any) -> Codec[Any]:
        """The codec of an object's class; InvalidValue for another one."""
        codec = self._by_class.get(value.__class__)
        if codec is None:
            names = " or ".join(kind.__name__ for kind in self.classes.values())
            raise InvalidValue(
                f"a {names} is expected, not {named(value)}", hint="Add its class to the union, with a tag."
            )
        return codec

    def codec_at(self, stored: Mapping[str, AttributeValue]) -> Codec[Any]:
        """The codec of a stored map; ValueError for a tag of no class."""
        tag = stored.get(self.name, {}).get("S")
        return self._tagged(tag)

    def _tagged(self, tag: str | None) -> Codec[Any]:
        if tag is None and self.untagged is not None:
            return self._untagged
        codec = self._codecs.get(tag or "")
        if codec is None:
            raise ValueError("the stored map has no tag of a class of the union")
        return codec

    def _read(self, raw: Raw) -> Any:
        """The object of a stored map, by the compiled reader of its class."""
        try:
            tag = self._peek(raw).tag
            codec = self._tagged(None if tag is None else tag.S)
            if codec not in self._decoders:
                self._decoders[codec] = json_decoder(codec.wire, strict=False).decode
            return codec.build(self._decoders[codec](raw))
        except msgspec.MsgspecError:
            raise ValueError("the stored map is not one of its class") from None

    def _dump(self, value: Any) -> dict[str, AttributeValue]:
        depth = _depth.get() + 1
        if depth >= MAX_CONTAINERS:
            raise too_deep()
        token = _depth.set(depth)
        try:
            return self.codec_of(value).dump_within(value)
        finally:
            _depth.reset(token)

    @cached_property
    def _decoders(self) -> dict[Codec[Any], Callable[[Raw], Any]]:
        return {}

    @cached_property
    def _peek(self) -> Callable[[Raw], Any]:
        tag = wire_struct("S", str) | None
        looks: Any = msgspec.defstruct("TagLook", [("tag", tag, None)], rename={"tag": self.name}, gc=False)
        return json_decoder(looks).decode

    @cached_property
    def _codecs(self) -> Mapping[str, Codec[Any]]:
        """Compiled when first needed, so that classes may name each other."""
        return {tag: self._codec(tag, kind) for tag, kind in self.classes.items()}

    @cached_property
    def _untagged(self) -> Codec[Any]:
        assert self.untagged is not None
        return Codec(self.untagged, self._fields(self.untagged))

    @cached_property
    def _by_class(self) -> Mapping[type[Any], Codec[Any]]:
        return {kind: self._codecs[tag] for tag, kind in self.classes.items()}

    def _codec(self, tag: str, kind: type[Any]) -> Codec[Any]:
        own = Constant(self.name, {"S": tag}, wire_struct("S", Literal[tag]))
        return Codec(kind, self._fields(kind), constants=[own])

    def _fields(self, kind: type[Any]) -> Sequence[Field]:
        fields = self.fields_of(kind)
        if any(field.stored == self.name for field in fields):
            raise DeclarationError(
                f"{kind.__name__} has an attribute that is stored as {self.name!r}, which is the union's tag",
                hint='Give the tag another name, as in Tagged("kind").',
            )
        return fields
