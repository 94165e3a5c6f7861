"""A node of a graph with what is around it: complete, bounded, and honest where the edge set is wrong."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest

from goals.model import (
    Goal,
    GoalKind,
    GoalMembership,
    KeyResult,
    Role,
    SeeAlso,
    Subscriber,
    User,
    records,
)
from singletable import Database, InvalidCursor, InvalidRequest
from singletable.foundation import COVERED
from singletable.graph import Graph
from singletable.graph.inspect.lists import graphs_of, inspect_graph
from singletable.graph.inspect.node import MOST_INCOMING, MOST_OUTGOING, NodeInfo, inspect_node
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from tests.studio.views.conftest import NASTY
from tests.support.models import app
from tests.support.raw import put_raw, stored

SINCE = date(2026, 1, 5)


def seen(db: Database, key: str, **more: Any) -> NodeInfo:
    return db.run(inspect_node(db.port, db.target.seal, records, key, **more))


def whats(found: NodeInfo) -> list[tuple[str, str, str]]:
    return [(each.what, each.type, each.other) for each in found.disagreements]


def change_set(db: Database, key: Any, change: Any) -> None:
    """Write a node's item with another edge set, past the library."""
    found: Any = db.run(stored(db.port, key))
    item: dict[str, Any] = dict(found)
    change(item)
    db.run(put_raw(db.port, Goal, item))


def test_a_node_is_shown_with_its_edges_in_both_directions(goals: Database) -> None:
    with goals.meter() as meter:
        found = seen(goals, "GOAL-G1")
    assert (meter.requests, meter.round_trips, meter.read_units) == (8, 2, 9.5)
    assert (found.node.label, found.node.state) == ("Ships find the harbour by night", "there")
    edges = [(edge.type, edge.other.key, edge.kept) for edge in found.outgoing.edges]
    assert ("GoalMembership", "USER-U1", "listed") in edges
    assert ("Subscriber", "USER-U6", "left out") in edges
    assert ("KeyResult", "GOAL-G1-K1", "listed") in edges
    assert len(edges) == goals_edges(goals, "G1")
    assert [edge.other.key for edge in found.incoming["PartOf"].edges] == [
        "GOAL-G1-K1",
        "GOAL-G1-K2",
        "GOAL-G1-K3",
        "GOAL-G3",
    ]
    sets = {each.type: (each.members, each.counted, each.is_kept) for each in found.sets}
    assert (sets["GoalMembership"], sets["Subscriber"]) == ((4, 4, True), (0, 0, False))
    assert found.disagreements == ()


def goals_edges(db: Database, goal: str) -> int:
    kinds: tuple[Any, ...] = (GoalMembership, Subscriber, KeyResult)
    return sum(len(db.all(kind.of(Goal.by_id(goal)))) for kind in kinds) + 1  # and the sub-goal


def test_what_showing_a_neighbour_takes_is_said_before(goals: Database) -> None:
    found = seen(goals, "GOAL-G1")
    for key, kind in (("USER-U1", "User"), ("TEAM-T1", "Team"), ("ORGANISATION-everybody", "Organisation")):
        with goals.meter() as meter:
            seen(goals, key)
        assert meter.requests == found.expanding[kind]


def test_personal_values_are_covered_until_asked_for(goals: Database) -> None:
    assert seen(goals, "USER-U1").node.label == "U1"
    assert [(each.name, each.text) for each in seen(goals, "USER-U1").attributes] == [("id", "U1"), ("name", COVERED)]
    assert seen(goals, "USER-U1", personal=True).node.label == "Ada Lovelace"


