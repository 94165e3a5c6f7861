"""Two writers do everything to one graph, answers get lost, and what is there is what a model says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from singletable import AlreadyExists, Database, NotFound, TransactionCancelled, attr, connect
from singletable.graph import EdgeMoved, Graph, Unlink, link, members_of
from singletable.graph.check import check_graph
from singletable.graph.edge_writes import listing_of
from singletable.wire import RetryPolicy
from tests.faults.actions import ApplyThen500, ApplyThenCut, DropBefore, TruncateBody
from tests.faults.clock import Clock
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.graph.lagging import LaggingCarrier, behind
from tests.graph.models import A_DAY, Goal, GoalMembership, Role, Subgoal, User, records
from tests.support.sampling import fewer_elsewhere
from tests.support.traits import LOCAL

GOALS = tuple(Goal.by_id(id) for id in ("a", "b", "c"))
USERS = tuple(User.by_id(id) for id in ("x", "y-LEAD"))
NODES = (*GOALS, *USERS)
WRITERS = st.integers(0, 1)
ROLES = st.sampled_from(Role)
DAYS = st.sampled_from([A_DAY, date(2027, 2, 2)])
_LOSSES = (ApplyThenCut(), ApplyThen500(), DropBefore(), TruncateBody())


class GraphMachine(RuleBasedStateMachine):
    """The model: which nodes there are, and each edge's data."""

    url = ""
    buried: frozenset[Any] = frozenset()
    """Nodes whose deletion has not ended: edges to them may be there still."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.faults = Faults(seed=1)
        self.proxy = self.stack.enter_context(FaultProxy(self.url, self.faults))
        self.writers = [self._writer() for _ in range(2)]
        self.reader = self._connected(self.url)
        self.nodes: set[Any] = set()
        self.members: dict[tuple[Any, Any], tuple[Role, date]] = {}
        self.subgoals: set[tuple[Any, Any]] = set()
        self.read: dict[tuple[Any, Any], Any] = {}

    def _writer(self) -> Database:
        return self._connected(self.proxy.url)

    def _connected(self, url: str) -> Database:
        db = self.stack.enter_context(connect(url, environ={}, retry=RetryPolicy(base_seconds=0.001)))
        db.port.traits = LOCAL
        return db

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        if self.reader.describe_table(records) is not None:
            self.reader.delete_table(records)
        self.reader.create_table(records)
        for writer in self.writers:
            writer.port.ready.add(records.name)
        self.faults = self._seeded(seed)

    def _seeded(self, seed: int) -> Faults:
        self.faults._chance.seed(seed)
        self.faults.add(*(Rule(Match("TransactWriteItems", probability=0.08), loss) for loss in _LOSSES))
        return self.faults

    def teardown(self) -> None:
        try:
            self.faults.clear()
            assert self.reader.check(records) == []
            for key in self.nodes:
                assert Graph(self.reader).delete_node(key)
            assert self.reader.check(records) == []
        finally:
            self.stack.close()

    # --- what the writers do ------------------------------------------------------------------------------------------
    @rule(w=WRITERS, key=st.sampled_from(NODES))
    def create(self, w: int, key: Any) -> None:
        node = key.kinds[0](id=key.partition.partition("-")[2])
        with expected(AlreadyExists, key in self.nodes or key in self.buried):
            self.writers[w].create(node)
        self.nodes |= {key} - self.buried

    @rule(w=WRITERS, goal=st.sampled_from(GOALS), user=st.sampled_from(USERS), role=ROLES, day=DAYS)
    def link(self, w: int, goal: Any, user: Any, role: Role, day: date) -> None:
        missing = not {goal, user} <= self.nodes
        refused = AlreadyExists if (goal, user) in self.members else NotFound
        with expected(refused, missing or (goal, user) in self.members):
            Graph(self.writers[w]).link(GoalMembership(source=goal, target=user, role=role, since=day))
        if not missing:
            self.members.setdefault((goal, user), (role, day))

    @rule(w=WRITERS, one=st.sampled_from(GOALS), other=st.sampled_from(GOALS))
    def nest(self, w: int, one: Any, other: Any) -> None:
        missing = not {one, other} <= self.nodes
        refused = AlreadyExists if (one, other) in self.subgoals else NotFound
        with expected(refused, missing or (one, other) in self.subgoals):
            Graph(self.writers[w]).link(Subgoal(source=one, target=other))
        if not missing:
            self.subgoals.add((one, other))

    @precondition(lambda self: self.members)
    @rule(w=WRITERS, data=st.data(), role=ROLES)
    def relink(self, w: int, data: Any, role: Role) -> None:
        place = data.draw(st.sampled_from(sorted(self.members, key=str_of)))
        edge: Any = GoalMembership.between(*place)
        found = Graph(self.writers[w]).relink(edge, attr(GoalMembership.role).set(role))
        assert (found.role, found.since) == (role, self.members[place][1])
        self.members[place] = (role, found.since)

    @precondition(lambda self: self.members)
    @rule(w=WRITERS, data=st.data(), user=st.sampled_from(USERS))
    def retarget(self, w: int, data: Any, user: Any) -> None:
        goal, before = place = data.draw(st.sampled_from(sorted(self.members, key=str_of)))
        taken = user != before and (goal, user) in self.members
        missing = user not in self.nodes
        edge: Any = GoalMembership.between(*place)
        with expected(AlreadyExists if taken else NotFound, taken or missing):
            Graph(self.writers[w]).relink(edge, target=user)
        if not taken and not missing:
            self.members[goal, user] = self.members.pop(place)

    @precondition(lambda self: self.members)
    @rule(data=st.data())
    def look(self, data: Any) -> None:
        """Keep an edge as it is now, to use it when it may be another."""
        place = data.draw(st.sampled_from(sorted(self.members, key=str_of)))
        self.read[place] = self.reader.get(GoalMembership.between(*place).consistent())

    @precondition(lambda self: self.read)
    @rule(w=WRITERS, data=st.data(), day=DAYS)
    def relink_stale(self, w: int, data: Any, day: date) -> None:
        place = data.draw(st.sampled_from(sorted(self.read, key=str_of)))
        edge = self.read[place]
        try:
            Graph(self.writers[w]).relink(edge, attr(GoalMembership.since).set(day))
        except (EdgeMoved, NotFound):
            now = self.reader.get(GoalMembership.between(*place).consistent())
            assert now is None or listing_of(now).revision != listing_of(edge).revision
            return
        if place[1] not in self.buried:
            assert self.members[place] == (edge.role, edge.since)
            self.members[place] = (edge.role, day)

    @rule(w=WRITERS, goal=st.sampled_from(GOALS), user=st.sampled_from(USERS))
    def unlink(self, w: int, goal: Any, user: Any) -> None:
        was = self.members.pop((goal, user), None)
        done = Graph(self.writers[w]).unlink(GoalMembership.between(goal, user))
        assert done == (was is not None) or (done and user in self.buried)

    @rule(w=WRITERS, key=st.sampled_from(NODES))
    def delete(self, w: int, key: Any) -> None:
        assert Graph(self.writers[w]).delete_node(key) == (key in self.nodes)
        self.nodes.discard(key)
        self.members = {place: data for place, data in self.members.items() if key not in place}
        self.subgoals = {place for place in self.subgoals if key not in place}

    @precondition(lambda self: self.members and self.nodes.issuperset(NODES))
    @rule(w=WRITERS, data=st.data(), role=ROLES)
    def together(self, w: int, data: Any, role: Role) -> None:
        """One membership goes, and others come, in one transaction."""
        place = data.draw(st.sampled_from(sorted(self.members, key=str_of)))
        edge = self.reader.get(GoalMembership.between(*place).consistent())
        assert edge is not None
        new = [(goal, user) for goal in GOALS for user in USERS if (goal, user) not in self.members]
        try:
            with self.writers[w].transaction() as tx:
                tx.add(Unlink(edge))
                for goal, user in new:
                    tx.add(link(GoalMembership(source=goal, target=user, role=role)))
        except TransactionCancelled:
            raise AssertionError("nothing stood in its way") from None
        del self.members[place]
        self.members |= dict.fromkeys(new, (role, A_DAY))

    # --- what has to hold ---------------------------------------------------------------------------------------------
    @invariant()
    def sets_equal_edges_equal_the_model(self) -> None:
        if not self.reader.port.ready:
            return
        found: dict[Any, Any] = {}
        nested: set[Any] = set()
        for goal in GOALS:
            node = self.reader.get(goal.consistent())
            assert (node is not None) == (goal in self.nodes)
            edges = self.reader.all(GoalMembership.of(goal).consistent())
            found |= {(goal, e.target): (e.role, e.since) for e in edges if e.target not in self.buried}
            if node is not None:
                assert {(m.target, m.values["role"]) for m in members_of(node, [GoalMembership])} == {
                    (e.target, e.role) for e in edges
                }
                nested |= {(goal, m.target) for m in members_of(node, [Subgoal]) if m.target not in self.buried}
        assert (found, nested) == (self.members, self.subgoals)
        told = self.reader.run(check_graph(self.reader.port, records))
        assert sorted(finding.key[0] for finding in told) == sorted(key.partition for key in self.buried)
        assert {finding.code for finding in told} <= {"node.deleting"}


class LaggingGraph(GraphMachine):
    """The same behind indexes whose rows follow when they are told, or never: a name is taken until the sweep."""

    def __init__(self) -> None:
        self.carrier: LaggingCarrier | None = None
        super().__init__()

    def _writer(self) -> Database:
        return self.stack.enter_context(behind(self.proxy.url, Clock(), RetryPolicy(base_seconds=0.001)))

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.proxy.carrier = self.carrier = LaggingCarrier(self.faults, self.reader)

    def teardown(self) -> None:
        self.writers[0].sweep_table(records)
        super().teardown()

    @rule(w=WRITERS, key=st.sampled_from(NODES))
    def delete(self, w: int, key: Any) -> None:
        was = key in self.nodes
        super().delete(w, key)
        self.buried |= {key} if was else set()

    @rule(chance=st.randoms(use_true_random=False), share=st.sampled_from([0.2, 0.5, 1.0]))
    def catch_up(self, chance: Any, share: float) -> None:
        assert self.carrier is not None
        self.carrier.catch_up(lambda: chance.random() < share)

    @rule(w=WRITERS)
    def sweep(self, w: int) -> None:
        assert self.writers[w].sweep_table(records) == len(self.buried)
        self.buried = frozenset()


def str_of(place: tuple[Any, Any]) -> tuple[str, str]:
    return place[0].partition, place[1].partition


@contextmanager
def expected(error: type[Exception], is_expected: bool) -> Iterator[None]:
    """The error comes, or it does not: both are told."""
    if not is_expected:
        yield
        return
    with pytest.raises(error):
        yield


def _run(
    engine_url: str, examples: int, steps: int, *, is_fresh: bool = False, machine: type[GraphMachine] = GraphMachine
) -> None:
    GraphMachine.url = engine_url
    default = settings.get_profile("default")
    more = settings(default, max_examples=examples, stateful_step_count=steps, derandomize=not is_fresh)
    run_state_machine_as_test(machine, settings=more)


def test_two_writers(engine_url: str) -> None:
    _run(engine_url, fewer_elsewhere(8), 40)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_writers_for_long(engine_url: str) -> None:
    _run(engine_url, int(os.environ.get("GRAPH_EXAMPLES", "100")), 80, is_fresh=True)


def test_two_writers_behind_indexes_that_lag(engine_url: str) -> None:
    _run(engine_url, fewer_elsewhere(6), 40, machine=LaggingGraph)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_writers_behind_indexes_that_lag_for_long(engine_url: str) -> None:
    _run(engine_url, int(os.environ.get("GRAPH_EXAMPLES", "100")), 80, is_fresh=True, machine=LaggingGraph)
