"""The model of the four applications as values: what is declared is told, and nothing else."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

from goals.model import records
from manhunt.model import manhunt
from organisations.model import organisations, tasks as organisation_tasks
from projects.model import projects
from singletable import ANY, Entity, Key, Table, field
from singletable.foundation import catalogue, models_of
from singletable.streams import Changes, Modified
from singletable.studio.model import ClassView, TableView, model_view

ALL = pytest.mark.parametrize("table", [records, manhunt, organisations, projects], ids=lambda table: table.name)


def view_of(table: Table) -> TableView:
    (found,) = model_view([table]).tables
    return found


def class_of(table: Table, name: str) -> ClassView:
    (found,) = [each for each in view_of(table).classes if each.name == name]
    return found


@ALL
def test_every_class_with_every_attribute(table: Table) -> None:
    found = {each.type: each for each in view_of(table).classes if each.kind != "document"}
    own = {model.type: model for model in models_of(table) if not model.is_system}
    assert found.keys() == own.keys()
    for name, model in own.items():
        assert [a.name for a in found[name].attributes] == [f.name for f in dataclasses.fields(cast(Any, model.kind))]


@ALL
def test_every_pattern_of_the_catalogue_once(table: Table) -> None:
    assert sorted(each.shown for each in view_of(table).patterns) == sorted(each.shown for each in catalogue(table))


@ALL
def test_the_same_declaration_gives_the_same_view(table: Table) -> None:
    assert model_view([table]) == model_view([table])


def test_a_class_is_told_as_it_is_declared() -> None:
    view = class_of(organisations, "UserOrganisation")
    assert view.description.startswith("The user's side of a membership")
    table, index = view.keys
    assert table.templates == ("user/{email}", "userOrganisation/{organisation_id}")
    assert (index.index, index.attributes, index.sparse_by) == ("lists", ("listId", "listRng"), ("open_since",))
    attributes = {each.name: each for each in view.attributes}
    assert attributes["email"].bonds == ("belongs to User.email",)
    assert attributes["email"].in_keys == ("key", "lists")
    assert attributes["email"].is_personal
    opened = attributes["open_since"]
    assert (opened.type, opened.stored, opened.default) == ("datetime | None", "openSince", "None")
    assert opened.description == "invited_at, while the invitation is open: the index lists no others."
    assert view.collections == ("UserDetails",)


def test_types_of_the_program_are_told_with_their_parts() -> None:
    (kind,) = class_of(organisations, "Job").types
    assert (kind.name, kind.kind) == ("JobKind", "enum")
    assert next((each.name, each.type) for each in kind.members) == ("RENAME", "'rename'")
    (departure,) = class_of(organisations, "Organisation").types
    assert (departure.name, departure.kind) == ("Departure", "dataclass")
    assert departure.members[1].type == "str | None"
    assert departure.members[3].description == "It was an open invitation that ended."


def test_relations_are_those_that_are_declared() -> None:
    found = {(each.holder, each.bond, each.subject) for each in view_of(organisations).relations}
    assert ("GroupMember", "belongs to", "Organisation") in found
    assert ("Organisation", "mentions", "User") in found
    assert ("OrganisationService", "names in its key", "Organisation") in found
    assert not any(holder == "User" for holder, _, _ in found)


def test_an_edge_says_its_ends_and_what_is_mirrored() -> None:
    view = class_of(records, "GoalMembership")
    assert (view.kind, view.mirrors) == ("edge", ("role",))
    assert view.ends == (("Goal",), ("User", "Team", "Organisation"))
    assert class_of(records, "Subscriber").mirrors is None
    bonds = [(each.bond, each.subject) for each in view.relations]
    assert bonds[:2] == [("starts at", "Goal"), ("leads to", "User")]


def test_a_document_is_a_class_with_its_mutations() -> None:
    view = class_of(projects, "Project")
    assert view.kind == "document"
    assert [each.name for each in view.attributes] == ["name", "description", "shapes", "comments"]
    move = next(each for each in view.mutations if each.name == "move_shape")
    assert move.signature == "id: str, x: int | float, y: int | float"
    assert move.description.startswith("Move a shape.")
    assert any("ProjectVersion#pv_{number}" in key.templates for key in view.keys)


def test_tasks_are_told() -> None:
    tasks = {each.name: each for each in view_of(organisations).tasks}
    assert set(organisation_tasks.functions) == set(tasks)
    assert all(each.note.endswith(" tries") for each in tasks.values())


def test_handlers_are_told_with_their_class() -> None:
    table = Table("handled", stream="new_and_old")

    class Note(Entity, table=table, type="note"):
        id: str
        text: str = ""

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"note#{id}", "note"

    changes = Changes(table, name="index")

    @changes.on(Note).modified(Note.text)
    def indexed(change: Modified[Note]) -> None:
        """Find it by its new words."""

    (consumer,) = view_of(table).consumers
    assert consumer.name == "index"
    assert class_of(table, "Note").handlers == consumer.handlers
    (handler,) = consumer.handlers
    assert (handler.name, handler.note) == ("indexed", "Note modified in text")
    assert handler.description == "Find it by its new words."


def test_older_versions_are_told() -> None:
    old = Table("old_versions")

    class Note(Entity, table=old, type="note", version=2, stored_as=1):
        id: str
        text: str = field(default="", unique=True)

        @old.key
        @staticmethod
        def by_id(id: str = ANY) -> Key:
            return "notes", f"{id}"

    @Note.upcast(1)
    def joined(item: dict[str, Any]) -> dict[str, Any]:
        """Two lines became one."""
        return item

    @Note.downcast(2)
    def parted(item: dict[str, Any]) -> dict[str, Any]:
        return item

    view = class_of(old, "Note")
    assert (view.version, view.stored_as) == (2, 1)
    assert [(each.note, each.description) for each in view.upcasts] == [("version 1 to 2", "Two lines became one.")]
    assert next(each for each in view.attributes if each.name == "text").role == "unique"


def test_pages_have_names_that_differ_in_more_than_case() -> None:
    table = Table("cases", overlap="guard")
    for name in ("User", "USER", "Us/er"):
        _declare(table, name)
    pages = [each.page for each in view_of(table).classes]
    assert pages == ["cases.User", "cases.USER~2", "cases.Us-er"]


def _declare(table: Table, name: str) -> None:
    class Made(Entity, table=table, type=name):
        id: str
        made_as: str = name

        @table.key
        @staticmethod
        def by_id(id: str, made_as: str) -> Key:
            return f"{id}", f"{made_as}"

    Made.__qualname__ = name
