"""From declarations to views: a table's classes with their attributes, keys, patterns and relations. Sends nothing."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from singletable.documents.inspect import documents_of
from singletable.foundation import (
    AccessPattern,
    Captured,
    Model,
    Table,
    attribute_docs,
    catalogue,
    class_doc,
    collections_of,
    entity_name,
    personal_names,
    type_text,
)
from singletable.graph import Edge, Node
from singletable.migrations.inspect import EntityForm, document_of
from singletable.studio.model.layer_declarations import (
    consumers_in,
    document_class,
    handlers_in,
    tasks_in,
    upcasts_in,
)
from singletable.studio.model.relations import relation_of_document, relations_between
from singletable.studio.model.type_texts import own_types, value_text
from singletable.studio.model.views import (
    AttributeView,
    ClassKind,
    ClassView,
    CollectionView,
    IndexView,
    KeyView,
    MemberView,
    ModelView,
    PatternView,
    RelationView,
    TableView,
)
from singletable.values import Field

_NOT_IN_A_PAGE_NAME: Final = re.compile(r"[^\w.-]+")


def model_view(tables: Sequence[Table], title: str = "") -> ModelView:
    """All that is declared of tables. `title` is the names of the tables where it is not given."""
    taken = Counter[str]()
    made = tuple(_table(table, taken) for table in tables)
    return ModelView(title or ", ".join(table.name for table in tables), made)


def own_models(table: Table) -> tuple[Model[Any], ...]:
    """The models of the program's own classes: those of the library's items, as of tasks, are left out."""
    return tuple(model for model in table.models if not model.is_system)


def _page(table: Table, name: str, taken: Counter[str]) -> str:
    """A name that no other class has, also in file systems that ignore case."""
    plain = _NOT_IN_A_PAGE_NAME.sub("-", f"{table.name}.{name}")
    taken[plain.casefold()] += 1
    number = taken[plain.casefold()]
    return plain if number == 1 else f"{plain}~{number}"


def _table(table: Table, taken: Counter[str]) -> TableView:
    models, documents = own_models(table), documents_of(table)
    names = [entity_name(kind) for kind in (*(model.kind for model in models), *documents)]
    pages = {name: _page(table, name, taken) for name in names}
    patterns = catalogue(table)
    related = relations_between(table, models) + tuple(filter(None, map(relation_of_document, documents)))
    collections = tuple(_collections(table, patterns))
    forms = document_of(table).entities
    classes = [
        _class(model, pages[entity_name(model.kind)], place, patterns, related, collections, forms[model.type])
        for place, model in enumerate(models)
    ]
    classes += [
        document_class(kind, pages[entity_name(kind)], len(models) + place, related)
        for place, kind in enumerate(documents)
    ]
    return TableView(
        table.name,
        _module_doc(models, documents),
        table.definition.key,
        table.separator,
        tuple(_settings(table)),
        tuple(_indexes(table, models)),
        tuple(classes),
        collections,
        tasks_in(table),
        consumers_in(table),
    )


def _class(
    model: Model[Any],
    page: str,
    place: int,
    patterns: Sequence[AccessPattern],
    related: Sequence[RelationView],
    collections: Sequence[CollectionView],
    form: EntityForm,
) -> ClassView:
    kind, name = model.kind, entity_name(model.kind)
    is_edge = issubclass(kind, Edge)
    return ClassView(
        name,
        _kind_of(kind),
        model.type,
        model.table.name,
        kind.__module__,
        model.version,
        place,
        page,
        class_doc(kind) if kind.__doc__ != _inherited_doc(kind) else "",
        tuple(_keys(model)),
        tuple(_attributes(model, related)),
        tuple(PatternView(p, p.shown, page) for p in patterns if p.entity == name and p.kind != "collection"),
        tuple(relation for relation in related if relation.holder == name),
        tuple(relation for relation in related if relation.subject == name),
        own_types(model.types.values()),
        (_names(kind.__sources__), _names(kind.__targets__)) if is_edge else None,
        kind.__mirrors__ if is_edge else None,
        form.stored_as,
        upcasts_in(model),
        form.outside,
        handlers=handlers_in(model),
        collections=tuple(each.name for each in collections if any(_is_of(m, name) for m in each.members)),
    )


def _inherited_doc(kind: type[Any]) -> str | None:
    return next((base.__doc__ for base in kind.__mro__[1:] if base.__doc__), None)


def _kind_of(kind: type[Any]) -> ClassKind:
    if issubclass(kind, Edge):
        return "edge"
    return "node" if issubclass(kind, Node) else "entity"


def _names(kinds: Sequence[type[Any]]) -> tuple[str, ...]:
    return tuple(entity_name(kind) for kind in kinds)


def _is_of(member: MemberView, name: str) -> bool:
    return name in (member.type, member.type.removesuffix(" | None"), member.type[len("list[") : -1])


# --- attributes -------------------------------------------------------------------------------------------------------
def _attributes(model: Model[Any], related: Sequence[RelationView]) -> Iterator[AttributeView]:
    docs = attribute_docs(model.kind)
    own = {each.name for each in dataclasses.fields(cast(Any, model.kind))}
    bonds = [relation for relation in related if relation.holder == entity_name(model.kind)]
    personal = personal_names(model.kind)
    for field in model.fields:
        if field.name in own:
            yield AttributeView(
                field.name,
                type_text(model.types.get(field.name, Any)),
                field.stored,
                docs.get(field.name, ""),
                _default(field),
                field.role,
                field.name in personal,
                tuple(_keys_of(model, field.name)),
                tuple(_bonds_of(field.name, bonds)),
            )


def _default(field: Field) -> str | None:
    if field.optional:
        return "None"
    if field.plan.is_set:
        return "empty"
    return None if field.default is None else value_text(field.default())


def _keys_of(model: Model[Any], name: str) -> Iterator[str]:
    if name in model.identity:
        yield "key"
    for index, captured in model.indexes.items():
        if any(name in template.names for template in captured.templates):
            yield index


def _bonds_of(name: str, related: Sequence[RelationView]) -> Iterator[str]:
    for relation in related:
        for own, other in relation.names:
            if own == name and relation.bond in ("belongs to", "mentions"):
                yield f"{relation.bond} {relation.subject}.{other}"


# --- keys and patterns ------------------------------------------------------------------------------------------------
def _keys(model: Model[Any]) -> Iterator[KeyView]:
    for captured in (model.key, *model.indexes.values()):
        was = captured.was
        yield KeyView(
            captured.index,
            model.table.definition.index_keys(captured.index),
            _shown(captured),
            captured.name,
            tuple(_sparse_by(model, captured)),
            None if was is None else _shown(was),
        )


def _shown(captured: Captured) -> tuple[str, str]:
    partition, sort = captured.templates
    return partition.shown, sort.shown


def _sparse_by(model: Model[Any], captured: Captured) -> Iterator[str]:
    names = dict.fromkeys(name for template in captured.templates for name in template.names)
    return (name for name in names if captured.index is not None and model.by_name[name].optional)


def _collections(table: Table, patterns: Sequence[AccessPattern]) -> Iterator[CollectionView]:
    kinds: dict[str, type[Any]] = {entity_name(kind): kind for kind, _, _ in collections_of(table)}
    for name, kind in kinds.items():
        own = tuple(PatternView(p, p.shown, "") for p in patterns if p.entity == name and p.kind == "collection")
        docs = attribute_docs(kind)
        members: Mapping[str, Any] = kind.__collection_fields__
        yield CollectionView(
            name,
            class_doc(kind),
            tuple(MemberView(each, _member_type(said), docs.get(each, "")) for each, said in members.items()),
            own,
        )


def _member_type(member: Any) -> str:
    name = entity_name(member.kind)
    return f"list[{name}]" if member.many else f"{name} | None" if member.optional else name


# --- the table --------------------------------------------------------------------------------------------------------
def _indexes(table: Table, models: Sequence[Model[Any]]) -> Iterator[IndexView]:
    for name, index in table.definition.indexes.items():
        held = index.projection if isinstance(index.projection, str) else ", ".join(index.projection)
        inside = tuple(entity_name(model.kind) for model in models if name in model.indexes)
        yield IndexView(name, (index.partition, index.sort), f"{held}, local" if index.is_local else held, inside)


def _settings(table: Table) -> Iterator[tuple[str, str]]:
    """The table's declared settings, without its keys."""
    for name, value in document_of(table).settings.items():
        said = cast("dict[str, Any]", value) if isinstance(value, dict) else {"": value}
        yield name, ", ".join(f"{each}={of}" if each else str(of) for each, of in said.items())
    if table.guards_overlap:
        yield "overlap", "guarded by the type, in every write"
    for target in table.targets:
        yield "items leave for", target.name


def _module_doc(models: Sequence[Model[Any]], documents: Sequence[type[Any]]) -> str:
    """The docstring of the module that has most of the classes."""
    modules = Counter(kind.__module__ for kind in (*(model.kind for model in models), *documents))
    if not modules:
        return ""
    module = sys.modules.get(modules.most_common(1)[0][0])
    return (getattr(module, "__doc__", None) or "").strip()
