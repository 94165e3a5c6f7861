"""References to subjects, by a query or by a scan; and subjects as a job holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.expressions import stored_or_absent
from singletable.foundation import (
    Captured,
    LayerBelongings,
    Reference,
    Subject,
    Table,
    complete_patterns,
    model_of,
    references_of,
)
from singletable.hidden_fields import repr_without
from singletable.operations import Item
from singletable.values import AttributeValue

Alternatives = Sequence[tuple[Reference, Mapping[str, Any]]]
"""References of one class, each with the values that are looked for."""


class StoredSubject(Struct, frozen=True):
    """A subject, as JSON."""

    type: str
    values: Mapping[str, AttributeValue]
    place: tuple[str, str]

    __repr__ = repr_without("values", "place")


def references_with(table: Table, layers: Sequence[LayerBelongings]) -> list[Reference]:
    """The references of a table's classes, and of its layers."""
    return [*references_of(table), *(each for layer in layers for each in layer.references)]


def asked_of(
    references: Sequence[Reference], subjects: Sequence[Subject]
) -> tuple[list[tuple[Captured, Reference, Mapping[str, Any]]], dict[str, Alternatives]]:
    """The references to query; and by type, the ones that a scan looks for."""
    asked: list[tuple[Captured, Reference, Mapping[str, Any]]] = []
    scanned: dict[str, list[tuple[Reference, Mapping[str, Any]]]] = {}
    for reference in references:
        model = model_of(reference.holder)
        captured = None if model.key.was is not None else next(complete_patterns(model, reference), None)
        for subject in subjects:
            if not issubclass(subject.kind, reference.subject):
                continue
            wanted = reference.values_of(subject.values)
            if wanted is None:
                continue
            if captured is not None:
                asked.append((captured, reference, wanted))
            else:
                scanned.setdefault(model.type, []).append((reference, wanted))
    return asked, dict(scanned)


def may_refer(item: Item, alternatives: Alternatives) -> bool:
    """Whether an item refers to a subject, or can't be read."""
    for reference, values in alternatives:
        model = model_of(reference.holder)
        try:
            entity = model.load_anywhere(item) if model.is_mine(item) else None
        except SingletableError:
            return True
        if entity is not None and reference.is_met(entity, values):
            return True
    return False


def stored_subject(subject: Subject) -> StoredSubject:
    model = model_of(subject.kind)
    values = {
        name: stored
        for name, value in subject.values.items()
        if name in model.by_name and (stored := stored_or_absent(model.by_name[name].plan, value)) is not None
    }
    return StoredSubject(model.type, values, subject.place)


def subject_in(table: Table, stored: StoredSubject) -> Subject | None:
    """A subject; None if it is of a layer's class that this program has not declared."""
    model = table.model_of_type(stored.type)
    if model is None or not stored.values.keys() <= model.by_name.keys():
        return None
    values = {name: model.by_name[name].plan.load(value) for name, value in stored.values.items()}
    return Subject(model.kind, values, stored.place)
