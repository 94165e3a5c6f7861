"""The layers' declarations of a table: documents with their mutations, tasks, and handlers of changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from singletable.documents import Document
from singletable.documents.inspect import document_model
from singletable.foundation import Model, Table, attribute_docs, class_doc, entity_name, type_text
from singletable.streams.inspect import Handler, changes_of
from singletable.studio.model.type_texts import signature_text, value_text
from singletable.studio.model.views import (
    AttributeView,
    ClassView,
    ConsumerView,
    FunctionView,
    KeyView,
    RelationView,
)
from singletable.tasks.inspect import tasks_of


def document_class(kind: type[Document], page: str, place: int, related: Sequence[RelationView]) -> ClassView:
    """A document as a class among the others."""
    model, name = document_model(kind), entity_name(kind)
    return ClassView(
        name,
        "document",
        model.words.document,
        model.table.name,
        kind.__module__,
        1,
        place,
        page,
        class_doc(kind) if kind.__doc__ != Document.__doc__ else "",
        tuple(_document_keys(kind)),
        tuple(_document_attributes(kind)),
        relations=tuple(relation for relation in related if relation.holder == name),
        mutations=tuple(
            FunctionView(each.name, signature_text(each.function, leave_out=1), _doc(each.function))
            for each in model.mutators.values()
        ),
    )


def _document_keys(kind: type[Document]) -> Iterator[KeyView]:
    """The keys of a document: its versions, and its entry in the list of its parent."""
    rows = document_model(kind).rows
    for row in (rows.version, rows.listing):
        model: Any = row.__model__
        for captured in (model.key, *model.indexes.values()):
            partition, sort = captured.templates
            places = model.table.definition.index_keys(captured.index)
            yield KeyView(captured.index, places, (partition.shown, sort.shown), f"{row.__name__}.{captured.name}")


def _document_attributes(kind: type[Document]) -> Iterator[AttributeView]:
    model, docs = document_model(kind), attribute_docs(kind)
    types = inspect.get_annotations(kind)
    for name, field in model.scalars.by_name.items():
        default = None if field.default is None else value_text(field.default())
        annotation = types.get(name, Any)
        shown = annotation if isinstance(annotation, str) else type_text(annotation)
        yield AttributeView(name, shown, field.stored, docs.get(name, ""), default)
    for name, collection in model.collections.items():
        annotation = types.get(name, Any)
        shown = annotation if isinstance(annotation, str) else type_text(annotation)
        yield AttributeView(name, shown, collection.words.word, docs.get(name, ""), "empty")


# --- tasks and changes ------------------------------------------------------------------------------------------------
def tasks_in(table: Table) -> tuple[FunctionView, ...]:
    """The tasks of a table, each with its number of tries."""
    tasks = tasks_of(table)
    if tasks is None:
        return ()
    return tuple(
        FunctionView(
            each.name,
            signature_text(each.function),
            _doc(each.function),
            f"{each.tries} tries" if each.recurs is None else f"{each.tries} tries, {each.recurs.text}",
        )
        for each in tasks.functions.values()
    )


def consumers_in(table: Table) -> tuple[ConsumerView, ...]:
    """The consumers of the table's stream that the program has declared."""
    return tuple(
        ConsumerView(each.name, tuple(_handler(table, handler) for handler in each.consumer.router.handlers))
        for each in changes_of(table)
    )


def handlers_in(model: Model[Any]) -> tuple[FunctionView, ...]:
    """The handlers of changes of a class's items."""
    consumers = changes_of(model.table)
    handlers = (handler for each in consumers for handler in each.consumer.router.handlers)
    return tuple(_handler(model.table, handler) for handler in handlers if handler.type == model.type)


def _handler(table: Table, handler: Handler) -> FunctionView:
    model = table.model_of_type(handler.type)
    name = handler.type if model is None else entity_name(model.kind)
    attributes = f" in {', '.join(handler.attributes)}" if handler.attributes else ""
    note = f"{name} {handler.what}{attributes}"
    if handler.is_flow:
        return FunctionView("keep_copies", "", "Brings copies of attributes up to date.", note)
    return FunctionView(handler.function.__name__, "", _doc(handler.function), note)


def upcasts_in(model: Model[Any]) -> tuple[FunctionView, ...]:
    """The functions that bring items of older schema versions into the current form."""
    return tuple(
        FunctionView(each.__name__, "", _doc(each), f"version {version} to {version + 1}")
        for version, each in sorted(model.upcasters.items())
    )


def _doc(function: Callable[..., Any]) -> str:
    return inspect.getdoc(function) or ""
