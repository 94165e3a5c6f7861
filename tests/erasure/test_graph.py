"""Erasing a node: its edges in both directions with their members, and the guard of its unique value, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from singletable import Database, key_of
from singletable.erasure import Erasure
from singletable.erasure.items import ErasureRecord
from singletable.errors import NotFound
from singletable.graph import Graph
from tests.erasure.killing import is_killed
from tests.erasure.test_erasure import with_sorted_sets
from tests.graph.models import Account, Goal, GoalMembership, Note, Sponsor, Subgoal, Subscriber, User, records
from tests.migrations.test_apply_lease import Pace
from tests.migrations.watching import before_each
from tests.oracle.planting import edit
from tests.support.engines import fresh
from tests.support.raw import all_items
from tests.support.sampling import strides

LINKED = 60
"""More than go in one transaction."""


def fill(db: Database, *, with_ada: bool = True) -> None:
    """Goals with members, of which ada is one, and notes from goal to goal."""
    graph, ada = Graph(db), User.by_id("ada")
    nodes: list[Any] = [User(id="bob", name="Bob")]
    nodes += [Goal(id=f"g{n}") for n in range(LINKED)]
    edges: list[Any] = [
        GoalMembership(source=Goal.by_id(f"g{n}"), target=User.by_id("bob")) for n in range(0, LINKED, 3)
    ]
    edges += [Subgoal(source=Goal.by_id("g1"), target=Goal.by_id("g2"))]
    if with_ada:
        nodes += [User(id="ada", name="Ada")]
        edges += [GoalMembership(source=Goal.by_id(f"g{n}"), target=ada) for n in range(LINKED)]
        edges += [Subscriber(source=Goal.by_id("g1"), target=ada), Note(source=Goal.by_id("g2"), target=ada, tag="t")]
    graph.load(nodes, edges)
    db.create(Account(id="a2", email="bob@example.org"))
    if with_ada:
        db.create(Account(id="a1", email="ada@example.org"))
        graph.link(Sponsor(source=Goal.by_id("g3"), target=Account.by_id("a1"), amount=7))


def items_of(db: Database) -> dict[tuple[str, str], dict[str, Any]]:
    """Every item, without ids of writes, revisions, whose first is random, and counters at 0."""
    found = [item for item in db.run(all_items(db.port, "records")) if item["_type"]["S"] not in ("_apply", "_erasure")]
    dropped = ("_w", "revision", "edges0", "edges1")
    return {
        (i["source"]["S"], i["target"]["S"]): {
            n: with_sorted_sets(v)
            for n, v in i.items()
            if n not in dropped and not (n.startswith("n_") and v == {"N": "0"})
        }
        | {"members": sorted([*i.get("edges0", {}).get("SS", ()), *i.get("edges1", {}).get("SS", ())])}
        for i in found
    }


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        yield made


@pytest.fixture(scope="module")
def remaining() -> dict[tuple[str, str], dict[str, Any]]:
    with fresh() as made:
        fill(made, with_ada=False)
        return items_of(made)


def test_a_user_and_an_account(db: Database, remaining: Any) -> None:
    for key, deleted in (
        (User.by_id("ada"), {"GoalMembership": LINKED, "Subscriber": 1, "Note": 1, "User": 1}),
        (Account.by_id("a1"), {"Sponsor": 1, "Account": 1}),
    ):
        plan = Erasure(db, records).plan(key)
        receipt = Erasure(db, records).apply(key)
        assert plan.deleted == receipt.deleted == deleted
        assert receipt.kept == ()
    assert items_of(db) == remaining
    assert db.check(records) == []


def test_an_edge_alone(db: Database) -> None:
    (edge,) = db.all(GoalMembership.of(Goal.by_id("g4")))
    assert Erasure(db, records).apply(key_of(edge)).deleted == {"GoalMembership": 1}
    assert db.get(User.by_id("ada")) is not None
    assert db.check(records) == []


def test_a_node_that_cant_be_read_is_told_and_its_edges_go(db: Database, remaining: Any) -> None:
    edit(db, User.by_id("ada"), name={"N": "1"})
    edges = {"GoalMembership": LINKED, "Subscriber": 1, "Note": 1}
    plan = Erasure(db, records).plan(User.by_id("ada"))
    receipt = Erasure(db, records).apply(User.by_id("ada"))
    assert plan.deleted == receipt.deleted == edges
    told = [("User", "its class can't read it: db.check(table) says why", 1)]
    assert [(kept.kind, kept.why, kept.count) for kept in receipt.kept] == told
    assert [(kept.kind, kept.why, kept.count) for kept in plan.kept] == told
    Erasure(db, records).apply(Account.by_id("a1"))
    assert items_of(db).keys() - remaining.keys() == {("USER-ada", "USER-ada")}


def test_an_edge_to_it_that_cant_be_read_is_told_and_the_rest_goes(db: Database) -> None:
    edit(db, Subscriber.between(Goal.by_id("g1"), User.by_id("ada")), at={"S": "never"})
    receipt = Erasure(db, records).apply(User.by_id("ada"))
    assert receipt.deleted == {"GoalMembership": LINKED, "Note": 1, "User": 1}
    assert [(kept.kind, kept.count) for kept in receipt.kept] == [("Subscriber", 1)]
    assert db.get(User.by_id("ada")) is None


def test_what_another_call_has_deleted_meanwhile_is_not_counted(
    db: Database, remaining: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []

    def outrun(operation: Any) -> None:
        if type(operation).__name__ == "TransactWriteItems" and not deleted:
            deleted.append("ada")
            Graph(db).delete_node(User.by_id("ada"))

    with monkeypatch.context() as patched:
        before_each(db, patched, outrun)
        receipt = Erasure(db, records).apply(User.by_id("ada"))
    Erasure(db, records).apply(Account.by_id("a1"))
    assert receipt.deleted.get("GoalMembership", 0) == 0
    assert items_of(db) == remaining


@strides(6)
def test_killed_at_every_request(remaining: Any, monkeypatch: pytest.MonkeyPatch, stride: int) -> None:
    """No edge is lost, none is counted twice, and a half-deleted node is found again."""
    at, subject = 0, User.by_id("ada")
    with fresh() as db:
        while True:
            at += stride
            fill(db)
            Erasure(db, records).apply(Account.by_id("a1"))
            if not is_killed(db, records, subject, at, monkeypatch):
                break
            with monkeypatch.context() as patched:
                Pace(db, patched)
                try:
                    Erasure(db, records).apply(subject)
                except NotFound:
                    assert at > 20  # it had ended
            record = next(r for r in db.all(ErasureRecord.of(records).by_id()) if r.pattern == "User.by_id")
            assert record.deleted == {"GoalMembership": LINKED, "Subscriber": 1, "Note": 1, "User": 1}, at
            assert items_of(db) == remaining, at
            assert db.check(records) == []
            db.delete_table(records)
    assert at > 20
