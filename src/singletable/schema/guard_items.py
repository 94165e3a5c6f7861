"""Guard items: each unique value is reserved by an item, written in the same transaction as its owner.

    pk  _unique#<type>#<attribute>#<value>      sk  _unique
    _type "_unique"   owner, owner_sort: the key of the item that has the value   (and the same TTL)

No query of another class returns a guard: no other class may have such a key or type.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from singletable.errors import InvalidValue
from singletable.schema.declaration import WRITE_VERBS, Special
from singletable.schema.entities import Entity, field
from singletable.schema.models import Model, model_of
from singletable.schema.patterns import KeyOf
from singletable.schema.system_items import KeyParts, system_key
from singletable.schema.table import GUARD_TYPE, Table
from singletable.values import TEXT, Field, Verbatim, name_owner

_IN_KEY = ("type", "attribute", "value")
_WRITERS = "The guard of a unique value is written with the item that has the value."


class ValueText(str, Verbatim):
    """A unique value in a key: of any type, escaped if its type is."""

    wanted: ClassVar[str] = "a value's text in a key"

    @classmethod
    def to_text(cls, value: Any) -> str:
        return str(value)

    @classmethod
    def from_text(cls, text: str) -> ValueText:
        return cls(text)


class Guard(Entity):
    """The guard of one unique value. The value is in its key only; its attributes name the owner."""

    type: str
    attribute: str
    value: ValueText = field(personal=True)
    owner: str
    owner_sort: str

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        in_key = {name: Field(name, f"{GUARD_TYPE} {name}", TEXT, is_written=False) for name in _IN_KEY}
        return Special(fields=in_key, refuses=dict.fromkeys(WRITE_VERBS, _WRITERS), is_admitted=False)


@cache
def guards_of(table: Table) -> type[Any]:
    """The entity of a table's guards."""

    class UniqueGuard(Guard, table=table, type=GUARD_TYPE):
        @system_key(table)
        @staticmethod
        def by_value(type: str, attribute: str, value: ValueText) -> KeyParts:
            """The guard of a unique value, with its owner's key."""
            return (GUARD_TYPE, f"{type}", f"{attribute}", f"{value}"), (GUARD_TYPE,)

    return UniqueGuard


def guard_key(model: Model[Any], attribute: str, value: Any) -> KeyOf[Any]:
    """The key of the guard of one value. Raises InvalidValue for a value that can't be in a key."""
    try:
        text = ValueText(model.unique_texts[attribute](value))
        key: KeyOf[Any] = guards_of(model.table).by_value(model.type, attribute, text)
    except InvalidValue as error:
        error.attribute = attribute
        name_owner(error, model.kind)
        raise
    return key


def guard_keys(model: Model[Any], entity: Any) -> list[KeyOf[Any]]:
    """The keys of the guards of an entity. Raises InvalidValue as `guard_key`."""
    values = ((field.name, getattr(entity, field.name)) for field in model.uniques)
    return [guard_key(model, name, value) for name, value in values if value is not None]


def guard_prefix(model: Model[Any], attribute: str) -> str:
    """The prefix of the partition keys of all guards of one unique attribute."""
    guards = model_of(guards_of(model.table))
    return guards.key.templates[0].prefix({"type": model.type, "attribute": attribute})


def guarded_type(table: Table, partition: str) -> str | None:
    """The type of the item that has a value, by the partition key of the value's guard."""
    values = model_of(guards_of(table)).key.templates[0].read(partition)
    return None if values is None else str(values["type"])