def test_a_user_who_may_not_read_a_class_sees_nothing_of_it(goals: Database) -> None:
    def reads(kind: type[Any] | None) -> bool:
        return kind in (Goal, GoalMembership, KeyResult)

    found = seen(goals, "GOAL-G1", reads=reads)
    assert {edge.type for edge in found.outgoing.edges} == {"GoalMembership", "KeyResult"}
    hidden = [edge.other for edge in found.outgoing.edges if edge.type == "GoalMembership"]
    assert {(end.key, end.label, end.state) for end in hidden} == {("", COVERED, "hidden")}
    assert set(found.incoming) == {"KeyResult"}
    assert {each.type for each in found.sets} == {"GoalMembership", "KeyResult"}


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_node_of_many_edges_is_shown_a_page_at_a_time(goals: Database, count: int) -> None:
    graph = Graph(goals)
    hub = Goal(id="hub", title=NASTY)
    users = [User(id=f"u{n:05}", name="") for n in range(count)]
    at = datetime(2026, 1, 5, tzinfo=timezone.utc)
    graph.load([hub, *users], [Subscriber(source=hub, target=user, since=at) for user in users])
    keys: list[str] = []
    cursor: str | None = None
    while True:
        with goals.meter() as meter:
            found = seen(goals, "GOAL-hub", after=cursor)
        assert meter.requests == 8
        assert len(found.outgoing.edges) <= MOST_OUTGOING
        keys += [edge.other.key for edge in found.outgoing.edges]
        cursor = found.outgoing.cursor
        if cursor is None:
            break
    assert keys == [f"USER-u{n:05}" for n in range(count)]
    assert found.node.label == NASTY
    assert found.disagreements == ()


def test_the_edges_that_come_to_a_node_have_a_cursor_for_each_type(goals: Database) -> None:
    target = Goal(id="target", title="")
    others = [Goal(id=f"o{n:03}", title="") for n in range(MOST_INCOMING + 5)]
    Graph(goals).load([target, *others], [SeeAlso(source=other, target=target, since=SINCE) for other in others])
    first = seen(goals, "GOAL-target").incoming["SeeAlso"]
    assert len(first.edges) == MOST_INCOMING
    second = seen(goals, "GOAL-target", incoming_after={"SeeAlso": first.cursor}).incoming["SeeAlso"]
    assert (len(second.edges), second.cursor) == (5, None)
    with pytest.raises(InvalidCursor):
        seen(goals, "GOAL-G1", incoming_after={"SeeAlso": first.cursor})


def test_an_edge_that_its_set_lacks_is_marked(goals: Database) -> None:
    def take_out(item: dict[str, Any]) -> None:
        for name in ("edges0", "edges1"):
            members = [m for m in item.get(name, {}).get("SS", []) if "USER-U1-" not in m]
            if members:
                item[name] = {"SS": members}
            else:
                item.pop(name, None)

    change_set(goals, Goal.by_id("G1"), take_out)
    with goals.meter() as meter:
        found = seen(goals, "GOAL-G1")
    assert whats(found) == [("the edge set does not have this edge", "GoalMembership", "USER-U1")]
    assert meter.requests == 10  # the two that look again
    assert [e.kept for e in found.outgoing.edges if e.other.key == "USER-U1"] == ["missing", "left out"]


def test_a_member_without_its_edge_is_marked_on_the_page_where_it_belongs(goals: Database) -> None:
    edge: Any = GoalMembership.between(Goal.by_id("G1"), User.by_id("U1"))
    key = {"source": {"S": edge.partition}, "target": {"S": edge.low}}
    goals.run(goals.port.send(DeleteItem(records.name, key, RawCondition(), RAW)))
    assert whats(seen(goals, "GOAL-G1")) == [
        ("the edge set has an edge that is not there", "GoalMembership", "USER-U1")
    ]


def test_a_member_beyond_the_page_is_not_called_missing(goals: Database) -> None:
    graph = Graph(goals)
    hub = Goal(id="hub", title="")
    parts = [Goal(id=f"p{n:03}", title="", kind=GoalKind.KEY_RESULT) for n in range(MOST_OUTGOING + 20)]
    graph.load([hub, *parts], [KeyResult(source=hub, target=part, position="0") for part in parts])
    first = seen(goals, "GOAL-hub")
    assert first.disagreements == ()
    assert [each.members for each in first.sets if each.type == "KeyResult"] == [len(parts)]
    assert seen(goals, "GOAL-hub", after=first.outgoing.cursor).disagreements == ()


