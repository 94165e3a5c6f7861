"""The end of a deletion where an index is behind its table for any time: no orphan, whatever the index shows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import pytest

from singletable import AlreadyExists, Database, NotFound, NotUnique, connect
from singletable.graph import Graph, flows, members_of
from singletable.graph.nodes import TOMBSTONE
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from tests.documents.stepping import Stepped, SteppingPort
from tests.faults.actions import NotThereYet
from tests.faults.clock import Clock
from tests.faults.failpoints import AFTER, BEFORE
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.graph import processes
from tests.graph.lagging import BEHIND, LaggingCarrier, behind, lagging
from tests.graph.models import (
    A_DAY,
    Account,
    Goal,
    GoalMembership,
    Imported,
    Importer,
    Note,
    Role,
    Sponsor,
    Subgoal,
    Subscriber,
    User,
    records,
)
from tests.graph.processes import DOOMED
from tests.support.children import KILLED, run_child
from tests.support.raw import all_items, put_raw, stored
from tests.support.traits import LOCAL

LAG = "0.001"
"""What a child takes the lag for: it waits in earnest."""
KEY = Goal.by_id(DOOMED.id)


class World:
    """An engine, the same engine behind indexes that stand still, and the clock of who waits for them."""

    def __init__(self, engine: Database, url: str, stack: ExitStack, faults: Faults) -> None:
        self.engine, self.clock = engine, Clock()
        proxy, carrier = stack.enter_context(lagging(engine, url, faults))
        self.proxy: FaultProxy = proxy
        self.carrier: LaggingCarrier = carrier
        self.db = stack.enter_context(behind(proxy.url, self.clock))

    def told(self) -> list[str]:
        """What the check says of the table itself and of indexes that have caught up."""
        return [finding.code for finding in self.engine.check(records)]

    def dooms(self, edges: int) -> None:
        """A node with so many edges in each direction, of two types each, none of which an index shows."""
        people = [User(id=f"u{i}") for i in range(edges)]
        goals = [Goal(id=f"g{i}") for i in range(edges)]
        found: list[Any] = [Note(source=DOOMED, target=g, tag="out") for g in goals]
        found += [Subscriber(source=DOOMED, target=u) for u in people]
        found += [Note(source=g, target=DOOMED, tag="in") for g in goals]
        found += [Subgoal(source=g, target=DOOMED, n=1) for g in goals]
        found += [GoalMembership(source=g, target=u, role=Role.TEAM) for g, u in zip(goals, people, strict=True)]
        Graph(self.engine).load([DOOMED, *people, *goals], found)

    def begin_anew(self) -> None:
        self.engine.delete_table(records)
        self.engine.create_table(records)
        self.carrier.catch_up()

    def assert_gone(self, edges: int) -> None:
        """No edge from or to the node, nor for the one that is made anew under its name."""
        self.carrier.catch_up()
        assert self.told() == []
        goals = [Goal.by_id(f"g{i}") for i in range(edges)]
        for goal in self.engine.get_many(goals, consistent=True):
            assert [m.target for m in members_of(goal, [Note, Subgoal])] == []
            assert Graph(self.engine).count_edges(goal, GoalMembership) == 1
        self.db.create(DOOMED)
        for query in (Note.of(KEY), Subscriber.of(KEY), Note.by_tag(KEY), Subgoal.by_n(KEY)):
            assert self.engine.all(query) == []
        assert Graph(self.db).delete_node(KEY)
        assert self.db.sweep_table(records) == 1


@pytest.fixture
def world(engine_url: str, faults: Faults) -> Iterator[World]:
    with ExitStack() as stack:
        engine = stack.enter_context(connect(engine_url, environ={}))
        engine.port.traits = LOCAL
        engine.create_table(records)
        yield World(engine, engine_url, stack, faults)


def test_an_edge_that_no_index_ever_shows_is_no_orphan(world: World) -> None:
    world.dooms(3)
    assert world.db.all(Note.by_tag(KEY)) == []
    assert Graph(world.db).delete_node(KEY)
    assert world.clock.slept == [BEHIND.index_lag_seconds]
    assert world.engine.get(KEY) is None
    assert world.told() == ["node.deleting"]
    assert list(Graph(world.engine).page(Note.by_tag(KEY).sources())) != [], (
        "its sources are there, and show it as a hole"
    )
    goal = world.engine.get(Goal.by_id("g0"))
    assert goal is not None
    assert Graph(world.engine).including([goal], Note.to(Goal))[0].linked(Goal) == []
    assert world.db.sweep_table(records) == 1
    world.assert_gone(3)


def test_the_name_is_taken_until_the_sweep(world: World) -> None:
    world.dooms(1)
    Graph(world.db).delete_node(KEY)
    with pytest.raises(AlreadyExists, match=r"is being deleted.*sweep_table"):
        world.db.create(DOOMED)
    with pytest.raises(AlreadyExists, match=r"is being deleted.*sweep_table"):
        world.db.upsert(DOOMED)
    with pytest.raises(AlreadyExists, match="sweep_table"):
        Graph(world.db).load([DOOMED])
    with pytest.raises(NotFound, match="is being deleted"):
        Graph(world.db).link(Subgoal(source=Goal.by_id("g0"), target=Goal.by_id(DOOMED.id)))
    assert not Graph(world.db).delete_node(KEY), "it was deleted before"
    world.db.sweep_table(records)
    world.db.create(DOOMED)
    Graph(world.db).link(Subgoal(source=Goal.by_id("g0"), target=KEY))
    assert len(world.engine.all(Subgoal.by_n(KEY))) == 1


def test_data_and_unique_values_go_before_the_sweep(world: World) -> None:
    account = Account(id="a", email="ada@example.com")
    world.db.create(account)
    world.db.create(Goal(id="g0"))
    Graph(world.db).link(Sponsor(source=Goal.by_id("g0"), target=account))
    assert Graph(world.db).delete_node(account)
    left = world.engine.run(stored(world.engine.port, Account.by_id("a")))
    assert left is not None
    assert set(left) == {"source", "target", "_type", "_v", TOMBSTONE, "buried"}
    world.db.create(Account(id="b", email="ada@example.com"))
    assert world.told() == ["node.deleting"]
    assert world.db.sweep_table(records) == 1
    assert world.told() == []
    with pytest.raises(NotUnique):
        world.db.create(Account(id="c", email="ada@example.com"))


def test_a_class_that_no_edge_comes_to_goes_at_once(world: World) -> None:
    """No index is asked, so none can be behind."""
    world.db.create(Importer(id="i"))
    world.db.create(Goal(id="g"))
    Graph(world.db).link(Imported(source=Importer.by_id("i"), target=Goal.by_id("g")))
    assert Graph(world.db).delete_node(Importer.by_id("i"))
    assert world.clock.slept == []
    world.carrier.catch_up()
    assert world.told() == []
    world.db.create(Importer(id="i"))


def test_called_again_later_it_takes_away_what_the_index_shows_by_then(world: World) -> None:
    world.dooms(2)
    Graph(world.db).delete_node(KEY)
    assert len(world.engine.all(Note.by_tag(KEY))) == 2
    world.carrier.catch_up()
    assert not Graph(world.db).delete_node(KEY)
    assert world.engine.all(Note.by_tag(KEY)) == []
    assert world.told() == ["node.deleting"]


def test_an_index_that_shows_what_is_gone_ends_no_deletion_late(world: World) -> None:
    """Rows of edges that are gone are no reason to go on."""
    world.dooms(2)
    world.carrier.catch_up()
    assert Graph(world.db).delete_node(KEY)
    assert world.clock.slept == [BEHIND.index_lag_seconds]
    assert len(world.db.all(Note.by_tag(KEY))) == 2, "the index shows them still"
    assert world.db.sweep_table(records) == 1
    world.assert_gone(2)


def test_what_this_program_does_not_know_keeps_the_tombstone(world: World) -> None:
    """Two versions of a program: an edge type of the newer one, to and from the node."""
    world.dooms(1)
    newer = {"_type": {"S": "NEWEDGE"}, "_v": {"N": "1"}, "revision": {"N": "2"}}
    there = {"source": {"S": "GOAL-g0"}, "target": {"S": f"NEWEDGE-{KEY.partition}"}}
    back = {"source": {"S": KEY.partition}, "target": {"S": "NEWEDGE-GOAL-g0"}}
    Graph(world.db).delete_node(KEY)
    for ends in (there, back):
        world.engine.run(put_raw(world.engine.port, Goal, {**newer, **ends}))
        assert world.db.sweep_table(records) == 0
        assert sorted(world.told()) == ["node.deleting", "type.unknown"]
        world.engine.run(world.engine.port.send(DeleteItem("records", ends, RawCondition(), RAW)))
    assert world.db.sweep_table(records) == 1
    world.assert_gone(1)


def test_a_deletion_leaves_the_tombstone_beside_an_edge_that_it_does_not_know(world: World) -> None:
    """Where the index is never behind, too: the older program can't take the newer one's edge away."""
    world.dooms(1)
    unknown = {"source": {"S": KEY.partition}, "target": {"S": "NEWEDGE-GOAL-g0"}, "_type": {"S": "NEWEDGE"}}
    world.engine.run(put_raw(world.engine.port, Goal, unknown))
    assert Graph(world.engine).delete_node(KEY)
    assert not Graph(world.engine).delete_node(KEY)
    assert sorted(world.told()) == ["node.deleting", "type.unknown"]


def test_a_sweep_costs_two_scans_and_a_transaction_for_48_edges_and_for_each_node(world: World) -> None:
    world.dooms(60)
    with world.db.meter() as meter:
        Graph(world.db).delete_node(KEY)
    # The tombstone; two passes, each a query of the partition and of the index for three types; 120 edges; the burial.
    assert meter.requests == 1 + 2 * (1 + 3) + 3 + 1
    items = world.engine.run(all_items(world.engine.port, records.name))
    with world.engine.meter() as scanned:
        world.engine.run(all_items(world.engine.port, records.name))
    with world.db.meter() as meter:
        assert world.db.sweep_table(records) == 1
    assert len(items) < 500
    assert meter.requests == 2 + 3 + 1
    assert meter.read_units == 2 * scanned.read_units
    with world.db.meter() as meter:
        assert world.db.sweep_table(records) == 0
    assert meter.requests == 1
    world.assert_gone(60)


def test_a_sweep_leaves_a_node_that_was_made_anew_alone(world: World) -> None:
    """It is held up between its scans and its end. Another sweep ends the deletion, the name is taken again, linked to,
    and deleted again."""
    world.dooms(2)
    Graph(world.db).delete_node(KEY)
    sweep = records.sweep_layer(_Pausing(world.db.port, "TransactWriteItems"), orphans=False)
    sweep.send(None)
    assert world.db.sweep_table(records) == 1
    world.db.create(DOOMED)
    Graph(world.db).link(Subgoal(source=Goal.by_id("g0"), target=KEY))
    Graph(world.db).delete_node(KEY)
    with pytest.raises(StopIteration) as ended:
        sweep.send(None)
    assert ended.value.value == 0
    assert world.told() == ["node.deleting"]
    assert world.db.sweep_table(records) == 1
    world.assert_gone(2)


class _Pausing:
    """A port that gives its caller the turn once, before the first request of a kind."""

    def __init__(self, port: Any, operation: str) -> None:
        self._port, self._operation = port, operation

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def send(self, operation: Any) -> Any:
        if type(operation).__name__ == self._operation:
            self._operation = ""
            await _Turn()
        return await self._port.send(operation)


class _Turn:
    def __await__(self) -> Any:
        yield None


# --- kills ------------------------------------------------------------------------------------------------------------
def _survives(world: World, when: str, step: int) -> bool:
    """A deletion and a sweep that die at a step, while the index stands still; False where neither came so far."""
    world.dooms(30)
    codes = [
        run_child(what, world.proxy.url, LAG, dies_at=f"{when}:{step}") for what in (processes.delete, processes.sweep)
    ]
    assert set(codes) <= {0, KILLED}
    assert set(world.told()) <= {"node.deleting"}
    Graph(world.db).delete_node(KEY)
    world.db.sweep_table(records)
    world.assert_gone(30)
    return KILLED in codes


@pytest.mark.parametrize("point", [f"{AFTER}:1", f"{BEFORE}:2", f"{AFTER}:3", f"{BEFORE}:5", f"{BEFORE}:12"])
def test_a_deletion_and_a_sweep_survive_a_kill(world: World, point: str) -> None:
    when, _, step = point.partition(":")
    assert _survives(world, when, int(step))


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_a_deletion_and_a_sweep_survive_a_kill_at_every_step(world: World, when: str) -> None:
    """Until both are through before their turn to die comes."""
    for step in count(1):
        survived = _survives(world, when, step)
        world.begin_anew()
        if not survived:
            break
    assert step > 12


# --- orphans ----------------------------------------------------------------------------------------------------------
def test_orphans_are_reported_and_repaired(world: World) -> None:
    """What target="unchecked" and a load that was broken off leave: edges without their target, or their source."""
    for node in (Goal(id="g0"), User(id="u0")):
        world.db.create(node)
    Graph(world.db).link(GoalMembership(source=Goal.by_id("g0"), target=User.by_id("gone")), target="unchecked")
    for n in range(2):
        edge = GoalMembership(source=Goal.by_id(f"gone{n}"), target=User.by_id("u0"), since=A_DAY)
        item = {**records.model_of_type("GOALMEMBERSHIP").item(edge), "revision": {"N": "2"}}  # type: ignore[union-attr]
        world.engine.run(put_raw(world.engine.port, Goal, item))
    assert world.told() == ["edge.orphan"] * 3
    assert world.db.sweep_table(records) == 0
    assert Graph(world.db).unlink(GoalMembership.between(Goal.by_id("gone1"), User.by_id("u0")))
    assert world.told() == ["edge.orphan"] * 2
    assert world.db.sweep_table(records, orphans=True) == 2
    assert world.told() == []
    goal = world.engine.get(Goal.by_id("g0").consistent())
    assert goal is not None
    assert list(members_of(goal, [GoalMembership])) == []


@pytest.mark.parametrize("what", ["its node comes", "its edge moves"])
def test_a_look_for_orphans_beside_a_writer_takes_nothing_that_is_whole(
    world: World, faults: Faults, what: str
) -> None:
    """At each of its requests an orphan becomes whole. What is not read consistently is not there."""
    port: Any = SteppingPort(world.db.port)
    goal, orphan = Goal.by_id("g"), GoalMembership.between(Goal.by_id("g"), User.by_id("ben"))
    for step in count(1):
        world.begin_anew()
        Graph(world.engine).load([Goal(id="g"), User(id="ada")])
        Graph(world.engine).link(GoalMembership(source=goal, target=User.by_id("ben")), target="unchecked")
        faults.add(Rule(Match(), NotThereYet()))
        look = Stepped(records.sweep_layer(port, orphans=True))
        look.advance(step)
        came_too_late = look.is_done
        if what == "its node comes":
            world.engine.create(User(id="ben"))
        elif not came_too_late:
            Graph(world.engine).relink(orphan, target=User.by_id("ada"))
        assert look.finish() == came_too_late
        faults.clear()
        assert len(world.engine.all(GoalMembership.of(goal))) == (not came_too_late)
        world.carrier.catch_up()
        assert world.told() == []
        if came_too_late:
            break
    assert step > 3


def test_a_load_beside_a_deletion_leaves_no_edge_to_what_is_gone(world: World) -> None:
    """The target is deleted and swept after the load has looked for it, and before the edges are written."""
    world.db.create(User(id="u"))
    world.db.create(User(id="stays"))
    edges = [
        GoalMembership(source=Goal.by_id("new"), target=User.by_id("u"), role=Role.LEAD),
        GoalMembership(source=Goal.by_id("new"), target=User.by_id("stays"), role=Role.LEAD),
    ]
    load = flows.load(_PausingAll(world.db.port, "BatchWriteItem"), [Goal(id="new")], edges)
    load.send(None)
    Graph(world.db).delete_node(User.by_id("u"))
    assert world.db.sweep_table(records) == 1
    with pytest.raises(NotFound, match="1 nodes that edges go to were deleted"):
        load.send(None)
    goal = world.engine.get(Goal.by_id("new").consistent())
    assert goal is not None
    assert [member.target for member in members_of(goal, [GoalMembership])] == [User.by_id("stays")]
    assert world.told() == []


class _PausingAll(_Pausing):
    async def send_all(self, operations: Any) -> Any:
        if type(operations[0]).__name__ == self._operation:
            self._operation = ""
            await _Turn()
        return await self._port.send_all(operations)


# --- long -------------------------------------------------------------------------------------------------------------
@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_random_deletions_kills_and_sweeps_under_a_random_lag(world: World, faults: Faults) -> None:
    """Rounds of a deletion and sweeps that die anywhere, with rows of the index that catch up or never do."""
    chance = random.Random(faults.seed)
    for _ in range(60):
        world.dooms(chance.choice([1, 20, 100]))
        edges = len(world.engine.all(Subgoal.by_n(KEY)))
        for what in chance.choices([processes.delete, processes.sweep], k=4):
            world.carrier.catch_up(lambda: chance.random() < 0.3)
            point = f"{chance.choice([BEFORE, AFTER])}:{chance.randint(1, 14)}"
            assert run_child(what, world.proxy.url, LAG, dies_at=point) in (0, KILLED)
            assert set(world.told()) <= {"node.deleting"}
        Graph(world.db).delete_node(KEY)
        world.db.sweep_table(records)
        world.assert_gone(edges)
        world.begin_anew()
