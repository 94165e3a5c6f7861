"""What tools keep in a table: keys and types that no other class may have, for each tool that is registered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import pytest

from singletable import ANY, Entity, Key, Table, field
from singletable.entry_points import APART
from singletable.erasure.items import ErasureRecord
from singletable.errors import DeclarationError, Newer
from singletable.exchange.items import Transfer
from singletable.extensions import ExtensionGroup, RegisteredEntry
from singletable.migrations.items import ApplyLease, FillPart, ModelRecord, SharedBudget
from singletable.operations import encode, read_item
from singletable.schema.models import model_of
from singletable.schema.table import key_word
from singletable.schema.tool_items import ITEMS, ToolItem, ToolKey, tool_class, tool_classes, tool_model


@pytest.mark.parametrize("separator", ["#", "/", "-"])
def test_a_part_and_its_key(separator: str) -> None:
    kind = FillPart.of(Table("kept", separator=separator))
    part = kind(declaration="d1", segment=3, segments=4)
    assert model_of(kind).place_of(part) == ("_migration", separator.join(("fill", "d1", "a3")))
    moved = part.moved({"pk": {"S": "a"}, "sk": {"S": "b"}}, 100, 7, {"user": 2})
    assert (moved.position, moved.seen, moved.written, moved.is_over) == ({"pk": "a", "sk": "b"}, 100, 7, False)
    over = moved.moved(None, 5, 0, {"user": 1})
    assert (over.position, over.seen, over.written, over.is_over) == (None, 105, 7, True)
    assert over.old_keys == {"user": 3}


def test_their_keys_and_types_are_those_of_every_version() -> None:
    """A program of another version doesn't find an item in another form: neither the model that its table was brought
    to, nor the progress of a fill."""
    table, now = Table("kept"), datetime(2026, 1, 1, tzinfo=timezone.utc)
    items = [
        FillPart.of(table)(declaration="d1", segment=3, segments=4),
        ModelRecord.of(table)(model="{}", brought_at=now, by="ada", fence=1),
        ApplyLease.of(table)(fence=1),
        SharedBudget.of(table)(name="nightly"),
        ErasureRecord.of(table)(erasure="e1", pattern="User.by_id", started_at=now),
        Transfer.of(table)(transfer="t1", state="{}", token="t"),
    ]
    assert {(model_of(type(item)).type, *model_of(type(item)).place_of(item)) for item in items} == {
        ("_migration", "_migration", "fill#d1#a3"),
        ("_model", "_migration", "apply#model"),
        ("_apply", "_migration", "apply#lease"),
        ("_rate", "_migration", "rate#nightly"),
        ("_erasure", "_migration", "erasure#e1"),
        ("_transfer", "_migration", "transfer#t1"),
    }


def test_each_type_is_that_of_its_class() -> None:
    table = Table("kept")
    assert {f"_{kind.word}": kind for kind in tool_classes()} == {name: tool_class(name) for name in ITEMS.own}
    for name in ITEMS.own:
        model = tool_model(table, name)
        assert model is not None
        assert (model.type, model.is_system) == (name, True)
        assert model.key.shown.startswith("Table")
    assert table.models == ()
    assert (tool_class("_fill"), tool_class("fill"), tool_model(table, "_other")) == (None, None, None)


def test_a_type_of_many_items_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy and a masked export ask for each item, and search the installed distributions for a type of a layer."""
    searches, entries = list[str](), ExtensionGroup.entries

    def searched(group: ExtensionGroup[Any]) -> Mapping[str, RegisteredEntry]:
        searches.append(group.name)
        return entries(group)

    monkeypatch.setattr(ExtensionGroup, "entries", searched)
    assert {tool_class("_of_a_layer") for _ in range(3)} == {None}
    assert searches == ["singletable.items"]


def test_each_table_has_one_class_of_an_item() -> None:
    table, other = Table("kept"), Table("kept")
    assert Transfer.of(table) is Transfer.of(table)
    assert Transfer.of(table) is not Transfer.of(other)
    assert [kind for kind in tool_classes() if kind.goes_along] == [ModelRecord]


@pytest.mark.parametrize("type_name", ITEMS.own)
def test_no_other_class_has_its_keys_or_its_type(type_name: str) -> None:
    taken = Table("taken")
    with pytest.raises(DeclarationError, match=r"could have .* of what tools keep in a table, '_"):

        class Same(Entity, table=taken, type="same"):
            id: str

            @taken.key
            @staticmethod
            def by_id(id: str) -> Key:
                word = key_word(type_name)
                is_apart = type_name in APART
                return (f"_migration#{word}#{id}", word) if is_apart else ("_migration", f"{word}#{id}")

    with pytest.raises(DeclarationError, match=f"could have .* of what tools keep in a table, {type_name!r}"):

        class Named(Entity, table=taken, type=type_name):
            id: str

            @taken.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"x#{id}", "x"


def test_other_sort_keys_of_the_partition_are_free() -> None:
    allowed = Table("allowed")

    class Beside(Entity, table=allowed, type="beside"):
        id: str

        @allowed.key
        @staticmethod
        def by_id(id: str) -> Key:
            return "_migration", f"note#{id}"


class Audit(ToolItem, word="audit"):
    """An item of another distribution: no table knows its type when a class is declared."""

    by: str

    @ToolKey
    @staticmethod
    def by_auditor(by: str = ANY) -> tuple[str, ...]:
        return (f"{by}",)


def test_an_item_of_another_distribution_refuses_a_table_that_has_its_keys() -> None:
    taken = Table("taken")

    class Same(Entity, table=taken, type="same"):
        id: str

        @taken.key
        @staticmethod
        def by_id(id: str) -> Key:
            return "_migration", f"audit#{id}"

    with pytest.raises(DeclarationError, match="TableAudit and Same could have the same key"):
        Audit.of(taken)
    assert model_of(Audit.of(Table("free"))).type == "_audit"


def test_an_item_of_a_former_form_is_read() -> None:
    table = Table("versions")

    class Mark(ToolItem, word="mark-of-before"):
        name: str

        @ToolKey
        @staticmethod
        def by_name(name: str = ANY) -> tuple[str, ...]:
            """The marks of a table."""
            return (f"{name}",)

    class NewMark(ToolItem, word="mark-of-before"):
        format_version = 2
        title: str = field(was="name", since=2)

        @ToolKey
        @staticmethod
        def by_title(title: str = ANY) -> tuple[str, ...]:
            """The marks of a table."""
            return (f"{title}",)

    before, now = model_of(Mark.of(table)), model_of(NewMark.of(table))
    stored = read_item(encode(before.item(before.kind(name="x"))))
    assert (stored["_v"], now.version) == ({"N": "1"}, 2)
    assert now.load(stored) == now.kind(title="x")
    with pytest.raises(Newer):
        before.load(read_item(encode(now.item(now.kind(title="x")))))
