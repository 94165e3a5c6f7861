"""References to subjects, by a query or by a scan; and subjects as a job holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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


def named_references(wanted: Mapping[str, Alternatives]) -> dict[str, dict[str, int]]:
    """The references that a scan looks for, as texts that are equal in programs that look for the same; by type."""
    return {name: dict(Counter(_text_of(reference) for reference, _ in those)) for name, those in wanted.items()}


def named_layers(watchers: Mapping[str, Sequence[LayerBelongings]]) -> dict[str, dict[str, int]]:
    """The layers that a scan shows items to, as `named_references`."""
    return {name: dict(Counter(layer.looks_by for layer in layers)) for name, layers in watchers.items()}


def _text_of(reference: Reference) -> str:
    names = ", ".join(f"{name}={other}" for name, other in sorted(reference.names.items()))
    return f"{reference.bond} {model_of(reference.subject).type}: {names}"


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


def stored_subjects(
    subjects: Sequence[Subject], wanted: Mapping[str, Alternatives], *, is_watched: bool
) -> list[StoredSubject]:
    """The subjects that a scan needs, with those of their values that references name. Layers may need all."""
    if is_watched:
        return [_stored(subject, subject.values) for subject in subjects]
    references = {id(reference): reference for those in wanted.values() for reference, _ in those}.values()
    needed: list[StoredSubject] = []
    for subject in subjects:
        of_kind = [reference for reference in references if issubclass(subject.kind, reference.subject)]
        if of_kind:
            needed.append(_stored(subject, {name for reference in of_kind for name in reference.names.values()}))
    return needed


def _stored(subject: Subject, names: Collection[str]) -> StoredSubject:
    model = model_of(subject.kind)
    values = {
        name: stored
        for name, value in subject.values.items()
        if name in names
        and name in model.by_name
        and (stored := stored_or_absent(model.by_name[name].plan, value)) is not None
    }
    return StoredSubject(model.type, values, subject.place)


def subject_in(table: Table, stored: StoredSubject) -> Subject | None:
    """A subject; None if it is of a layer's class that this program has not declared."""
    model = table.model_of_type(stored.type)
    if model is None or not stored.values.keys() <= model.by_name.keys():
        return None
    values = {name: model.by_name[name].plan.load(value) for name, value in stored.values.items()}
    return Subject(model.kind, values, stored.place)
