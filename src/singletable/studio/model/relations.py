"""Relations between classes: by declared attributes, by keys, and by the ends of edges. Nothing is guessed by names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

from singletable.documents import Document
from singletable.documents.inspect import document_model
from singletable.expressions import Handle, first_name, owner_of
from singletable.foundation import Model, Table, entity_name, named_in_keys, references_of
from singletable.graph import Edge
from singletable.studio.model.views import Bond, RelationView

_BONDS: Final[dict[str, Bond]] = {"belongs_to": "belongs to", "mentions": "mentions", "copy": "copies"}
SURENESS: Final[tuple[Bond, ...]] = (
    "starts at",
    "leads to",
    "belongs to",
    "copies",
    "names in its key",
    "mentions",
)
"""The bonds by the certainty that an item of the holder goes with one of the subject: a picture shows the surest."""


def relations_between(table: Table, models: Sequence[Model[Any]]) -> tuple[RelationView, ...]:
    """The relations of a table's classes, each said once: a key that repeats what an attribute says is left out."""
    relations: dict[tuple[str, str, tuple[tuple[str, str], ...]], RelationView] = {}
    for each in (*_of_edges(models), *_of_attributes(table), *_of_keys(models)):
        relations.setdefault((each.holder, each.subject, each.names), each)
    return tuple(relations.values())


def relation_of_document(kind: type[Document]) -> RelationView | None:
    """Whose a document is, where its class says so."""
    parent = document_model(kind).belongs_to
    if parent is None:
        return None
    handle = parent if isinstance(parent, Handle) else parent()
    return RelationView(
        entity_name(kind), entity_name(owner_of(handle)), "belongs to", (("parent", first_name(handle)),)
    )


def _of_edges(models: Iterable[Model[Any]]) -> Iterator[RelationView]:
    ends: tuple[tuple[str, Bond, str], ...] = (
        ("__sources__", "starts at", "source"),
        ("__targets__", "leads to", "target"),
    )
    for model in models:
        edge: type[Any] = model.kind
        if issubclass(edge, Edge):
            for kinds, bond, end in ends:
                for node in getattr(cast(Any, edge), kinds):
                    yield RelationView(entity_name(cast(Any, edge)), entity_name(node), bond, ((end, "id"),))


def _of_attributes(table: Table) -> Iterator[RelationView]:
    for reference in references_of(table):
        if not reference.holder.__model__.is_system and not reference.subject.__model__.is_system:
            names = tuple(reference.names.items())
            yield RelationView(
                entity_name(reference.holder), entity_name(reference.subject), _BONDS[reference.bond], names
            )


def _of_keys(models: Sequence[Model[Any]]) -> Iterator[RelationView]:
    own = [model for model in models if not issubclass(cast("type[object]", model.kind), Edge)]
    for holder in own:
        for subject in models:
            if holder is not subject:
                for names in named_in_keys(holder, subject):
                    yield RelationView(entity_name(holder.kind), entity_name(subject.kind), "names in its key", names)
