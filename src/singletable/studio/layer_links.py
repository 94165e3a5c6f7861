"""From an item to the page of its layer: a node's or an edge's in the graph, a document, a task."""

from __future__ import annotations

from typing import Any

from singletable.documents.inspect import Row, document_model, documents_of
from singletable.foundation import COVERED, Model, Table
from singletable.graph import Edge, Node
from singletable.studio.addresses import Place
from singletable.studio.view import Crumb
from singletable.studio.visit import Visit
from singletable.tasks import PlainTask


def layer_link(visit: Visit, table: Table, model: Model[Any] | None, place: Place) -> Crumb | None:
    """The page of what an item is in its layer; None for an item of records alone, and where its key is covered."""
    if model is None or COVERED in "".join(visit.shown_place(table, model.type, place)):
        return None
    kind: type[Any] = model.kind
    if issubclass(kind, (Node, Edge)):
        return Crumb("In the graph", visit.links.node(table.name, place[0]))
    values = model.key_values(model.key_at(place))
    if issubclass(kind, PlainTask):
        return Crumb("As a task", visit.links.of(f"/work/{table.name}/task", {"key": values["id"]}))
    if issubclass(kind, Row):
        owner = next(each for each in documents_of(table) if document_model(each).rows is kind.__rows__)
        return Crumb("As a document", visit.links.document(table.name, owner.__name__, values["document_id"]))
    return None
