"""Placements: which hooks a class has, and that a flow of a verb asks them and not the declaration."""

from __future__ import annotations

import ast
from functools import partial
from typing import Any

import pytest
from msgspec.structs import asdict

from singletable import ANY, Entity, InvalidRequest, Key, Table, attr
from singletable.records import flows as verbs
from singletable.records.entity_writes import CreateWrite, PutWrite, UpsertWrite
from singletable.records.item_writes import CheckWrite, DeleteWrite, UpdateWrite
from singletable.records.placement import PLAIN, placement_of
from singletable.records.write import UNREAD, Presence, WriteResult
from singletable.schema.models import model_of
from tests.architecture.sources import sources

app = Table("placements")

PLACEMENTS = frozenset({"both_keys", "moves", "old_keys", "two_forms"})
"""The modules of records that may know how a class declares where its items lie."""
TOOLS = frozenset({"check", "conditions", "unique_guards", "upgrade"})
"""Those that know which keys and versions an item may have, whatever the verb."""


def old_note(id: str) -> Key:
    return f"old-note#{id}", "note"


class Plain(Entity, table=app, type="plain"):
    id: str
    name: str = ""

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"plain#{id}", "plain"


class Moving(Entity, table=app, type="note"):
    id: str
    name: str = ""

    @app.key(was=old_note)
    @staticmethod
    def by_id(id: str) -> Key:
        return f"note#{id}", "note"


class InTwoForms(Entity, table=app, type="forms", version=2, stored_as=1):
    id: str
    name: str = ""

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"forms#{id}", "forms"


def old_both(id: str) -> Key:
    return f"old-both#{id}", "both"


class MovingInTwoForms(Entity, table=app, type="both", version=2, stored_as=1):
    id: str
    name: str = ""

    @app.key(was=old_both)
    @staticmethod
    def by_id(id: str) -> Key:
        return f"both#{id}", "both"


def hooks(kind: type[Any]) -> set[str]:
    """The hooks that are not the plain one's."""
    plain = asdict(PLAIN)
    return {name for name, hook in asdict(placement_of(model_of(kind))).items() if hook != plain[name]}


MOVING_HOOKS = {
    *("find", "find_many", "read_parts", "explain_find", "elsewhere"),
    *("send", "companion", "after_companion", "bring", "needed_by"),
}
TWO_FORMS_HOOKS = {"send", "check_in_transaction", "whole_only"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Plain, set[str]()),
        (Moving, MOVING_HOOKS),
        (InTwoForms, TWO_FORMS_HOOKS),
        (MovingInTwoForms, MOVING_HOOKS | TWO_FORMS_HOOKS),
    ],
)
def test_a_class_has_the_hooks_of_its_declaration(kind: type[Any], expected: set[str]) -> None:
    assert hooks(kind) == expected


def test_a_plain_class_has_the_plain_placement_itself() -> None:
    assert placement_of(model_of(Plain)) is PLAIN


def test_a_moving_class_sends_by_its_other_placement_once_an_item_lies_under_its_key() -> None:
    moving, inner = placement_of(model_of(MovingInTwoForms)).send, placement_of(model_of(InTwoForms)).send
    assert isinstance(moving, partial)
    assert moving.args == (inner,)


def test_an_update_in_two_forms_is_not_explained_as_one_request() -> None:
    with pytest.raises(InvalidRequest, match="can't keep both forms"):
        verbs.explain(InTwoForms.by_id("a"), attr(InTwoForms.name).set("b"), now=0.0)


MOVING, KEY = Moving(id="a"), Moving.by_id("a")


@pytest.mark.parametrize(
    ("write", "presence", "answer", "ignores_item"),
    [
        (CreateWrite(MOVING), Presence.ABSENT, WriteResult.NOTHING, False),
        (PutWrite(MOVING), Presence.EITHER, WriteResult.NOTHING, True),
        (PutWrite(MOVING, attr(Moving.name) == "a"), Presence.EITHER, WriteResult.NOTHING, False),
        (UpsertWrite(MOVING), Presence.EITHER, WriteResult.AFTER, False),
        (UpdateWrite(KEY, (attr(Moving.name).set("b"),)), Presence.PRESENT, WriteResult.AFTER, False),
        (DeleteWrite(KEY), Presence.EITHER, WriteResult.BEFORE, True),
        (DeleteWrite(KEY, attr(Moving.name) == "a"), Presence.EITHER, WriteResult.BEFORE, False),
        (CheckWrite(KEY), Presence.PRESENT, WriteResult.NOTHING, False),
    ],
)
def test_a_write_says_what_its_flows_need(
    write: Any, presence: Presence, answer: WriteResult, ignores_item: bool
) -> None:
    assert (write.presence, write.answer, write.ignores_item) == (presence, answer, ignores_item)
    companion = placement_of(write.model).companion
    assert companion is not None
    assert (companion(write, UNREAD) is None) is (presence is Presence.PRESENT)


def test_a_delete_of_a_missing_item_is_done_whoever_did_it() -> None:
    assert DeleteWrite(KEY).is_moot(None, 0.0)
    assert not DeleteWrite(KEY).is_moot(model_of(Moving).item(MOVING), 0.0)
    assert not PutWrite(MOVING).is_moot(None, 0.0)


def flows() -> list[Any]:
    left_out = {"placement", *PLACEMENTS, *TOOLS}
    records = [file for file in sources() if file.module.startswith("singletable.records.")]
    return [file for file in records if file.module.rpartition(".")[2] not in left_out]


def test_no_flow_knows_a_declaration_of_a_place() -> None:
    told = {"was", "stored_as", "is_in_two_forms", "old_key"}
    found = [
        f"{file.module}:{node.lineno} .{node.attr}"
        for file in flows()
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Attribute) and node.attr in told
    ]
    assert found == []


def test_no_flow_tests_the_class_of_a_write() -> None:
    found = [
        f"{file.module}:{node.lineno}"
        for file in sources()
        if file.module.startswith("singletable.records.")
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Call) and ast.unparse(node).startswith("isinstance(write,")
    ]
    assert found == []


def test_a_list_of_parts_is_the_query_itself_for_a_plain_class() -> None:
    query = Plain.by_id("a")
    assert not query.has_parts
    assert query.parts == (query,)


def old_event(day: str, number: int) -> Key:
    return f"old-events#{day}", f"{number:06}"


class Event(Entity, table=app, type="event"):
    day: str
    number: int

    @app.key(was=old_event)
    @staticmethod
    def of_day(day: str, number: int = ANY) -> Key:
        return f"events#{day}", f"{number:06}"


def test_the_parts_of_a_query_of_two_partitions_are_the_old_one_first_and_then_the_new_one_consistently() -> None:
    query = Event.of_day("monday").newest_first()
    old, new = query.parts
    assert query.has_parts
    assert (old.partition, old.descending, old.strong) == ("old-events#monday", True, False)
    assert (new.partition, new.descending, new.strong) == ("events#monday", True, True)