def test_an_edge_to_a_node_that_is_gone_is_marked(goals: Database) -> None:
    node = {"source": {"S": "USER-U1"}, "target": {"S": "USER-U1"}}
    goals.run(goals.port.send(DeleteItem(records.name, node, RawCondition(), RAW)))
    found = seen(goals, "GOAL-G1")
    assert ("a node that this edge joins is not there", "GoalMembership", "USER-U1") in whats(found)
    assert {e.other.state for e in found.outgoing.edges if e.other.key == "USER-U1"} == {"missing"}
    assert seen(goals, "USER-U1").node.state == "missing"


def test_what_a_class_can_not_read_is_shown_as_it_is_stored(goals: Database) -> None:
    for sort, type_ in (("GOALMEMBERSHIP-USER-U1", "GOALMEMBERSHIP"), ("ZZZ", "unheard of")):
        broken = {"source": {"S": "GOAL-G2"}, "target": {"S": sort}, "_type": {"S": type_}, "text": {"S": NASTY}}
        goals.run(put_raw(goals.port, Goal, broken))
    found = seen(goals, "GOAL-G2", personal=True)
    broken_ones = [edge for edge in found.outgoing.edges if edge.other.state == "unreadable"]
    assert [(edge.type, edge.other.label) for edge in broken_ones] == [
        ("GOALMEMBERSHIP", "GOALMEMBERSHIP-USER-U1"),
        ("unheard of", "ZZZ"),
    ]
    assert NASTY in [value.text for value in broken_ones[0].values]
    covered = [e for e in seen(goals, "GOAL-G2").outgoing.edges if e.other.state == "unreadable"]
    assert {value.text for edge in covered for value in edge.values} == {COVERED}


@pytest.mark.parametrize("key", ["", "GOAL", "GOAL-", "nothing-1", NASTY])
def test_a_text_that_is_no_node_is_refused_and_nothing_is_sent(goals: Database, key: str) -> None:
    with goals.meter() as meter, pytest.raises(InvalidRequest, match="not the key of a node"):
        seen(goals, key)
    assert meter.requests == 0


def test_long_values_are_cut_and_their_length_is_said(goals: Database) -> None:
    goals.create(Goal(id="long", title="x" * 300_000))
    found = seen(goals, "GOAL-long")
    title = next(each for each in found.attributes if each.name == "title")
    assert (len(title.text), title.characters, title.is_cut) == (2000, 300_000, True)
    assert len(found.node.label) == 120


def test_some_nodes_to_begin_with(goals: Database) -> None:
    assert graphs_of([app, records]) == [records]
    with goals.meter() as meter:
        found = goals.run(inspect_graph(goals.port, goals.target.seal, records))
    assert (meter.requests, len(found.some), found.cursor) == (1, 19, None)
    assert [each.name for each in found.nodes] == ["Goal", "User", "Team", "Organisation"]
    assert [each.mirrors for each in found.edges if each.name in ("Subscriber", "TeamMembership")] == [None, ("role",)]
    users = goals.run(inspect_graph(goals.port, goals.target.seal, records, of="User"))
    assert {each.kind for each in users.some} == {"User"}


def test_a_list_of_nodes_goes_on_where_it_ended(goals: Database) -> None:
    Graph(goals).load([User(id=f"x{n:03}", name="") for n in range(60)])
    found: list[str] = []
    cursor: str | None = None
    while True:
        part = goals.run(inspect_graph(goals.port, goals.target.seal, records, of="User", after=cursor))
        found += [each.key for each in part.some]
        cursor = part.cursor
        if cursor is None:
            break
    assert len(found) == len(set(found)) == 66


def test_a_link_that_is_made_meanwhile_is_no_disagreement(goals: Database) -> None:
    """Between the node and its edges: the second reading has both."""
    port = goals.port
    readings: list[int] = []
    send_all = port.send_all

    async def linking(operations: Any) -> Any:
        found = await send_all(operations)
        if not readings:
            readings.append(1)
            user, goal = User.by_id("U6"), Goal.by_id("G1")
            Graph(goals).link(GoalMembership(source=goal, target=user, role=Role.CONTRIBUTOR, since=SINCE))
            again = await send_all(operations)
            return [found[0], *again[1:]]
        return found

    port.send_all = linking  # type: ignore[method-assign]
    try:
        assert seen(goals, "GOAL-G1").disagreements == ()
    finally:
        del port.send_all
