"""The texts of keys, index keys and members: exactly as published, and read back whatever an id holds."""

from __future__ import annotations

import unicodedata
from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable import Database, after, at_least, at_most, before, between, starting_with
from singletable.errors import Corrupt
from singletable.graph import Graph
from singletable.graph.members import form_of
from singletable.graph.nodes import kind_type
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from tests.graph.models import Goal, GoalMembership, Note, Role, Subgoal, Team, User, records
from tests.graph.shells import bound
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell


def test_the_texts_of_a_class_begin_with_its_word() -> None:
    assert kind_type([Goal, User]).prefixes() == tuple(f"{kind.__word__}-" for kind in (Goal, User))


_CHARACTERS = st.characters(exclude_categories=("Cs", "Cc", "Cn"))
IDS = st.one_of(
    st.text(_CHARACTERS, max_size=30).filter(lambda text: unicodedata.is_normalized("NFC", text)),
    st.lists(
        st.sampled_from(["LEAD", "TEAM", "USER", "GOAL", "GOALMEMBERSHIP", "NOTE", "2026-01-01", "-", "", "a", "%2D"]),
        max_size=5,
    ).map("-".join),
)
TAGS = st.one_of(st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=20), IDS)


async def test_the_items_are_as_published(db: Database) -> None:
    goal, ada, team = Goal(id="g1", title="Fast"), User(id="u-1"), Team(id="t1")
    for node in (goal, ada, team):
        db.create(node)
    Graph(db).link(GoalMembership(source=goal, target=ada, role=Role.LEAD))
    Graph(db).link(GoalMembership(source=goal, target=team, role=Role.TEAM))
    Graph(db).link(Subgoal(source=goal, target=goal, n=7))

    edge: Any = db.run(stored(db.port, GoalMembership.between(goal, ada)))
    assert edge["source"] == {"S": "GOAL-g1"}
    assert edge["target"] == {"S": "GOALMEMBERSHIP-USER-u-1"}
    assert edge["gsi0"] == {"S": "500-LEAD"}
    assert edge["gsi1"] == {"S": "2026-01-01"}
    assert edge["role"] == {"S": "LEAD"}
    assert int(edge["revision"]["N"]) % 2 == 0
    assert "listed" not in edge

    stored_goal: Any = db.run(stored(db.port, Goal.by_id("g1")))
    assert stored_goal["source"] == stored_goal["target"] == {"S": "GOAL-g1"}
    assert sorted(stored_goal["edges0"]["SS"]) == [
        "GOALMEMBERSHIP-TEAM-t1-TEAM",
        "GOALMEMBERSHIP-USER-u-1-LEAD",
        "SUBGOAL-GOAL-g1",
    ]
    assert "edges1" not in stored_goal
    assert stored_goal["n_GOALMEMBERSHIP"] == {"N": "2"}


def test_leads_and_contributors_are_one_range() -> None:
    query = GoalMembership.by_rank(User.by_id("u1"), role=at_least(Role.CONTRIBUTOR))
    assert (query.index, query.partition, query.low) == ("gsi0", "GOALMEMBERSHIP-USER-u1", "400-CONTRIBUTOR")


async def test_edges_come_in_the_order_of_their_texts_and_ranges_are_exact(shell: Shell) -> None:
    """The separator of a graph is '-', and a tag that holds one is in its place among the others."""
    tags = [
        "a",
        "a b",
        "a%",
        "a%2Db",
        "a&",
        "a+b",
        "a,b",
        "a-",
        "a-b",
        "a-b-c",
        "a.b",
        "a/b",
        "a0",
        "b",
        "é-",
        "\uffff-",
    ]
    reader = User(id="ada")
    await shell.create(reader)
    for number, tag in enumerate(reversed(tags)):
        goal = Goal(id=f"g{number}")
        await shell.create(goal)
        await bound(shell).link(Note(source=goal, target=reader, tag=tag))

    async def found(*asked: str) -> list[str]:
        return [note.tag for note in await shell.all(Note.by_tag(reader, *asked))]

    assert await found() == sorted(tags, key=str.encode) == tags
    for i, low in enumerate(tags):
        assert await found(low) == [low]
        assert await found(at_least(low)) == tags[i:]
        assert await found(after(low)) == tags[i + 1 :]
        assert await found(at_most(low)) == tags[: i + 1]
        assert await found(before(low)) == tags[:i]
        assert await found(starting_with(low)) == [tag for tag in tags if tag.startswith(low)]
    assert await found(between("a+c", "a-b")) == ["a,b", "a-", "a-b"]
    assert (await found(at_least("a,")))[:3] == ["a,b", "a-", "a-b"]
    assert "a-b" not in await found(at_most("a+"))
    assert await found(at_most("")) == await found(before("\0")) == []


@given(IDS, st.sampled_from([User, Team]), st.sampled_from(Role))
def test_a_member_reads_back(id: str, kind: type[Any], role: Role) -> None:
    edge = GoalMembership(source=Goal(id="g"), target=kind.by_id(id), role=role)
    form = form_of(GoalMembership)
    assert form.text(edge) == f"GOALMEMBERSHIP-{kind.__word__}-{id}-{role.value}"
    (member,) = form.read([form.text(edge)])
    assert (member.kind, member.target, member.values) == (kind, kind.by_id(id), {"role": role})


@given(IDS, TAGS, st.dates())
def test_a_member_with_two_mirrored_texts_reads_back(id: str, tag: str, on: date) -> None:
    edge = Note(source=Goal(id="g"), target=Goal.by_id(id), tag=tag, on=on)
    (member,) = form_of(Note).read([form_of(Note).text(edge)])
    assert (member.target, member.values) == (Goal.by_id(id), {"tag": tag, "on": on})


@given(IDS)
def test_a_node_and_an_edge_read_back_their_keys(id: str) -> None:
    key = User.by_id(id)
    assert key.partition == key.low == f"USER-{id}"
    edge = GoalMembership.between(Goal.by_id(id), key)
    assert (edge.partition, edge.low) == (f"GOAL-{id}", f"GOALMEMBERSHIP-USER-{id}")


def test_a_member_of_another_type_is_left_out() -> None:
    form = form_of(GoalMembership)
    for text in ("GOALMEMBERSHIP-GOAL-1-LEAD", "GOALMEMBERSHIP-USER-1-LEADER", "NOTE-USER-1-LEAD", "GOALMEMBERSHIP"):
        assert form.read([text]) == []


async def test_a_node_under_two_ids_is_none(db: Database) -> None:
    """A node is an edge to itself: what others wrote between two ids is neither of the two."""
    item = {"source": {"S": "USER-a"}, "target": {"S": "USER-b"}, "_type": {"S": "USER"}, "_v": {"N": "1"}}
    db.run(put_raw(db.port, User, item))
    with pytest.raises(Corrupt, match="has another target than id makes"):
        list(db.scan(User))
    assert "key.wrong" in {finding.code for finding in db.check(records)}
    db.run(db.port.send(DeleteItem("records", {n: item[n] for n in ("source", "target")}, RawCondition(), RAW)))
