"""What the generator of changes found: each defect with the smallest change that shows it."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import Any

from singletable import Table, field
from singletable.migrations.differences import differences
from singletable.migrations.item_counts import ItemCounts
from singletable.migrations.model_document import document_of
from singletable.operations import encode, read_item
from tests.changes.declared import ClassFacts, TableFacts, made
from tests.changes.shapes import Attribute, Shape
from tests.migrations.changing import order


@dataclass
class Street:
    street: str


def judged(old: Table, new: Table) -> list[tuple[str, str]]:
    """The rules of the differences, and their subjects."""
    return [(each.rule, each.subject) for each in differences(document_of(old), document_of(new), {"order": "Order"})]


def counted(old: Table, new: Table, item: Any) -> list[tuple[str, str]]:
    """The rules under which an item of the old table is counted, with their subjects."""
    found = differences(document_of(old), document_of(new), {"order": "Order"})
    counts = ItemCounts(new, found)
    counts.look([item], 0.0)
    return [each.difference.place for each in counts.counted()]


def item_of(kind: Any, **values: Any) -> Any:
    return read_item(encode(kind.__model__.item(kind(number=1, **values))))


def test_an_empty_set_that_becomes_a_default_is_counted() -> None:
    """DynamoDB stores no empty set: the item lacks it, and reads as the default of the new type."""
    old, kind = order({"number": int, "tags": (set[str], field(default_factory=set))})
    new, _ = order({"number": int, "tags": (list[str], field(default_factory=lambda: ["none"]))})
    assert ("default.changed", "Order.tags") in counted(old, new, item_of(kind))


def test_an_attribute_that_leaves_an_object_is_counted() -> None:
    """It is carried by the object that was read, and no class reads it any more."""
    before, after = (make_dataclass("Place", [("street", str), ("town", str)][:n]) for n in (2, 1))
    old, kind = order({"number": int, "place": before})
    new, _ = order({"number": int, "place": after})
    item = item_of(kind, place=before("x", "Bern"))
    assert counted(old, new, item) == [("type.changed", "Order.place")]


def test_what_cannot_be_read_inside_of_an_object_is_counted_for_its_attribute() -> None:
    before: Any = make_dataclass("Place", [("town", str)])
    after = make_dataclass("Place", [("town", Street)])
    inner = make_dataclass("Place", [("town", make_dataclass("Town", [("street", str), ("zip", str)]))])
    old, kind = order({"number": int, "place": before})
    assert counted(old, order({"number": int, "place": after})[0], item_of(kind, place=before("x"))) == [
        ("type.changed", "Order.place")
    ]
    held, kind = order({"number": int, "place": after})
    item = item_of(kind, place=after(Street("x")))
    assert counted(held, order({"number": int, "place": inner})[0], item) == [("type.changed", "Order.place")]


def test_a_default_that_a_required_attribute_gets_is_ordered() -> None:
    """The new program may write items without it, which the old one can't read."""
    old, _ = order({"number": int, "note": str})
    new, _ = order({"number": int, "note": (str, "none")})
    assert judged(old, new) == [("attribute.optional", "Order.note")]


def test_other_attributes_of_an_index_are_other_keys() -> None:
    def listed(number: int) -> tuple[str, str]:
        return "orders", f"{number}"

    old, _ = order({"number": int}, patterns={"gsi1": listed}, table=Table("shop", indexes={"gsi1": ("a", "b")}))
    new, _ = order({"number": int}, patterns={"gsi1": listed}, table=Table("shop", indexes={"gsi1": ("c", "d")}))
    assert judged(old, new) == [("index.changed", "gsi1"), ("pattern.changed", "Order")]


def test_a_member_with_another_name_leaves_edge_sets_as_they_are() -> None:
    def net(*names: str) -> Table:
        role = Shape("enum", tuple(zip(names, ("lead", "other"), strict=True)))
        person = ClassFacts("Person", "person", (), is_node=True)
        attributes = (Attribute("role", role),)
        follow = ClassFacts("Follow", "follow", attributes, patterns=(("gsi1", ("", "{role}")),), mirrors=("role",))
        return made(TableFacts((person, follow), (("gsi1", ("", "")),), is_graph=True))[0]

    assert judged(net("LEAD", "OTHER"), net("LEAD", "REST")) == []
    assert ("mirrors.changed", "follow") in judged(net("LEAD", "OTHER"), net("OTHER", "LEAD"))


def renamed() -> Table:
    """A table whose write ids have another name."""
    return Table("shop", indexes=["gsi1", "gsi2"], write_id_attribute="w")


READING = {"number": int, "id": (str, field(default="", name="_w"))}
"""Attributes, one of which has the former name of write ids."""


def test_a_version_that_is_raised_counts_for_no_fact_of_the_table() -> None:
    old, kind = order({"number": int})
    new, newer = order(READING, version=2, table=renamed())
    newer.upcast(1)(lambda item: item)
    assert ("unknown", "names/write id") in judged(old, new)
    assert counted(old, new, item_of(kind)) == []


def test_another_write_id_counts_for_nothing_unless_a_class_reads_it() -> None:
    old, kind = order({"number": int})
    new, _ = order({"number": int}, table=renamed())
    assert judged(old, new) == [("setting", "names/write id")]
    assert counted(old, new, item_of(kind)) == []
    reading, _ = order(READING, table=renamed())
    assert ("unknown", "names/write id") in judged(old, reading)
