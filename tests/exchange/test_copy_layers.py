"""Copies of graphs and documents: a slice has whole documents, edges with both nodes, edge sets of what is there."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from singletable import ANY, Database, field
from singletable.documents import Documents, LocalBlobs
from singletable.exchange import TableCopy
from singletable.graph import Edge, Graph, GraphTable, Node, members_of
from tests.documents.models import Project, Shape, app, put_comment, put_shape, put_shapes, rename
from tests.graph.models import Account, Goal, GoalMembership, Note, Sponsor, Subgoal, Subscriber, User, records
from tests.support.engines import fresh
from tests.support.raw import all_items

clubs = GraphTable("clubs", indexes=["gsi0"])


class Rank(Enum):
    HEAD = "HEAD"
    MEMBER = "MEMBER"


class Member(Node, table=clubs, type="MEMBER"):
    """Its id is personal, and so stands in keys, edges and edge sets."""

    id: str = field(personal=True)
    name: str = field(default="", personal=True)


class Club(Node, table=clubs, type="CLUB"):
    name: str = ""


class Membership(Edge[Club, Member], table=clubs, type="MEMBERSHIP", mirrors=("nick", "rank")):
    nick: str = field(personal=True)
    rank: Rank = Rank.MEMBER

    @clubs.index("gsi0")
    @staticmethod
    def by_nick(nick: str = ANY) -> str:
        """By name."""
        return f"{nick}"


@pytest.fixture
def dbs() -> Iterator[tuple[Database, Database]]:
    with ExitStack() as stack:
        yield stack.enter_context(fresh()), stack.enter_context(fresh())


def fill_graph(db: Database) -> None:
    rng = random.Random(1)
    graph = Graph(db)
    users = [User(id=f"u{n}", name=f"User {n}") for n in range(20)]
    goals = [Goal(id=f"g{n}") for n in range(60)]
    chosen = {(g.id, rng.choice(users).id) for g in goals for _ in range(4)}
    edges: list[Any] = [GoalMembership(source=Goal.by_id(g), target=User.by_id(u)) for g, u in sorted(chosen)]
    edges += [Subscriber(source=goal, target=rng.choice(users)) for goal in goals]
    edges += [Note(source=goal, target=rng.choice(users), tag="t") for goal in goals]
    edges += [Subgoal(source=goals[n], target=goals[n + 1]) for n in range(59)]
    graph.load([*users, *goals], edges)
    for n in range(5):
        db.create(Account(id=f"a{n}", email=f"a{n}@example.org"))
        graph.link(Sponsor(source=goals[n], target=Account.by_id(f"a{n}"), amount=n))


@pytest.mark.parametrize("follow", [True, False])
def test_a_slice_of_a_graph(dbs: tuple[Database, Database], follow: bool) -> None:
    source, target = dbs
    fill_graph(source)
    copied = TableCopy(source, target, records).run(sample=0.05, seed=4, follow_edges=follow)
    assert copied.read < 60
    assert target.check(records) == []
    kinds = (GoalMembership, Subgoal, Note, Subscriber, Sponsor)
    edges: list[Any] = [edge for kind in kinds for edge in target.scan(kind)]
    for edge in edges:
        assert target.get(edge.source) is not None
        assert target.get(edge.target) is not None
    if follow:
        assert len(edges) > 10
        assert any(list(members_of(goal, [GoalMembership])) for goal in target.scan(Goal))


def test_a_whole_graph_is_the_same(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    fill_graph(source)
    TableCopy(source, target, records).run()
    assert _by_place(target, "records") == _by_place(source, "records")
    assert target.check(records) == []


def test_masked_ids_of_nodes_and_mirrored_values(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    members = [Member(id=f"person{n}", name=f"Realname{n}") for n in range(10)]
    found = [Club(id=f"c{n}", name=f"Club {n}") for n in range(3)]
    edges = [Membership(source=club, target=each, nick=f"Nick-{each.id}") for club in found for each in members]
    Graph(source).load([*members, *found], edges)
    assert source.check(clubs) == []
    TableCopy(source, target, clubs).run()
    stored = json.dumps(target.run(all_items(target.port, "clubs")))
    assert "person" not in stored
    assert "Realname" not in stored
    assert "Nick" not in stored
    assert target.check(clubs) == []
    (club, *_) = target.scan(Club)
    assert len(list(members_of(club, [Membership]))) == 10


def test_documents_are_whole_with_their_branches(dbs: tuple[Database, Database], tmp_path: Path) -> None:
    source, target = dbs
    store = LocalBlobs(tmp_path)
    docs = Documents(source, Project, blobs=store)
    for n in range(8):
        docs.create("o1", f"p{n}", name=f"Atlas {n}")
        docs.apply(f"p{n}", [put_shapes(count=5).by("c", 1), put_shape(id="s1", shape=Shape(1, 1, "x")).by("c", 2)])
        docs.apply(f"p{n}", [rename(name="Novel").by("c", 3), put_comment(id="r1", text="one").by("c", 4)])
    docs.branch("p1", "b1")
    docs.apply("b1", [rename(name="Mine").by("d", 1)])
    assert source.check(app, docs) == []
    copy = TableCopy(source, target, app)
    runs = (copy.run(sample=0.1, seed=seed, follow_edges=True, keep_personal=True) for seed in range(20))
    assert any(copied.read > 0 for copied in runs)  # which seed finds something depends on the engine
    there = Documents(target, Project, blobs=store)
    assert target.check(app, there) == []
    assert len(_by_place(target, "documents-test")) < len(_by_place(source, "documents-test"))
    for row in target.scan(docs.context.model.rows.listing):
        assert there.head(row.document_id).name == docs.head(row.document_id).name
    with fresh() as masked:
        TableCopy(source, masked, app).run()
        assert masked.check(app, Documents(masked, Project, blobs=store)) == []
        assert "Novel" not in json.dumps(list(_by_place(masked, "documents-test").values()))


def _by_place(db: Database, table: str) -> dict[str, Any]:
    items = db.run(all_items(db.port, table))
    names = ("source", "target") if "source" in items[0] else ("pk", "sk")
    return {json.dumps([item[name] for name in names]): _sorted(item) for item in items}


def _sorted(item: dict[str, Any]) -> dict[str, Any]:
    return {name: {"SS": sorted(value["SS"])} if "SS" in value else value for name, value in item.items()}
