"""Copies: an attribute that repeats one of another entity, so that a list needs no second read.

class Membership(Entity, table=app, type="membership"):
    organisation_id: str
    organisation_name: str = copy_of(Organisation.name)

`changes.keep_copies(...)` keeps them up to date. Beside the copies an item has the version of its source, as
`_copied_<type>`, so that a late writer never overwrites a newer value with an older one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast, overload

from msgspec import Struct

from singletable.errors import DeclarationError
from singletable.expressions import Handle, first_name, is_whole, owner_of
from singletable.schema.models import model_of
from singletable.schema.table import Table
from singletable.values import INTEGER, METADATA, Field

T = TypeVar("T")
_SOURCE = "copy_of"
_PYTHON_NAME = "_copied_{}"


@overload
def copy_of(source: T, *, default: T, name: str | None = None) -> T: ...
@overload
def copy_of(source: T, *, name: str | None = None) -> T: ...
def copy_of(source: Any, *, default: Any = dataclasses.MISSING, name: str | None = None) -> Any:
    """An attribute that repeats `source`, one of another entity of the table that counts its writes.

    `default` and `name` as of `field`. The program that creates the item sets the current value, or a
    default; `changes.keep_copies(...)` applies later changes of the source.
    """
    if not isinstance(source, Handle) or not is_whole(source):
        raise DeclarationError(
            "copy_of() takes an attribute of another entity class", hint="As in copy_of(Organisation.name)."
        )
    return dataclasses.field(default=default, metadata={METADATA: {"name": name, "role": "", _SOURCE: source}})


class Copy(Struct, frozen=True):
    """One attribute that repeats another."""

    name: str
    source: type[Any]
    source_name: str


def copies_in(kind: type[Any], source: type[Any] | None = None) -> list[Copy]:
    """The attributes of an entity class that repeat others, of one class or of any."""
    found: list[Copy] = []
    for declared in dataclasses.fields(cast(Any, kind)):
        options: Mapping[str, Any] = declared.metadata.get(METADATA, {})
        if (handle := options.get(_SOURCE)) is not None:
            found.append(Copy(declared.name, owner_of(handle), first_name(handle)))
    return [copy for copy in found if source is None or copy.source is source]


def copied_version(holder: type[Any], source: type[Any]) -> Handle:
    """The attribute of a holder with the version of its source; None before it is first checked."""
    return Handle(holder, _PYTHON_NAME.format(_sources(holder).index(source)))


def version_fields(kind: type[Any]) -> Sequence[Field]:
    """The attributes that accompany an item's copies: one for each source."""
    stored = [f"_copied_{model_of(source).type}" for source in _sources(kind)]
    return [
        Field(_PYTHON_NAME.format(number), name, INTEGER, optional=True, is_written=False)
        for number, name in enumerate(stored)
    ]


def check_copies(kind: type[Any], table: Table, types: Mapping[str, Any]) -> None:
    """Raises DeclarationError for a copy that can't be kept up to date."""
    for copy in copies_in(kind):
        where, source = f"{kind.__name__}.{copy.name}", f"{copy.source.__name__}.{copy.source_name}"
        model = model_of(copy.source)
        if model.table is not table:
            raise DeclarationError(f"{where} repeats {source}, which is in table {model.table.name}")
        if "version" not in model.roles.values():
            raise DeclarationError(
                f"{where} repeats {source}, and {copy.source.__name__} counts no writes: a late copy could overwrite "
                "a newer one",
                hint="Declare a count there: revision: int = field(version=True, default=0).",
            )
        if types.get(copy.name) != model.types.get(copy.source_name):
            raise DeclarationError(f"{where} and {source} are not of the same type")


def _sources(kind: type[Any]) -> list[type[Any]]:
    return list(dict.fromkeys(copy.source for copy in copies_in(kind)))
