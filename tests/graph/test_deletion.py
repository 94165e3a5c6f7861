"""delete_node: the node and all its edges, in both directions; hidden at once, finished by whoever calls it again."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from itertools import count
from typing import Any

import pytest

from singletable import Database, InvalidRequest, NotFound, NotUnique, attr, connect
from singletable.errors import Corrupt
from singletable.graph import Graph, flows
from singletable.graph.check import check_graph
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from tests.faults.failpoints import AFTER, BEFORE
from tests.graph import processes
from tests.graph.models import Account, Goal, GoalMembership, Note, Role, Subgoal, Subscriber, User, records
from tests.graph.processes import DOOMED
from tests.graph.shells import bound
from tests.support.children import KILLED, run_child
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell
from tests.support.traits import LOCAL

SOME_STEPS = [f"{AFTER}:1", f"{BEFORE}:4", f"{AFTER}:7", f"{BEFORE}:11", f"{AFTER}:14", f"{BEFORE}:18"]


def doomed_graph(db: Database, edges: int) -> None:
    """A node with so many edges, of four types and both directions, and a bystander that keeps its own."""
    people = [User(id=f"u{i}") for i in range(edges // 5)]
    goals = [Goal(id=f"g{i}") for i in range(edges // 5)]
    found: list[Any] = [GoalMembership(source=DOOMED, target=u, role=Role.LEAD) for u in people]
    found += [Subscriber(source=DOOMED, target=u) for u in people]
    found += [Note(source=DOOMED, target=g, tag="out") for g in goals]
    found += [Note(source=g, target=DOOMED, tag="in") for g in goals]
    found += [Subgoal(source=g, target=DOOMED, n=1) for g in goals]
    found += [GoalMembership(source=g, target=u, role=Role.TEAM) for g, u in zip(goals, people, strict=True)]
    Graph(db).load([DOOMED, Goal(id="late"), *people, *goals], found)


def assert_hidden(db: Database) -> None:
    """Whoever reads takes the node as gone, and nobody links it any more."""
    key = Goal.by_id(DOOMED.id)
    assert db.get(key) is None
    assert db.get_many([key]) == []
    assert list(Graph(db).page(Note.of(Goal.by_id("g0")).targets())) == []
    with pytest.raises(NotFound):
        db.update(key, attr(Goal.title).set("alive"))
    with pytest.raises(NotFound):
        Graph(db).link(GoalMembership(source=DOOMED, target=User.by_id("other")))
    with pytest.raises(NotFound):
        Graph(db).link(Subgoal(source=Goal.by_id("late"), target=DOOMED))


def told(db: Database) -> list[str]:
    """What is not as it should be, with the deletions that have not ended."""
    return [finding.code for finding in db.run(check_graph(db.port, records))]


def assert_gone(db: Database, goals: int) -> None:
    assert db.check(records) == []
    assert not Graph(db).delete_node(DOOMED)
    for edge in (GoalMembership, Subscriber, Note):
        assert db.all(edge.of(DOOMED)) == []
    assert db.all(Note.by_tag(DOOMED)) == []
    assert db.all(Subgoal.by_n(DOOMED)) == []
    kept = db.get_many([Goal.by_id(f"g{i}") for i in range(goals)])
    assert [Graph(db).count_edges(goal, GoalMembership) for goal in kept] == [1] * goals


@pytest.fixture
def lasting(engine_url: str) -> Iterator[Database]:
    """A database on an engine that child processes reach as well."""
    with connect(engine_url, environ={}) as made:
        made.port.traits = LOCAL
        made.create_table(records)
        yield made


async def test_a_node_goes_with_all_its_edges(shell: Shell) -> None:
    goal, other, ada = Goal(id="1"), Goal(id="2"), User(id="ada")
    for node in (goal, other, ada):
        await shell.create(node)
    for edge in (
        GoalMembership(source=goal, target=ada),
        Subscriber(source=goal, target=ada),
        Subgoal(source=goal, target=other),
        Subgoal(source=other, target=goal),
        Note(source=other, target=ada, tag="stays"),
    ):
        await bound(shell).link(edge)
    assert await bound(shell).delete_node(goal)
    assert await shell.get(Goal.by_id("1")) is None
    assert not await bound(shell).delete_node(Goal.by_id("1"))
    assert len(await shell.all(Note.of(other))) == 1
    assert await bound(shell).delete_node(ada)
    assert await shell.all(Note.of(other)) == []
    with pytest.raises(InvalidRequest, match="a node or its key"):
        await bound(shell).delete_node(Note.between(other, ada))
    await shell.create(goal)


@pytest.mark.parametrize("point", SOME_STEPS)
def test_a_delete_that_was_killed_is_finished_by_the_next(lasting: Database, engine_url: str, point: str) -> None:
    doomed_graph(lasting, 250)
    assert run_child(processes.delete, engine_url, dies_at=point) == KILLED
    assert told(lasting) == ["node.deleting"]
    assert_hidden(lasting)
    assert run_child(processes.delete, engine_url) == 0
    assert_gone(lasting, 50)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_a_delete_survives_a_kill_at_every_step(lasting: Database, engine_url: str, when: str) -> None:
    """Until a run is through before its turn to die comes."""
    for step in count(1):
        doomed_graph(lasting, 250)
        code = run_child(processes.delete, engine_url, dies_at=f"{when}:{step}")
        assert code in (0, KILLED)
        assert set(told(lasting)) <= {"node.deleting"}
        Graph(lasting).delete_node(DOOMED)
        assert_gone(lasting, 50)
        if code == 0:
            break
        lasting.delete_table(records)
        lasting.create_table(records)
    assert step > 15


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_delete_of_5000_edges_survives_random_kills(lasting: Database, engine_url: str) -> None:
    chance = random.Random(7)
    doomed_graph(lasting, 5000)
    for _ in range(20):
        point = f"{chance.choice([BEFORE, AFTER])}:{chance.randint(3, 9)}"
        assert run_child(processes.delete, engine_url, dies_at=point) == KILLED
        assert_hidden(lasting)
        assert told(lasting) == ["node.deleting"]
    assert run_child(processes.delete, engine_url) == 0
    assert_gone(lasting, 1000)


def test_a_deletion_that_was_overtaken_leaves_the_next_node_alone(lasting: Database) -> None:
    """One call stops before its end; another finishes, and the node is made anew with edges of its own."""
    doomed_graph(lasting, 10)
    flow = flows.delete_node(_Pausing(lasting.port, at=4), DOOMED)
    flow.send(None)
    assert Graph(lasting).delete_node(DOOMED)
    lasting.create(DOOMED)
    Graph(lasting).link(Note(source=DOOMED, target=User.by_id("u0"), tag="new"))
    Graph(lasting).link(Subgoal(source=Goal.by_id("g0"), target=DOOMED, n=1))
    with pytest.raises(StopIteration):
        flow.send(None)
    assert len(lasting.all(Note.of(DOOMED))) == len(lasting.all(Subgoal.by_n(DOOMED))) == 1
    assert lasting.check(records) == []


class _Pausing:
    """A port that gives its caller the turn once, before the request of a number."""

    def __init__(self, port: Any, at: int) -> None:
        self._port, self._left = port, at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def send(self, operation: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            await _Turn()
        return await self._port.send(operation)


class _Turn:
    def __await__(self) -> Generator[None, None, None]:
        yield None


# --- nodes that were broken by hand -----------------------------------------------------------------------------------
async def broken(shell: Shell, **attributes: Any) -> None:
    """An account that holds its address, with attributes that no program wrote."""
    await shell.create(Account(id="a", email="ada@example.com"))
    item = await stored(shell.port, Account.by_id("a"))
    assert item is not None
    await put_raw(shell.port, Account, {**item, **attributes})


async def test_a_node_whose_unique_value_is_read_goes_whatever_else_is_broken(shell: Shell) -> None:
    await broken(shell, name={"BOOL": True})
    with pytest.raises(Corrupt):
        await shell.get(Account.by_id("a"))
    assert await bound(shell).delete_node(Account.by_id("a"))
    await shell.create(Account(id="b", email="ada@example.com"))


async def test_a_node_whose_unique_value_is_broken_goes_and_its_guard_stays(
    shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    await broken(shell, email={"N": "1"})
    assert {finding.code for finding in await shell.check(records)} == {"item.unreadable", "guard.orphan"}
    assert await bound(shell).delete_node(Account.by_id("a"))
    assert await shell.get(Account.by_id("a")) is None
    (told,) = [record.getMessage() for record in caplog.records if record.name == "singletable.graph"]
    assert told.startswith(
        "records: a node of Account is deleted whose email can't be read: the guard of its value stays"
    )
    (finding,) = await shell.check(records)
    assert finding.code == "guard.orphan"
    with pytest.raises(NotUnique):
        await shell.create(Account(id="b", email="ada@example.com"))
    key = {name: {"S": text} for name, text in zip(records.definition.key, finding.key, strict=True)}
    await shell.port.send(DeleteItem(records.name, key, RawCondition(), RAW))
    await shell.create(Account(id="b", email="ada@example.com"))


async def test_a_node_of_a_newer_program_is_left_to_that(shell: Shell) -> None:
    await broken(shell, _v={"N": "2"})
    with pytest.raises(Corrupt, match="schema version 2"):
        await bound(shell).delete_node(Account.by_id("a"))
    item = await stored(shell.port, Account.by_id("a"))
    assert item is not None
    await put_raw(shell.port, Account, {**item, "_v": {"N": "1"}})
    assert await bound(shell).delete_node(Account.by_id("a"))
