"""Entities as rows: their attributes as plain values, covered where they are personal, and a link to each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, cast

import msgspec
from msgspec import Struct

from singletable.errors import SingletableError
from singletable.foundation import COVERED, KeyOf, Model, entity_name, model_for, personal_names
from singletable.shown_values import value_of, without_personal
from singletable.studio.site import colour_of
from singletable.studio.visit import Visit


class EntityRow(Struct, frozen=True):
    """One entity."""

    values: tuple[Any, ...]
    """JSON values: text, numbers, lists, maps; None for a missing one."""
    address: str
    """The page of its item; empty where its key is not known, as that of a part of an index."""


class EntityRows(Struct, frozen=True):
    """Entities of one class."""

    kind: str
    colour: str
    columns: tuple[str, ...]
    rows: tuple[EntityRow, ...]
    name: str = ""
    """The attribute of a collection that holds them."""


def rows_of(visit: Visit, kind: type[Any], entities: Sequence[Any], name: str = "") -> EntityRows:
    """Entities of one class, with a column for each attribute that one of them has loaded."""
    model = model_for(entities[0]) if entities else cast("Model[Any]", cast("Any", kind).__model__)
    names = [each.name for each in dataclasses.fields(cast("Any", kind))]
    loaded = tuple(each for each in names if not entities or any(hasattr(entity, each) for entity in entities))
    rows = tuple(EntityRow(values_of(visit, entity, loaded), _address(visit, model, entity)) for entity in entities)
    return EntityRows(entity_name(kind), colour_of(model.table, model.type), loaded, rows, name)


def values_of(visit: Visit, entity: Any, names: Iterable[str]) -> tuple[Any, ...]:
    """An entity's attributes as plain values; a mark for covered ones."""
    covered = personal_names(entity.__class__) if visit.covered else frozenset[str]()
    return tuple(COVERED if n in covered else plain(visit, value_of(entity, n)) for n in names)


def plain(visit: Visit, value: Any) -> Any:
    """A value as JSON has it, with the ends of edges as the keys of their nodes, and numbers exact."""
    if isinstance(value, KeyOf):
        return without_personal(value, personal=not visit.covered)
    if isinstance(value, list):
        return [plain(visit, each) for each in cast("Any", value)]
    return msgspec.to_builtins(value, order="deterministic", builtin_types=(Decimal,), str_keys=True)


def _address(visit: Visit, model: Model[Any], entity: Any) -> str:
    try:
        place = model.place_of(entity)
    except SingletableError:
        return ""
    return visit.item_address(model.table, model.type, place)
