"""link, relink and unlink: what they write, what they refuse, and that the edge set is never another than the edges."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from singletable import AlreadyExists, InvalidRequest, Meter, NotFound, TransactionCancelled, attr
from singletable.graph import CAP, EdgeMoved, Unlink, link, members_of
from tests.graph.models import Account, Goal, GoalMembership, Note, Role, Subgoal, Subscriber, Team, User
from tests.graph.shells import bound
from tests.support.raw import stored
from tests.support.shells import Shell

GOAL, OTHER, ADA, BEN, TEAM = Goal(id="g"), Goal(id="h"), User(id="ada"), User(id="ben"), Team(id="t")
LEAD = {"role": Role.LEAD}


@pytest.fixture
async def graph(shell: Shell) -> Any:
    """The nodes, without edges."""
    for node in (GOAL, OTHER, ADA, BEN, TEAM):
        await shell.create(node)
    return shell


async def members(graph: Any, goal: Goal = GOAL) -> set[tuple[Any, Any]]:
    found = await graph.get(Goal.by_id(goal.id).consistent())
    assert found is not None
    return {(m.target, m.values.get("role")) for m in members_of(found, [GoalMembership])}


def lead(target: Any = ADA) -> GoalMembership:
    return GoalMembership(source=GOAL, target=target, role=Role.LEAD)


async def test_a_link_is_an_edge_and_a_member(graph: Any) -> None:
    await bound(graph).link(lead())
    found = await graph.get(GoalMembership.between(GOAL, ADA))
    assert found == lead()
    assert await graph.all(GoalMembership.by_rank(ADA)) == [lead()]
    assert await members(graph) == {(User.by_id("ada"), Role.LEAD)}


async def test_forty_links_from_one_node_are_one_transaction(graph: Any) -> None:
    """120 operations, 81 actions: an edge and a target each, and their one source."""
    people = [User(id=f"u{number}") for number in range(40)]
    for person in people:
        await graph.create(person)
    async with graph.transaction() as tx:
        for person in people:
            tx.add(link(lead(person)))
    assert await members(graph) == {(User.by_id(person.id), Role.LEAD) for person in people}
    assert len(await graph.all(GoalMembership.of(GOAL))) == 40


async def test_a_second_link_is_refused(graph: Any) -> None:
    await bound(graph).link(lead())
    with pytest.raises(AlreadyExists, match=r"relink\(\) it"):
        await bound(graph).link(GoalMembership(source=GOAL, target=ADA, role=Role.TEAM))
    assert await members(graph) == {(User.by_id("ada"), Role.LEAD)}


async def test_no_link_without_its_nodes(graph: Any) -> None:
    with pytest.raises(NotFound, match=r"no such node .*key User"):
        await bound(graph).link(lead(User.by_id("nobody")))
    with pytest.raises(NotFound, match=r"no such node .*key Goal"):
        await bound(graph).link(GoalMembership(source=Goal.by_id("nothing"), target=ADA))
    assert await graph.all(GoalMembership.of(GOAL)) == []
    assert await graph.get(Goal.by_id("nothing")) is None


async def test_an_unchecked_target_is_the_callers_word(graph: Any) -> None:
    await bound(graph).link(lead(User.by_id("later")), target="unchecked")
    assert [e.target for e in await graph.all(GoalMembership.of(GOAL))] == [User.by_id("later")]
    await graph.create(User(id="later"))


async def test_a_relink_moves_member_and_index_keys(graph: Any) -> None:
    await bound(graph).link(lead())
    edge = await graph.get(GoalMembership.between(GOAL, ADA))
    for role in (Role.CONTRIBUTOR, Role.TEAM, Role.LEAD):
        edge = await bound(graph).relink(edge, attr(GoalMembership.role).set(role))
        assert edge.role is role
        assert await members(graph) == {(User.by_id("ada"), role)}
        assert await graph.all(GoalMembership.by_rank(ADA, role=role)) == [edge]
        assert await graph.check(GoalMembership.__table__) == []
    assert await graph.get(GoalMembership.between(GOAL, ADA)) == edge


async def test_a_relink_of_what_is_not_mirrored_leaves_the_node_alone(graph: Any) -> None:
    await bound(graph).link(lead())
    edge = await graph.get(GoalMembership.between(GOAL, ADA))
    with graph.meter() as meter:
        edge = await bound(graph).relink(edge, attr(GoalMembership.since).set(date(2027, 2, 2)))
    # The table's row at twice its unit, a row of gsi0 written anew, and a row of gsi1 that moves: out and in.
    assert (meter.requests, meter.write_units) == (1, 2 + 1 + 2)
    assert await graph.all(GoalMembership.by_date(ADA, since=date(2027, 2, 2))) == [edge]


async def test_a_relink_by_key_reads_first(graph: Any) -> None:
    await bound(graph).link(lead())
    with graph.meter() as meter:
        edge = await bound(graph).relink(GoalMembership.between(GOAL, ADA), attr(GoalMembership.role).set(Role.TEAM))
    assert meter.requests == 2
    assert edge.role is Role.TEAM
    with pytest.raises(NotFound):
        await bound(graph).relink(GoalMembership.between(GOAL, BEN), attr(GoalMembership.role).set(Role.TEAM))
    with pytest.raises(InvalidRequest, match="at least one attribute"):
        await bound(graph).relink(edge)


async def test_a_relink_to_another_target_is_one_transaction(graph: Any) -> None:
    await bound(graph).link(lead())
    edge = await graph.get(GoalMembership.between(GOAL, ADA))
    with graph.meter() as meter:
        moved = await bound(graph).relink(edge, attr(GoalMembership.role).set(Role.TEAM), target=TEAM)
    assert meter.requests == 1
    assert moved == GoalMembership(source=GOAL, target=TEAM, role=Role.TEAM)
    assert await members(graph) == {(Team.by_id("t"), Role.TEAM)}
    assert await graph.all(GoalMembership.of(GOAL)) == [moved]
    assert await bound(graph).relink(moved, target=BEN) == GoalMembership(source=GOAL, target=BEN, role=Role.TEAM)


async def test_a_relink_to_where_an_edge_is_or_no_node_is_changes_nothing(graph: Any) -> None:
    await bound(graph).link(lead())
    await bound(graph).link(lead(BEN))
    with pytest.raises(AlreadyExists):
        await bound(graph).relink(GoalMembership.between(GOAL, ADA), target=BEN)
    with pytest.raises(NotFound, match=r"no such node .*key User"):
        await bound(graph).relink(GoalMembership.between(GOAL, ADA), target=User.by_id("nobody"))
    assert await members(graph) == {(User.by_id("ada"), Role.LEAD), (User.by_id("ben"), Role.LEAD)}


async def test_a_relink_to_its_own_target_is_a_relink(graph: Any) -> None:
    await bound(graph).link(lead())
    edge = await bound(graph).relink(
        GoalMembership.between(GOAL, ADA), attr(GoalMembership.role).set(Role.TEAM), target=User.by_id("ada")
    )
    assert await members(graph) == {(User.by_id("ada"), Role.TEAM)}
    assert await graph.get(GoalMembership.between(GOAL, ADA)) == edge


async def test_an_edge_that_was_changed_since_it_was_read(graph: Any) -> None:
    await bound(graph).link(lead())
    read = await graph.get(GoalMembership.between(GOAL, ADA))
    await bound(graph).relink(GoalMembership.between(GOAL, ADA), attr(GoalMembership.role).set(Role.TEAM))
    with pytest.raises(EdgeMoved, match="changed since it was read") as refused:
        await bound(graph).relink(read, attr(GoalMembership.since).set(date(2027, 1, 1)))
    assert refused.value.hint == "Read it again, then decide."
    assert await bound(graph).unlink(read)  # what is asked for is that it be gone
    assert await members(graph) == set()
    with pytest.raises(NotFound):
        await bound(graph).relink(read, attr(GoalMembership.role).set(Role.TEAM))
    assert not await bound(graph).unlink(read)


async def test_an_edge_that_was_taken_away_and_linked_again_is_another(graph: Any) -> None:
    await bound(graph).link(lead())
    read = await graph.get(GoalMembership.between(GOAL, ADA))
    await bound(graph).unlink(GoalMembership.between(GOAL, ADA))
    await bound(graph).link(GoalMembership(source=GOAL, target=ADA, role=Role.LEAD, since=date(2027, 5, 5)))
    with pytest.raises(EdgeMoved):
        await bound(graph).relink(read, attr(GoalMembership.role).set(Role.TEAM))
    (there,) = await graph.all(GoalMembership.of(GOAL))
    assert there.since == date(2027, 5, 5)


async def test_a_changed_object_takes_no_other_member_away(graph: Any) -> None:
    await bound(graph).link(lead())
    edge = await graph.get(GoalMembership.between(GOAL, ADA))
    edge.role = Role.TEAM
    with pytest.raises(EdgeMoved):
        await bound(graph).relink(edge, attr(GoalMembership.since).set(date(2027, 1, 1)))
    assert await bound(graph).unlink(edge)
    assert await members(graph) == set()


async def test_an_edge_that_was_linked_can_be_used_as_if_it_was_read(graph: Any) -> None:
    edge = lead()
    await bound(graph).link(edge)
    with graph.meter() as meter:
        edge = await bound(graph).relink(edge, attr(GoalMembership.role).set(Role.TEAM))
        edge = await bound(graph).relink(edge, target=BEN)
        assert await bound(graph).unlink(edge)
    assert meter.requests == 3
    assert await graph.all(GoalMembership.of(GOAL)) == []


async def test_unlink_of_nothing_is_false(graph: Any) -> None:
    assert not await bound(graph).unlink(GoalMembership.between(GOAL, ADA))
    assert not await bound(graph).unlink(lead())
    with pytest.raises(InvalidRequest, match="expected an edge or its key"):
        await bound(graph).unlink(Goal.by_id("g"))


async def test_several_edge_types_join_the_same_nodes(graph: Any) -> None:
    await bound(graph).link(lead())
    await bound(graph).link(Note(source=GOAL, target=ADA, tag="a-b"))
    await bound(graph).link(Subscriber(source=GOAL, target=ADA))
    assert len(await graph.all(GoalMembership.of(GOAL))) == 1
    found = await graph.get(Goal.by_id("g").consistent())
    assert {m.edge for m in members_of(found, [GoalMembership, Note, Subscriber])} == {GoalMembership, Note}
    assert await bound(graph).unlink(Note.between(GOAL, ADA))
    assert await bound(graph).unlink(Subscriber.between(GOAL, ADA))
    assert await members(graph) == {(User.by_id("ada"), Role.LEAD)}


async def test_a_node_may_be_its_own_neighbour(graph: Any) -> None:
    loop = Subgoal(source=GOAL, target=GOAL, n=1)
    await bound(graph).link(loop)
    assert await graph.all(Subgoal.of(GOAL)) == [loop]
    assert [(hop, n.id) for hop, n in await bound(graph).walk(GOAL, Subgoal.to(Goal), hops=9)] == [(0, "g")]
    assert await bound(graph).unlink(Subgoal.between(GOAL, GOAL))
    await bound(graph).link(loop)
    assert await bound(graph).delete_node(GOAL)


async def test_whole_nodes_and_edges_are_not_put_or_deleted(graph: Any) -> None:
    await bound(graph).link(lead())
    edge = await graph.get(GoalMembership.between(GOAL, ADA))
    calls: list[Callable[[], Any]] = [
        lambda: graph.put(GOAL),
        lambda: graph.delete(Goal.by_id("g")),
        lambda: graph.write_many(puts=[GOAL]),
        lambda: graph.write_many(deletes=[Goal.by_id("g")]),
        lambda: graph.create(lead(BEN)),
        lambda: graph.put(edge),
        lambda: graph.upsert(edge),
        lambda: graph.update(GoalMembership.between(GOAL, ADA), attr(GoalMembership.role).set(Role.TEAM)),
        lambda: graph.delete(GoalMembership.between(GOAL, ADA)),
        lambda: graph.write_many(deletes=[GoalMembership.between(GOAL, ADA)]),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest, match="is not for a"):
            await call()
    assert await graph.all(GoalMembership.of(GOAL)) == [edge]


async def test_update_and_upsert_of_a_node_keep_its_edge_set(graph: Any) -> None:
    await bound(graph).link(lead())
    updated = await graph.update(Goal.by_id("g"), attr(Goal.title).set("new"))
    upserted = await graph.upsert(Goal(id="g", title="newer"))
    for node in (updated, upserted, await graph.get(Goal.by_id("g"))):
        assert [m.target for m in members_of(node, [GoalMembership])] == [User.by_id("ada")]
    assert upserted.title == "newer"


# --- in transactions of the caller's ----------------------------------------------------------------------------------
async def test_links_join_a_transaction(graph: Any) -> None:
    kept, gone = lead(TEAM), lead(BEN)
    await bound(graph).link(kept)
    await bound(graph).link(gone)
    async with graph.transaction() as tx:
        tx.create(User(id="new"))
        tx.update(Team.by_id("t"), attr(Team.name).set("T"))
        tx.add(link(lead(ADA)))
        tx.add(link(Subgoal(source=GOAL, target=GOAL)))
        tx.add(link(Subscriber(source=GOAL, target=BEN)))
        tx.add(Unlink(gone))
    assert await members(graph) == {(Team.by_id("t"), Role.LEAD), (User.by_id("ada"), Role.LEAD)}
    found = await graph.get(Goal.by_id("g").consistent())
    assert await bound(graph).count_edges(found, Subgoal) == 1


@pytest.mark.parametrize("first", ["nodes", "edges"])
async def test_nodes_are_created_and_linked_in_one_transaction(graph: Any, first: str) -> None:
    goal, user = Goal(id="new"), User(id="new")
    edges = [GoalMembership(source=goal, target=to, role=Role.LEAD) for to in (user, ADA)] + [
        GoalMembership(source=OTHER, target=user, role=Role.TEAM)
    ]
    parts = [lambda tx: (tx.create(goal), tx.create(user)), lambda tx: [tx.add(link(edge)) for edge in edges]]
    with Meter() as meter:
        async with graph.transaction() as tx:
            for part in parts if first == "nodes" else reversed(parts):
                part(tx)
    assert meter.requests == 1
    assert await members(graph, goal) == {(User.by_id("new"), Role.LEAD), (User.by_id("ada"), Role.LEAD)}
    assert await bound(graph).count_edges(goal, GoalMembership) == 2
    assert await members(graph, OTHER) == {(User.by_id("new"), Role.TEAM)}
    with pytest.raises(TransactionCancelled, match="create"):
        await _sent(graph, lambda tx: (tx.create(goal), tx.add(link(GoalMembership(source=goal, target=BEN)))))
    assert await graph.get(GoalMembership.between(goal, BEN)) is None


async def test_one_action_an_item_and_what_can_not_be_said_is_refused_by_name(graph: Any) -> None:
    new = User(id="new")
    with pytest.raises(InvalidRequest, match="upsert and link of the same item"):
        await _sent(graph, lambda tx: (tx.upsert(new), tx.add(link(lead(new)))))
    with pytest.raises(InvalidRequest, match="link and link of the same item"):
        await _sent(graph, lambda tx: (tx.add(link(lead())), tx.add(link(lead()))))
    assert await graph.all(GoalMembership.of(GOAL)) == []


async def test_a_failed_transaction_names_the_link(graph: Any) -> None:
    with pytest.raises(TransactionCancelled, match=r"operation 4, link: there is no such node .*operation 4 User"):
        await _sent(graph, lambda tx: (tx.create(User(id="new")), tx.add(link(lead(User.by_id("nobody"))))))
    assert await graph.get(User.by_id("new")) is None


async def _sent(graph: Any, writes: Callable[[Any], Any]) -> None:
    async with graph.transaction() as tx:
        writes(tx)


async def test_a_unique_attribute_of_a_node_goes_with_it(graph: Any) -> None:
    await graph.create(Account(id="1", email="a@x"))
    assert await bound(graph).delete_node(Account.by_id("1"))
    await graph.create(Account(id="2", email="a@x"))


async def test_an_unlisted_edge_changes_no_number_where_it_goes(shell: Shell) -> None:
    """Past the cap an edge is in no set and in no number: neither its unlink nor its relink touches its source."""
    goal, users = Goal(id="over"), [User(id=f"over{n:03}") for n in range(CAP + 2)]
    edges = [GoalMembership(source=goal, target=user, role=Role.TEAM) for user in users]
    graph = bound(shell)
    await graph.load([goal, *users], edges)
    before: Any = await shell.run(stored(shell.port, Goal.by_id("over")))
    assert before["n_GOALMEMBERSHIP"] == {"N": str(CAP)}
    found: list[Any] = await shell.all(GoalMembership.of(goal))
    unlisted = [edge for edge in found if not edge._listed]
    assert len(unlisted) == 2
    with shell.meter() as relinked:
        await graph.relink(unlisted[0], attr(GoalMembership.role).set(Role.LEAD))
    with shell.meter() as unlinked:
        assert await graph.unlink(unlisted[1])
    # The row of the table at twice its unit, and rows of two indexes; one moves, out and in. No action for the source.
    assert (relinked.requests, relinked.write_units) == (1, 2 + 1 + 2)
    assert (unlinked.requests, unlinked.write_units) == (1, 2 + 1 + 1)
    assert await shell.run(stored(shell.port, Goal.by_id("over"))) == before
    assert await graph.unlink(next(edge for edge in found if edge._listed))
    after: Any = await shell.run(stored(shell.port, Goal.by_id("over")))
    assert after["n_GOALMEMBERSHIP"] == {"N": str(CAP - 1)}
