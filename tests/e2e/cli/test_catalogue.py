"""`patterns`, and the catalogue it prints."""

from __future__ import annotations

import json

from singletable import ANY, Entity, Key, Table
from singletable.schema.catalogue import AccessPattern, Parameter, catalogue
from singletable.tasks import Tasks
from tests.e2e.cli.conftest import Folder
from tests.e2e.cli.shop.model import app


def found(name: str) -> AccessPattern:
    return next(p for p in catalogue(app) if f"{p.entity}.{p.name}" == name)


def test_it_holds_every_pattern_in_the_order_of_declaration() -> None:
    names = [f"{p.kind} {p.entity}.{p.name}" for p in catalogue(app)]
    assert names == [
        "key Customer.by_email",
        "index Customer.by_city",
        "key Order.of_customer",
        "index Order.by_state",
        "collection Account.by_email",
    ]


def test_a_key() -> None:
    pattern = found("Customer.by_email")
    assert (pattern.partition, pattern.sort, pattern.index) == ("customer#{email}", "customer", None)
    assert pattern.requests == "1 request"
    assert pattern.capacity == "0.5 read units for each 4 KB; consistent, 1"
    assert pattern.description == "One customer."
    assert not pattern.needs_type_filter


def test_a_key_that_may_be_left_open() -> None:
    pattern = found("Order.of_customer")
    assert pattern.shown == "Order.of_customer(email: str, number: int = ANY)"
    assert pattern.parameters[1] == Parameter("number", "int", takes_range=True, may_be_open=True)
    assert pattern.requests == "1 request; left open, 1 a page"


def test_a_sparse_index_is_never_consistent() -> None:
    pattern = found("Customer.by_city")
    assert pattern.sparse_by == ("city",)
    assert not pattern.may_be_consistent
    assert pattern.capacity == "0.5 read units for each 4 KB of a page"


def test_a_collection() -> None:
    pattern = found("Account.by_email")
    assert (pattern.partition, pattern.sort) == ("customer#{email}", "")
    assert [p.name for p in pattern.parameters] == ["email"]
    assert pattern.description == ""


def test_a_pattern_whose_range_holds_another_class_needs_a_filter() -> None:
    table = Table("mixed")

    class Note(Entity, table=table, type="note"):
        topic: str
        name: str

        @table.key
        @staticmethod
        def by_name(topic: str, name: str = ANY) -> Key:
            return f"topic#{topic}", f"a#{name}"

    class Reply(Entity, table=table, type="reply"):
        topic: str
        number: int

        @table.key
        @staticmethod
        def by_number(topic: str, number: int = ANY) -> Key:
            return f"topic#{topic}", f"a#b#{number}"

    assert {p.entity: p.needs_type_filter for p in catalogue(table)} == {"Note": True, "Reply": False}
    assert Note.by_name is not None
    assert Reply.by_number is not None


def test_the_librarys_own_items_are_listed_on_request() -> None:
    table = Table("put-off", indexes=["gsi1"])
    Tasks(table, index="gsi1")
    assert catalogue(table) == ()
    assert "Task.by_id(id: str)" in {pattern.shown for pattern in catalogue(table, system=True)}


def test_patterns_prints_it(folder: Folder) -> None:
    ran = folder.run("patterns", "shop/model.py")
    assert ran.code == 0
    assert ran.out.startswith("table shop: 2 entities, 5 access patterns\n")
    for text in ("Order.by_state", "state#{state}", "{placed_at}", "in index gsi1", "The orders of a state, oldest"):
        assert text in ran.out


def test_a_file_needs_no_name_that_can_be_imported(folder: Folder) -> None:
    (folder.path / "shop" / "model.py").rename(folder.path / "the-shop.py")
    ran = folder.run("patterns", "the-shop.py")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("table shop: 2 entities, 5 access patterns\n")


def test_patterns_as_json(folder: Folder) -> None:
    listed = json.loads(folder.run("patterns", "shop.model:shop", "--json").out)
    assert [p["name"] for p in listed] == ["by_email", "by_city", "of_customer", "by_state", "by_email"]
    assert listed[1]["sparse_by"] == ["city"]
