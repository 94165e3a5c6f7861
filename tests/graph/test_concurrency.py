"""Several writers of one graph at the same time, under conflicts and lost answers."""

from __future__ import annotations

import random
import threading  # noqa: TID251
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singletable import AlreadyExists, Database, NotFound, SingletableError, attr, connect
from singletable.graph import EdgeMoved, Graph, Link, Unlink, link, members_of
from singletable.wire import RetryPolicy
from tests.faults.actions import ApplyThen500, ApplyThenCut, Conflict, DropBefore
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.graph.models import Goal, GoalMembership, Role, Subgoal, User, records
from tests.support.traits import LOCAL

WRITERS = 4
GOAL, ADA = Goal(id="g"), User(id="ada")
PATIENT = RetryPolicy(attempts=40)


@pytest.fixture
def graph(proxy: FaultProxy, faults: Faults) -> Iterator[Database]:
    """A goal and a user behind a proxy; the graph is sound when the test ends."""
    with connect(proxy.url, environ={}, retry=PATIENT) as made:
        made.port.traits = LOCAL
        made.create_table(records)
        made.create(GOAL)
        made.create(ADA)
        faults.add(
            Rule(Match("TransactWriteItems", probability=0.05), ApplyThenCut()),
            Rule(Match("TransactWriteItems", probability=0.05), ApplyThen500()),
            Rule(Match("TransactWriteItems", probability=0.05), DropBefore()),
            Rule(Match("TransactWriteItems", probability=0.05), Conflict()),
        )
        yield made
        faults.clear()
        assert made.check(records) == []


def at_once(work: Callable[[int], None]) -> list[BaseException]:
    """Run the work in as many threads as there are writers; the errors that it ended with."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_of_several_links_of_one_edge_one_holds(graph: Database) -> None:
    errors = at_once(lambda n: Graph(graph).link(GoalMembership(source=GOAL, target=ADA, role=list(Role)[n % 3])))
    assert [type(error) for error in errors] == [AlreadyExists] * (WRITERS - 1)
    assert len(graph.all(GoalMembership.of(GOAL))) == 1


def test_links_of_one_node_by_many_are_all_there(graph: Database) -> None:
    for n in range(WRITERS * 10):
        graph.create(User(id=str(n)))

    def work(number: int) -> None:
        for n in range(10):
            Graph(graph).link(GoalMembership(source=GOAL, target=User.by_id(str(number * 10 + n))))

    assert at_once(work) == []
    node = graph.get(Goal.by_id("g").consistent())
    assert node is not None
    assert len(list(members_of(node, [GoalMembership]))) == WRITERS * 10


def test_everyone_does_everything_to_one_edge(graph: Database) -> None:
    edge: Any = GoalMembership.between(GOAL, ADA)

    def work(number: int) -> None:
        chance = random.Random(number)
        for _ in range(25):
            role = chance.choice(list(Role))
            try:
                match chance.randrange(4):
                    case 0:
                        Graph(graph).link(GoalMembership(source=GOAL, target=ADA, role=role))
                    case 1:
                        Graph(graph).unlink(edge)
                    case 2:
                        Graph(graph).relink(edge, attr(GoalMembership.role).set(role))
                    case _:
                        read = graph.get(edge)
                        if read is not None:
                            Graph(graph).relink(read, attr(GoalMembership.role).set(role))
            except (AlreadyExists, NotFound, EdgeMoved):
                continue

    assert at_once(work) == []


def test_no_link_comes_between_a_deletion_and_its_end(graph: Database) -> None:
    for n in range(WRITERS * 10):
        graph.create(Goal(id=str(n)))

    def work(number: int) -> None:
        if number == 0:
            Graph(graph).delete_node(GOAL)
            return
        for n in range(10):
            try:
                Graph(graph).link(Subgoal(source=Goal.by_id(str(number * 10 + n)), target=GOAL))
                Graph(graph).link(Subgoal(source=GOAL, target=Goal.by_id(str(number * 10 + n))))
            except NotFound:
                continue

    assert at_once(work) == []
    assert graph.get(Goal.by_id("g")) is None
    assert graph.all(Subgoal.by_n(GOAL)) == []


def _ring_survives(graph: Database, size: int, rewires: int) -> None:
    """F-E6: A -> B -> C -> D becomes A -> C -> B -> D, in one transaction, by several writers at once."""
    Graph(graph).load([Goal(id=f"r{n}") for n in range(size)])
    ring = [Goal.by_id(f"r{n}") for n in range(size)]
    for n in range(size):
        Graph(graph).link(Subgoal(source=ring[n], target=ring[(n + 1) % size]))

    def next_of(goal: Any) -> Subgoal:
        (edge,) = graph.all(Subgoal.of(goal).consistent())
        return edge

    done: list[int] = []

    def work(number: int) -> None:
        chance = random.Random(number)
        for _ in range(rewires):
            try:
                first = next_of(chance.choice(ring))
                second = next_of(first.target)
                third = next_of(second.target)
                with graph.transaction() as tx:
                    for old, new in ((first, second.target), (second, third.target), (third, second.source)):
                        for write in _moved(old, new):
                            tx.add(write)
                done.append(1)
            except SingletableError:
                continue  # another was first; nothing of this one was done

    assert at_once(work) == []
    assert len(done) > rewires
    found = Graph(graph).walk(ring[0], Subgoal.to(Goal), hops=size + 1)
    assert [hop for hop, _ in found] == list(range(size))
    last = next_of(found[-1][1])
    assert last.target == ring[0]


def _moved(old: Subgoal, target: Any) -> list[Unlink[Subgoal] | Link[Subgoal]]:
    return [Unlink(old), link(Subgoal(source=old.source, target=target))]


def test_a_ring_stays_a_ring(graph: Database) -> None:
    _ring_survives(graph, size=12, rewires=15)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_ring_stays_a_ring_for_long(graph: Database) -> None:
    _ring_survives(graph, size=40, rewires=1000)
