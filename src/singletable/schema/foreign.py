"""Foreign tables, in which another program's items lie: `Table(..., foreign=True)`.

The library keeps nothing of its own there. An item is of the class that its type attribute names; without one, of the
class whose key it lies under. So no two classes may share a key, which `overlap` decides when a class is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from singletable.errors import DeclarationError
from singletable.operations import Item
from singletable.values import AttributeValue, Constant, check_name, wire_struct

READ_ONLY_HINT = "Of an adopted module, `singletable adopt --verify --all` allows writes once every item is made again."
Stamp = Mapping[str, str | int]
"""Attributes that another program wants in each item of a class, always with the same value: `{"__edb_v__": "1"}`."""


def type_in_foreign(table: Any, item: Item) -> str:
    """The type of an item; empty for one that no class of the table has."""
    stored = item.get(table.definition.type_attribute)
    if stored is not None:
        model = table.model_of_type(str(stored.get("S", "")))
        return str(stored.get("S", "")) if model is None or is_stamped(model, item) else ""
    if table.guards_overlap:
        return ""
    by_key = (m for m in table.models if m.stored_key.is_written_in(item) and is_stamped(m, item))
    return next((model.type for model in by_key), "")


def is_stamped(model: Any, item: Item) -> bool:
    """Whether an item has no other value than the class's where the class has a constant. It may lack it."""
    return all(item.get(c.stored, c.value) == c.value for c in model.stamps)


def stamps_of(stamp: Stamp, table: Any, where: str) -> tuple[Constant, ...]:
    """The constants of a class. DeclarationError for a value that is neither a text nor a whole number."""
    if stamp and not table.definition.foreign:
        raise DeclarationError(
            f"{where}: stamp= is for a table that another program writes too",
            table=table.name,
            hint="Declare it so, Table(..., foreign=True); or declare an attribute with a default.",
        )
    constants: list[Constant] = []
    for name, value in stamp.items():
        check_name(name, attribute=f"{where}(stamp=)")
        if type(value) not in (str, int):
            raise DeclarationError(
                f"{where}: the stamp {name!r} is a {type(value).__name__}", hint="A stamp is a str or an int."
            )
        stored: AttributeValue = {"S": value} if isinstance(value, str) else {"N": str(value)}
        constants.append(Constant(name, stored, wire_struct(next(iter(stored)), Literal[value]), may_be_absent=True))
    return tuple(constants)


def check_foreign(model: Any) -> None:
    """DeclarationError for a class that needs items or attributes of the library's own in a foreign table."""
    for is_declared, what, hint in _refusals(model):
        if is_declared:
            raise DeclarationError(
                f"{model.kind.__name__} {what}, and {model.table.name} is foreign", table=model.table.name, hint=hint
            )


def _refusals(model: Any) -> tuple[tuple[bool, str, str], ...]:
    definition, roles = model.table.definition, model.roles.values()
    own = "Keep it in a table of your own, declared without foreign=True."
    return (
        (model.is_system or bool(model.prefix), "is a class of a layer, which keeps items of its own", own),
        (bool(model.unique_types), "has unique values, each with a guard item", own),
        (bool(model.searches), "has a search, with an item for each word", own),
        (
            "version" in roles and not definition.write_id_attribute,
            "counts its writes, which takes the id of the last one",
            'Name an attribute for it: Table(..., write_id_attribute="_w").',
        ),
        (
            "expires" in roles and definition.ttl_attribute is None,
            "has a time of expiry",
            "Name the table's TTL attribute: Table(..., ttl_attribute=...).",
        ),
        (
            model.version != 1 and not definition.version_attribute,
            f"is of schema version {model.version}, which each item would carry",
            'Name an attribute for it: Table(..., version_attribute="_v"); an item without it is of version 1.',
        ),
        (
            model.key.was is not None or model.is_leaving,
            "moves from another key",
            "Move the items by a program of your own, or import them into a table of your own.",
        ),
    )
