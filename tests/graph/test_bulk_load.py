"""load: whole nodes with complete sets in batches, or a refusal before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import AlreadyExists, InvalidRequest, attr
from singletable.errors import Incomplete, Throttled
from singletable.graph import CAP, members_of
from singletable.operations import BatchWriteItem
from tests.graph.models import Account, Goal, GoalMembership, Note, Role, Subscriber, User, records
from tests.graph.shells import bound
from tests.support.raw import all_items
from tests.support.shells import Shell

GOAL, ADA = Goal(id="g"), User(id="ada")


async def test_what_was_loaded_is_as_if_it_was_linked(shell: Any) -> None:
    people = [User(id=f"u{i}") for i in range(CAP + 20)]
    edges: list[Any] = [GoalMembership(source=GOAL, target=u, role=Role.TEAM) for u in people]
    edges += [Note(source=GOAL, target=GOAL, tag="self"), Subscriber(source=GOAL, target=people[0])]
    await bound(shell).load([GOAL, *people], edges)
    node = await shell.get(Goal.by_id("g"))
    assert len(list(members_of(node, [GoalMembership]))) == CAP
    assert len(list(members_of(node, [Note]))) == 1
    assert len(await shell.all(GoalMembership.of(GOAL))) == CAP + 20
    (row,) = await bound(shell).including([node])
    assert (row.more(GoalMembership), row.more(Note)) == (True, False)
    for edge in await shell.all(GoalMembership.of(GOAL)):
        await bound(shell).relink(edge, attr(GoalMembership.role).set(Role.LEAD))
        assert await bound(shell).unlink(GoalMembership.between(edge.source, edge.target))
    assert list(members_of(await shell.get(Goal.by_id("g")), [GoalMembership])) == []


async def test_edges_may_go_to_nodes_that_are_there_already(shell: Shell) -> None:
    await shell.create(ADA)
    with shell.meter() as meter:
        await bound(shell).load([GOAL], [GoalMembership(source=GOAL, target=ADA)])
    assert meter.write_units == 1 + 3  # the node; the edge and its rows in two indexes
    assert await bound(shell).count_edges(GOAL, GoalMembership) == 1


@pytest.mark.parametrize(
    ("nodes", "edges", "error", "message"),
    [
        ([GOAL, ADA], [], AlreadyExists, "exist already"),
        ([Goal(id="n")], [Note(source=GOAL, target=ADA)], InvalidRequest, "source is not among the nodes"),
        ([], [Note(source=GOAL, target=ADA)], InvalidRequest, "source is not among the nodes"),
        ([Goal(id="n")], [Note(source=Goal.by_id("n"), target=User.by_id("x"))], InvalidRequest, "1 nodes that edges"),
        ([Goal(id="n"), Goal(id="n")], [], InvalidRequest, "a node is given twice"),
        (
            [Goal(id="n")],
            [Note(source=Goal.by_id("n"), target=ADA, tag="a"), Note(source=Goal.by_id("n"), target=ADA, tag="b")],
            InvalidRequest,
            "an edge is given twice",
        ),
        ([Account(id="1", email="a@x")], [], InvalidRequest, r"unique attribute.*load.*create\(\) them"),
    ],
)
async def test_what_is_refused_writes_nothing(
    shell: Shell, nodes: list[Any], edges: list[Any], error: type[Exception], message: str
) -> None:
    await shell.create(ADA)
    with pytest.raises(error, match=message):
        await bound(shell).load(nodes, edges)
    assert len(await shell.run(all_items(shell.port, records.name))) == 1


async def test_a_load_that_stops_halfway_is_incomplete(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    send_all = shell.port.send_all

    async def refuse(operations: Any) -> Any:
        if isinstance(operations[0], BatchWriteItem):
            raise Throttled("slow down")
        return await send_all(operations)

    monkeypatch.setattr(shell.port, "send_all", refuse)
    with pytest.raises(Incomplete, match=r"throttled \(operation load.* delete its nodes first") as raised:
        await bound(shell).load([GOAL], [])
    assert raised.value.rest == ()


async def test_nothing_to_load_is_nothing(shell: Shell) -> None:
    with shell.meter() as meter:
        await bound(shell).load([], [])
    assert meter.requests == 0
