"""Nodes and edges that their classes can't read: pages, walks and counts go past them, and name them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable.errors import Corrupt
from singletable.graph import CAP, Edge
from singletable.records import Unreadable
from tests.graph.models import Goal, GoalMembership, Role, Subgoal, Team, User, records
from tests.graph.shells import bound, opened
from tests.support.raw import all_items, put_raw
from tests.support.shells import Shell

TEAM = Team(id="t", name="T")
GOALS = [Goal(id=f"g{i:03}", title="G") for i in range(CAP + 11)]
PEOPLE = [User(id=f"u{i:03}", name="U") for i in range(CAP + 11)]
LEADS = GoalMembership.to(User)


@pytest.fixture
async def shell(kind: str) -> AsyncIterator[Shell]:
    """Without the check at the end, which finds them."""
    async with opened(kind) as made:
        yield made


@pytest.fixture
async def graph(shell: Shell) -> Any:
    """The goals of a team, each with a lead, the first with more of them than its edge set lists. Of the goals one,
    of the people two, of the edges to the team one and of the unlisted edges one can't be read."""
    edges: list[Edge[Any, Any]] = []
    for goal, user in zip(GOALS, PEOPLE, strict=True):
        edges += [GoalMembership(source=goal, target=TEAM, role=Role.TEAM), Subgoal(source=GOALS[0], target=goal)]
        edges.append(GoalMembership(source=goal, target=user, role=Role.LEAD))
    edges += [GoalMembership(source=GOALS[0], target=user, role=Role.CONTRIBUTOR) for user in PEOPLE[1:]]
    await bound(shell).load([TEAM, *GOALS, *PEOPLE], edges)
    for item in await all_items(shell.port, "records"):
        place = (item["source"]["S"], item["target"]["S"])
        if place in SPOILT:
            await put_raw(shell.port, Goal, item | SPOILT[place])
    return shell


SPOILT = {
    ("GOAL-g003", "GOAL-g003"): {"title": {"N": "1"}},
    ("USER-u005", "USER-u005"): {"name": {"N": "1"}},
    ("USER-u050", "USER-u050"): {"name": {"N": "1"}},
    ("GOAL-g004", "GOALMEMBERSHIP-TEAM-t"): {"since": {"S": "never"}},
    ("GOAL-g000", f"GOALMEMBERSHIP-USER-{PEOPLE[-1].id}"): {"since": {"S": "never"}},
}


def places(told: list[Unreadable]) -> set[tuple[str, str]]:
    return {(each.key.partition, each.key.low) for each in told}


async def test_a_page_goes_past_them(graph: Any) -> None:
    query = GoalMembership.by_rank(TEAM).sources().including(LEADS, complete=True)
    with pytest.raises(Corrupt) as caught:
        await bound(graph).page(query, limit=20)
    assert caught.value.key is not None
    told: list[Unreadable] = []
    seen: dict[str, list[str]] = {}
    missing, after = 0, None
    while True:
        page = await bound(graph).page(query, limit=20, after=after, unreadable=told.append)
        seen |= {row.node.id: [user.id for user in row.linked(LEADS)] for row in page}
        missing += page.missing
        if (after := page.cursor) is None:
            break
    assert set(seen) == {goal.id for goal in GOALS} - {"g003", "g004"}
    assert set(seen["g000"]) == {user.id for user in PEOPLE} - {"u005", "u050", PEOPLE[-1].id}
    assert seen["g005"] == []
    assert missing == 1  # the goal, whose edge was read
    assert places(told) == set(SPOILT)
    assert {each.error.operation for each in told} >= {"BatchGetItem", "Query of GoalMembership.by_rank"}


async def test_a_walk_and_a_count_go_past_them(graph: Any) -> None:
    with pytest.raises(Corrupt):
        await bound(graph).walk(GOALS[0], Subgoal.to(Goal), hops=1)
    told: list[Unreadable] = []
    found = await bound(graph).walk(GOALS[0], Subgoal.to(Goal), hops=2, unreadable=told.append)
    assert {node.id for _, node in found} == {goal.id for goal in GOALS} - {"g003"}
    assert places(told) == {("GOAL-g003", "GOAL-g003")}
    with pytest.raises(Corrupt):
        await bound(graph).count_edges(GOALS[0], GoalMembership)
    told.clear()
    count = await bound(graph).count_edges(Goal.by_id("g000"), GoalMembership, unreadable=told.append)
    assert (count, len(told)) == (1 + len(PEOPLE) - 1, 1)
    assert await bound(graph).walk(Goal.by_id("g003"), Subgoal.to(Goal), hops=1, unreadable=told.append) == []


async def test_what_is_included_goes_past_them(graph: Any) -> None:
    goal = await graph.get(Goal.by_id("g005"))
    with pytest.raises(Corrupt):
        await bound(graph).including([goal], LEADS)
    told: list[Unreadable] = []
    (row,) = await bound(graph).including([goal], LEADS, unreadable=told.append)
    assert row.linked(LEADS) == []
    assert places(told) == {("USER-u005", "USER-u005")}


async def test_a_node_is_deleted_but_for_what_cant_be_read(graph: Any) -> None:
    """All edges that can be read go; the node stays hidden until the others are mended, and a sweep ends it."""
    key = Goal.by_id("g000")
    await bound(graph).delete_node(key)
    left = [item for item in await all_items(graph.port, "records") if item["source"]["S"] == "GOAL-g000"]
    assert {item["target"]["S"] for item in left} == {"GOAL-g000", f"GOALMEMBERSHIP-USER-{PEOPLE[-1].id}"}
    assert await graph.get(key) is None
    assert [node.id for _, node in await bound(graph).walk(Team.by_id("t"), Subgoal.to(Goal), hops=1)] == ["t"]
    for item in left:
        mended = {name: value for name, value in item.items() if name != "since"} | {"since": {"S": "2026-01-01"}}
        await put_raw(graph.port, Goal, mended)
    assert await graph.sweep_table(records) >= 1
    assert [i for i in await all_items(graph.port, "records") if i["source"]["S"] == "GOAL-g000"] == []


async def test_a_node_stays_until_its_incoming_edges_can_be_read(graph: Any) -> None:
    await bound(graph).delete_node(TEAM)
    left = {(i["source"]["S"], i["target"]["S"]) for i in await all_items(graph.port, "records")}
    assert {place for place in left if "TEAM-t" in place[1]} == {
        ("TEAM-t", "TEAM-t"),
        ("GOAL-g004", "GOALMEMBERSHIP-TEAM-t"),
    }
    assert await graph.get(Team.by_id("t")) is None
