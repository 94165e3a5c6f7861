"""One class of each layer in one table, whose own items docs/reference/stored-items.md lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from singletable.documents import Document, Items
from singletable.documents.inspect import document_model
from singletable.foundation import ANY, Model, Table, model_of
from singletable.graph import Edge, GraphTable, Node
from singletable.schema.guard_items import guards_of
from singletable.schema.tool_items import tool_classes
from singletable.schema.word_items import words_of
from singletable.streams.state import state_entities
from singletable.sync.client_groups import group_keys
from singletable.tasks.items import task_entities

app = Table("app", indexes=["index"])
records = GraphTable("records", indexes=["index"])


class Project(Document, table=app, index="index"):
    name: str = ""
    shapes: Items[str]


class Goal(Node, table=records, type="GOAL"):
    """A node of one class."""


class Part(Edge[Goal, Goal], table=records, type="PART", mirrors=("word",)):
    """An edge with one mirrored attribute."""

    word: str

    @records.index("index")
    @staticmethod
    def by_word(word: str = ANY) -> str:
        """Goals that a goal is a part of."""
        return f"{word}"


def own_models() -> Iterator[Model[Any]]:
    """The model of each class of items that the library stores."""
    tasks, state, groups = task_entities(app, "index"), state_entities(app, "same"), group_keys(app)
    rows = document_model(Project).rows
    kinds: list[Any] = [guards_of(app), words_of(app), tasks.task, tasks.ordered, tasks.lane]
    kinds += [state.consumer, state.lease, state.attempt, state.dead_letter, groups.group, groups.client]
    kinds += [rows.listing, rows.version, *rows.collections.values(), rows.mutation, rows.client, rows.inbox]
    kinds += [rows.epoch, rows.condemned, rows.tag, rows.branch]
    kinds += [kind.of(app) for kind in tool_classes()]
    return map(model_of, (*kinds, Goal, Part))
