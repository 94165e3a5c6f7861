"""Searches by words in what goes round a table: copies, erasures, policies, catalogues, the texts of commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Key, Table, attr, field, starting_with
from singletable.erasure import Erasure
from singletable.errors import DeclarationError
from singletable.exchange import Exports, Imports, TableCopy
from singletable.foundation import catalogue
from singletable.pattern_calls import argument_of, patterns_of
from singletable.schema import covered_place, model_of
from singletable.schema.personal import COVERED, covered_body
from singletable.schema.word_items import entries, words_of
from singletable_deploy import Deployment, Role, creates, deletes, reads
from singletable_deploy.access import Grant
from singletable_deploy.cloudformation import template
from tests.support.attempts import table_arn
from tests.support.engines import fresh
from tests.support.iam import Attempt, is_allowed
from tests.support.raw import all_items
from tests.support.templates import statements_of

crm = Table("crm")


class Customer(Entity, table=crm, type="customer"):
    tenant: str
    id: str
    email: str = field(default="", personal=True)
    name: str | None = field(default=None, personal=True)

    @crm.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One customer."""
        return f"customer#{id}", "customer"

    @crm.search
    @staticmethod
    def by_word(tenant: str, name: str = ANY) -> Key:
        """The customers of a tenant by the words of their names."""
        return f"{tenant}", f"{name:words(4)}"


class Order(Entity, table=crm, type="order"):
    id: str
    customer: str = field(belongs_to=lambda: Customer.id)

    @crm.key
    @staticmethod
    def of_customer(customer: str, id: str = ANY) -> Key:
        return f"orders#{customer}", f"order#{id}"

    @crm.search
    @staticmethod
    def by_code(customer: str, id: str = ANY) -> Key:
        return f"{customer}", f"{id:words(2)}"


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        for number, name in enumerate(["Ada Lovelace", "Grace Hopper", "Ada King"]):
            db.create(Customer(tenant="t1", id=f"c{number}", name=name, email=f"{number}@example.org"))
        db.create(Order(id="x-1", customer="c0"))
        yield db


def texts(db: Database) -> str:
    return str(db.run(all_items(db.port, crm.name))).lower()


def ids(db: Database, begins: str) -> list[str]:
    return [one.id for one in db.all(Customer.by_word("t1", starting_with(begins)))]


@pytest.mark.parametrize("keep", [True, False])
def test_a_copy_has_the_words_of_what_it_has(db: Database, keep: bool) -> None:
    with fresh() as other:
        TableCopy(db, other, crm).run(keep_personal=keep, mask_key=None if keep else b"a key of 16 bytes")
        assert other.check(crm) == []
        copied = {one.id: one.name for one in other.scan(Customer)}
        for id, name in copied.items():
            assert id in ids(other, str(name))
        assert ("lovelace" in texts(other), "king" in texts(other)) == (keep, keep)


def test_an_erased_persons_words_go_in_the_same_transaction(db: Database) -> None:
    assert "#c0" in texts(db)
    plan = Erasure(db, crm).plan(Customer.by_id("c0"))
    assert plan.deleted == {"Customer": 1, "Order": 1}
    Erasure(db, crm).apply(Customer.by_id("c0"))
    assert "lovelace" not in texts(db)
    assert "#c0" not in texts(db)  # a random write id may hold "c0"
    assert (ids(db, "ada"), db.check(crm)) == (["c2"], [])


def test_an_export_names_words_only_where_they_may_be_seen(db: Database, tmp_path: Path) -> None:
    for personal in (True, False):
        folder = tmp_path / str(personal)
        Exports(db, crm).export(folder, format="jsonl", personal=personal)
        written = "".join(file.read_text() for file in folder.rglob("*.jsonl")).lower()
        assert ("hopper" in written, "lovelace" in written) == (personal, personal)
    with fresh() as other:
        imported = Imports(other, crm).run(tmp_path / "True")
        assert (imported.written, other.check(crm)) == (4, [])
        assert sorted(ids(other, "ada")) == ["c0", "c2"]


def test_what_is_personal_is_covered_in_the_request_and_the_key() -> None:
    query: Any = Customer.by_word("t1", starting_with("Lovelace"))
    body = {"asked": [entries(query).low, query.low]}
    assert "lovelace" not in str(covered_body(entries(query), body)).lower()
    assert "lovelace" not in str(covered_body(query, body)).lower()
    assert "lovelace" not in repr(query).lower()
    place = covered_place(crm, "_word", ("_word#customer#by_word#t1", "_word#lovelace#00"))
    assert place == (COVERED, COVERED)


def test_a_role_that_searches_reaches_words_and_items_and_no_others() -> None:
    def may(grant: Grant, action: str, key: str) -> bool:
        role = Role("it", [grant], {})
        held = statements_of(template(Deployment("app", role.tables, [role])), "It")
        return is_allowed(held, Attempt(f"dynamodb:{action}", table_arn("crm", ""), {"dynamodb:LeadingKeys": (key,)}))

    searching, creating = reads(Customer.by_word), creates(Customer)
    assert may(searching, "Query", "_word#customer#by_word#t1")
    assert may(searching, "BatchGetItem", "customer#c1")
    assert not may(searching, "Query", "_word#order#by_code#c1")
    assert not may(searching, "Query", "customer#c1")
    assert may(creating, "PutItem", "_word#customer#by_word#t1")
    assert not may(creating, "DeleteItem", "_word#customer#by_word#t1")
    assert may(deletes(Customer), "DeleteItem", "_word#customer#by_word#t1")


