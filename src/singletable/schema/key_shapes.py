"""Key shapes: keys that are not two texts of parts, as other programs have them.

    Table("readings", key=("device", N("at")))      # `at` holds numbers; `device` is an attribute as well
    Table("users", key="user_id")                   # no sort key

A key attribute that holds one attribute's value as it is stored has a template of one slot, a `LoneValue`; that of a
missing sort key has no parts.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Annotated, Any, cast, get_args, get_origin

from msgspec import Struct

from singletable.errors import DeclarationError
from singletable.schema.key_text import MAX_PARTITION_BYTES, MAX_SORT_BYTES, KeyPart, Slot, Template
from singletable.tables import TableDefinition
from singletable.values import METADATA, LoneValue, Scalar, plan_for, split_optional

_TOKEN = re.compile(r"\0([^:\0]+):([^\0]*)\0")
"""The text that a key function returns for one value alone."""
_AS_STORED = ("", "raw", "rest")
_HELD = {"S": "texts", "N": "numbers", "B": "bytes"}


class KeyShape(Struct, frozen=True):
    """The key attributes that the texts of a key function are for, in a table or one of its indexes."""

    attributes: tuple[str, str]
    definition: TableDefinition
    cls: type[Any]
    types: Mapping[str, Any]
    where: str

    @property
    def has_sort(self) -> bool:
        return bool(self.attributes[1])

    def whole(self, at: int, text: str) -> Template | None:
        """The template of a text that is one value as it is stored, or nothing; None for a text of parts.

        DeclarationError where the key attribute holds no such values.
        """
        limit = (MAX_PARTITION_BYTES, MAX_SORT_BYTES)[at]
        attribute = self.attributes[at]
        if not attribute:
            return Template((), limit=limit)
        kind, token = self.definition.kinds.get(attribute, "S"), _TOKEN.fullmatch(text)
        if token is None or token[2] not in (*_AS_STORED, *(("!r",) if kind == "B" else ())):
            if kind != "S":
                raise DeclarationError(
                    f"{self.where}: {attribute} holds {_HELD[kind]}, and the key function makes a text for it",
                    hint='Return the one value alone, as in f"{at}".',
                )
            return None
        if kind == "S" and self._stored_name(token[1]) != attribute:
            return None
        return Template((KeyPart("", Slot(token[1], self._lone_value(token[1], attribute, kind))),), limit=limit)

    def _stored_name(self, name: str) -> str:
        """The name under which an attribute is stored."""
        fields = {field.name: field for field in dataclasses.fields(cast(Any, self.cls))}
        return str(fields[name].metadata.get(METADATA, {}).get("name") or name)

    def _lone_value(self, name: str, attribute: str, kind: str) -> LoneValue:
        inner, _ = split_optional(self.types[name])
        plan = plan_for(inner)
        if not isinstance(plan, Scalar) or plan.tag != kind:
            held = _HELD.get(getattr(plan, "tag", ""), "other values")
            raise DeclarationError(
                f"{self.where}: {attribute} holds {_HELD[kind]}, and {name} is stored as {held}",
                hint="Declare the kind of the key attribute: Table(..., key=(..., N(...))), or of the attribute.",
            )
        return LoneValue(_type_of(inner), plan)


def _type_of(kind: Any) -> type[Any]:
    """The Python type of an attribute's values, however they are stored."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type_of(arguments[0])
    return cast("type[Any]", kind if origin is None else type(arguments[0]))  # a Literal has values of one type


def shape_of(
    definition: TableDefinition, index: str | None, cls: type[Any], types: Mapping[str, Any], where: str
) -> KeyShape | None:
    """The shape of a class's key in a table or an index; None where it can only be two texts of parts."""
    attributes = definition.index_keys(index)
    stored = {f.metadata.get(METADATA, {}).get("name") or f.name for f in dataclasses.fields(cast(Any, cls))}
    is_usual = all(attributes) and not definition.kinds.keys() & {*attributes} and not stored & {*attributes}
    return None if is_usual else KeyShape(attributes, definition, cls, types, where)
