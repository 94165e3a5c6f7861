"""Conversions: items of one class become items of others, one class in two or two in one.

    @Contact.becomes(Person, Company)
    def by_kind(contact: Contact) -> Person | Company:
        ...

The old class stays declared until all its items are converted: a fill reads an item by it, and puts what the function
makes of it in the transaction that deletes it. The new items have other keys, so programs find either, never both. The
function may return the contact itself, which stays then, and a changed one among others: a part of it is split off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from singletable.errors import DeclarationError
from singletable.schema.copies import copies_in
from singletable.schema.models import Model, model_of
from singletable.schema.table import Conversion, Table

Converter = TypeVar("Converter", bound=Callable[[Any], Any])


def declare_conversion(kind: type[Any], into: tuple[type[Any], ...]) -> Callable[[Converter], Converter]:
    """The decorator of a conversion's function. DeclarationError for classes that can't be converted."""
    table = model_of(kind).table
    _check(table, kind, into, table.conversions)

    def register(function: Converter) -> Converter:
        table.conversions[model_of(kind).type] = Conversion(
            kind, into, tuple(model_of(one).type for one in into), function
        )
        return function

    return register


def _check(table: Table, kind: type[Any], into: Collection[type[Any]], others: Mapping[str, Conversion]) -> None:
    where = f"{kind.__name__}.becomes()"
    for one in (kind, *into):
        why = _refused(table, one)
        if why:
            raise DeclarationError(
                f"{where}: {getattr(one, '__name__', one)} {why}",
                table=table.name,
                hint="Entities of one table can be converted, where no layer writes them and their key is not to move.",
            )
    converted = {other.kind for other in others.values() if other.kind is not kind} | {kind}
    targets = {one for other in others.values() if other.kind is not kind for one in other.into} | {*into}
    if not into or converted & targets:
        raise DeclarationError(
            f"{where}: a class is converted into others, which are not converted themselves",
            table=table.name,
            hint="Convert them in one step after the other.",
        )
    if table.guards_overlap:
        raise DeclarationError(
            f'{where}: a table with overlap="guard" can\'t say which item a key is of', table=table.name
        )
    _check_copies(where, table, kind, into)


def _refused(table: Table, kind: Any) -> str:
    model: Model[Any] | None = getattr(kind, "__model__", None)
    if model is None or model.table is not table:
        return f"is not an entity of table {table.name}"
    if model.key.was is not None:
        return "has a key that was another, under which an item may lie"
    return "is written by its layer alone" if model.refuses or model.tombstone or model.is_system else ""


def _check_copies(where: str, table: Table, kind: type[Any], into: Iterable[type[Any]]) -> None:
    """Copies belong to the class that they repeat, and are written by its writes."""
    holders = [one for one in into if copies_in(one)]
    holders += [model.kind for model in table.models if copies_in(model.kind, source=kind)]
    if holders:
        raise DeclarationError(
            f"{where}: {holders[0].__name__} has attributes that repeat another class's",
            table=table.name,
            hint="Declare copy_of() in a second step, when the items are converted.",
        )