def test_a_catalogue_says_what_it_takes() -> None:
    pattern = next(one for one in catalogue(crm) if one.name == "by_word")
    assert (pattern.kind, pattern.requests) == ("search", "2 requests a page: its words, then the items")
    assert pattern.capacity == "0.5 read units for each 4 KB of a page of words, and of each item; consistent, 1"
    assert (pattern.sparse_by, pattern.reads_first) == (("name",), ("tenant", "name"))
    assert pattern.shown == "Customer.by_word(tenant: str, name: str = ANY)"


def test_a_command_and_a_form_take_it() -> None:
    pattern = next(one for one in patterns_of(crm) if one.name == "by_word")
    assert pattern.ranges("name") == ("starting-with",)
    argument = argument_of(pattern.slots["name"], "starting-with", ["ad"])
    asked: Any = pattern.call(tenant="t1", name=argument)
    assert asked.low == "_word#ad"


def test_words_hold_no_more_than_their_owner(db: Database) -> None:
    words = [item for item in db.run(all_items(db.port, crm.name)) if item["_type"] == {"S": "_word"}]
    assert {*words[0]} == {"pk", "sk", "_type", "_v", "owner", "owner_sort"}
    for item in words:
        loaded: Any = model_of(words_of(crm)).load(item)
        assert (loaded.type, loaded.search) in {("customer", "by_word"), ("order", "by_code")}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda id: (f"{id}", "x"), "the words of one text"),
        (lambda id, name: ("x", f"{name}"), "the words of one text"),
        (lambda id, name: ("x", f"{name:words(0)}"), "1 to 24"),
        (lambda id, name: ("x", f"{name:words(25)}"), "1 to 24"),
        (lambda id, age: (f"{id}", f"{age:words}"), "the words of one text"),
        (lambda name: (f"{name}", f"{name:words}"), "both the scope"),
        (lambda id, name: ("", f"{name:words}"), "no empty keys"),
        (lambda id, nome: ("x", f"{nome:words}"), "'nome' is not an attribute"),
    ],
)
def test_what_is_no_search_is_refused_when_the_class_is_made(function: Any, said: str) -> None:
    table = Table("some")
    with pytest.raises(DeclarationError, match=said):

        class Some(Entity, table=table, type="some"):
            id: str
            name: str
            age: int

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"some#{id}", "some"

            by_word = table.search(staticmethod(function))


def test_two_searches_of_forty_eight_words_are_one_too_many() -> None:
    table = Table("some")
    with pytest.raises(DeclarationError, match="could write 101 items in one transaction"):

        class Some(Entity, table=table, type="some"):
            id: str
            name: str
            text: str
            code: str = field(unique=True)
            other: str = field(unique=True)

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"some#{id}", "some"

            @table.search
            @staticmethod
            def by_name(name: str) -> Key:
                return "x", f"{name:words(24)}"

            @table.search
            @staticmethod
            def by_text(text: str) -> Key:
                return "x", f"{text:words(24)}"


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 12))])
def test_after_any_writes_a_search_finds_what_a_scan_finds(seed: int) -> None:
    random = Random(seed)
    parts = ["Ada", "adam", "Éva", "O'Brien", "Straße", "한국", "", "ad-am", "😀", "Król"]

    def customer() -> Customer:
        name = random.choice([None, " ".join(random.choices(parts, k=random.randint(0, 5)))])
        return Customer(tenant=random.choice("ab"), id=str(random.randint(0, 5)), name=name)

    def step(db: Database) -> None:
        one, key = customer(), Customer.by_id(str(random.randint(0, 5)))
        match random.randint(0, 4):
            case 0:
                db.put(one)
            case 1:
                db.upsert(one)
            case 2:
                db.delete(key)
            case 3 if db.get(key) is not None:
                db.update(key, attr(Customer.tenant).set(one.tenant), attr(Customer.email).set("x"))
            case _:
                with db.transaction() as tx:
                    tx.put(one)
                    tx.delete(Customer.by_id("9"))

    with fresh() as db:
        for _ in range(60):
            step(db)
        assert db.check(crm) == []
        every = list(db.scan(Customer))
        for begins in ("", "ad", "o'b", "STRASS", "하", "x", "ada kr"):
            for tenant in "ab":
                found = db.all(Customer.by_word(tenant, starting_with(begins)))
                wanted = {one.id for one in every if one.tenant == tenant and _has(one, begins)}
                assert (len(found), {one.id for one in found}) == (len(wanted), wanted)


def _has(one: Customer, begins: str) -> bool:
    from singletable.values import words_in

    words = words_in(one.name or "", "#")[:4]
    return bool(words) and all(any(w.startswith(term) for w in words) for term in words_in(begins, "#"))
