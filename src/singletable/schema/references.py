"""References: attributes that say whose an item is, and attributes that only name somebody. An erasure follows them.

class Order(Entity, table=shop, type="order"):
    customer: str = field(belongs_to=Customer.email)      # the order is erased with the customer
    approved_by: str | None = field(default=None, mentions=Customer.email)   # the order stays, the name goes

A class that is declared later is named by a function: `belongs_to=lambda: Customer.email`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from singletable.errors import DeclarationError
from singletable.expressions import Handle, first_name, is_whole, owner_of
from singletable.schema.copies import copies_in
from singletable.schema.models import Model, model_of
from singletable.schema.patterns import Captured
from singletable.schema.table import Table
from singletable.values import METADATA

Bond = Literal["belongs_to", "mentions", "copy"]
BONDS: tuple[Bond, ...] = ("belongs_to", "mentions")
ERASED = "(erased)"
"""The replacement of a text that named an erased person, if it can't be None."""


@dataclass(frozen=True)
class Reference:
    """Attributes of a class that have the values of a subject's."""

    holder: type[Any]
    subject: type[Any]
    names: Mapping[str, str]
    """The subject's attribute, by the holder's."""
    bond: Bond
    clears: tuple[str, ...] = ()
    """The attributes that an erasure clears in the item; none where the item itself is deleted."""

    def values_of(self, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The values of the holder's attributes, for a subject with these values; None if one is unknown."""
        wanted = {name: values.get(other) for name, other in self.names.items()}
        return None if any(value is None for value in wanted.values()) else wanted

    def is_met(self, item: Any, wanted: Mapping[str, Any]) -> bool:
        """Whether an item refers to a subject that has these values."""
        if self.bond == "mentions":
            return all(mentions(getattr(item, name), value) for name, value in wanted.items())
        return all(getattr(item, name) == value for name, value in wanted.items())


def target_of(where: str, bond: str, said: Any) -> Handle:
    """The attribute that `belongs_to=` or `mentions=` names. DeclarationError if it names none."""
    found = said if isinstance(said, Handle) or not callable(said) else said()
    if not isinstance(found, Handle) or not is_whole(found):
        raise DeclarationError(
            f"{where}: {bond}= takes an attribute of an entity class",
            hint=f"As in field({bond}=User.email); of a class that comes later, field({bond}=lambda: User.email).",
        )
    return found


def references_in(model: Model[Any]) -> Iterator[Reference]:
    """The references of a class's attributes. Raises DeclarationError for one that can't be followed."""
    for declared in dataclasses.fields(cast(Any, model.kind)):
        options: Mapping[str, Any] = declared.metadata.get(METADATA, {})
        for bond in BONDS:
            if options.get(bond) is not None:
                yield _reference(model, declared.name, bond, options[bond])
    for source in dict.fromkeys(copy.source for copy in copies_in(model.kind)):
        names = sorted(model_of(source).identity)
        if all(name in model.by_name for name in names):
            copied = tuple(copy.name for copy in copies_in(model.kind, source))
            yield Reference(model.kind, source, {name: name for name in names}, "copy", copied)


def references_of(table: Table) -> list[Reference]:
    """Every reference of a table's classes, in declaration order."""
    return [reference for model in table.models for reference in references_in(model)]


def complete_patterns(model: Model[Any], reference: Reference) -> Iterator[Captured]:
    """The patterns that find every item of a class by what a reference has: its values make the partition, and no
    attribute that may be missing keeps an item out."""
    if reference.bond == "mentions" and any(not _is_plain(model, name) for name in reference.names):
        return
    for captured in (model.key, *model.indexes.values()):
        partition, sort = captured.templates
        needed = {*partition.names, *sort.names} - reference.names.keys()
        is_sparse = captured.index is not None and any(model.by_name[name].optional for name in needed)
        if partition.names and not partition.untold and reference.names.keys() >= {*partition.names} and not is_sparse:
            yield captured


def mentions(held: Any, value: Any) -> bool:
    """Whether a value is, or contains, another one."""
    same = type(held) is type(value) and bool(held == value)
    if isinstance(held, (set, frozenset, list, tuple)):
        return any(mentions(member, value) for member in cast("Any", held))
    if isinstance(held, dict):
        return any(mentions(each, value) for pair in cast("Any", held).items() for each in pair)
    if dataclasses.is_dataclass(held) and not isinstance(held, type):
        return any(mentions(getattr(held, part.name), value) for part in dataclasses.fields(held))
    return same


def cleared(model: Model[Any], name: str, held: Any, value: Any) -> Any:
    """An attribute's value without a mention: a member leaves its set, list or map; an optional value becomes None; a
    text says that it was erased. Raises DeclarationError for any other type."""
    return without_mention(held, value, lambda: empty(model, name))


def without_mention(held: Any, value: Any, empty_value: Callable[[], Any]) -> Any:
    """A value that mentions another one, without it: what can't leave it member by member becomes the empty value."""
    make: Any = held.__class__
    if isinstance(held, (set, frozenset, list, tuple)):
        return make([member for member in cast("Any", held) if not mentions(member, value)])
    if isinstance(held, dict):
        return {key: each for key, each in cast("Any", held).items() if not mentions((key, each), value)}
    return empty_value()


def empty(model: Model[Any], name: str) -> Any:
    """The value of an attribute that says nothing."""
    if model.by_name[name].optional:
        return None
    default = next(f.default for f in dataclasses.fields(cast(Any, model.kind)) if f.name == name)
    if default is not dataclasses.MISSING:
        return default
    if model.types.get(name) is str:
        return ERASED
    raise DeclarationError(
        f"{model.kind.__name__}.{name} names somebody, and has no value that says nothing",
        table=model.table.name,
        hint="Declare it with `| None`, or with a default; or use belongs_to=, and the item goes.",
    )


def _reference(model: Model[Any], name: str, bond: Bond, said: Any) -> Reference:
    handle = target_of(f"{model.kind.__name__}.{name}", bond, said)
    owner, other = owner_of(handle), first_name(handle)
    if model_of(owner).table is not model.table:
        raise DeclarationError(
            f"{model.kind.__name__}.{name} refers to {handle}, which is in table {model_of(owner).table.name}",
            table=model.table.name,
            hint="Erase in each table by itself.",
        )
    if bond == "mentions" and name in model.identity:
        raise DeclarationError(
            f"{model.kind.__name__}.{name} is a part of the key, which never changes: it can't be mentions=",
            table=model.table.name,
            hint="Use belongs_to=, and the item is erased with what it belongs to.",
        )
    return Reference(model.kind, owner, {name: other}, bond, (name,) if bond == "mentions" else ())


def _is_plain(model: Model[Any], name: str) -> bool:
    """Whether an attribute holds one value, which a key can be made of."""
    return any(name in template.names for captured in model.indexes.values() for template in captured.templates)
