"""The graph's verbs where refusals come without the stored items: what they decide by an item, they read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable import NotFound, attr
from singletable.graph import EdgeMoved, members_of
from singletable.graph.check import check_graph
from singletable.graph.edge_set_writes import CAP
from singletable.graph.link import link, relink, unlink
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.faults.proxy import FaultProxy
from tests.graph.models import Goal, GoalMembership, Role, User, records
from tests.support.shells import Shell

GOAL = Goal(id="g")


@pytest.fixture
async def shell(kind: str, proxy: FaultProxy, clock: Clock) -> AsyncIterator[Shell]:
    proxy.carrier.hides_items = True
    async with opened_at(kind, proxy.url, clock=clock, tables=(records,)) as made:
        await made.create(GOAL)
        yield made
        assert await made.run(check_graph(made.port, records)) == []


async def linked(shell: Shell, name: str) -> Any:
    await shell.create(User(id=name))
    edge = GoalMembership(source=GOAL, target=User.by_id(name), role=Role.LEAD)
    await shell.run(link(shell.port, edge))
    return edge


async def test_a_full_node_is_linked_unlisted(shell: Shell) -> None:
    for number in range(CAP + 1):
        await linked(shell, f"u{number:03}")
    goal = await shell.get(Goal.by_id("g").consistent())
    assert goal is not None
    assert len(list(members_of(goal, [GoalMembership]))) == CAP
    assert len(await shell.all(GoalMembership.of(GOAL))) == CAP + 1


async def test_an_edge_that_moved_is_no_missing_edge(shell: Shell) -> None:
    edge = await linked(shell, "ada")
    key = GoalMembership.between(GOAL, User.by_id("ada"))
    await shell.run(relink(shell.port, key, (attr(GoalMembership.role).set(Role.TEAM),)))
    with pytest.raises(EdgeMoved):
        await shell.run(relink(shell.port, edge, (attr(GoalMembership.role).set(Role.CONTRIBUTOR),)))
    assert await shell.run(unlink(shell.port, edge)) is True
    assert await shell.run(unlink(shell.port, edge)) is False
    with pytest.raises(NotFound):
        await shell.run(link(shell.port, GoalMembership(source=GOAL, target=User.by_id("nobody"))))
