"""What a link costs, in requests and units: the figures that the documentation states."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Database
from singletable.graph import CAP, Graph
from tests.graph.models import Goal, GoalMembership, Role, Subscriber, User

GOAL = Goal(id=f"{0:022}", title="t", text="x" * 800)
PEOPLE = [User(id=f"{i:022}") for i in range(CAP + 3)]


def test_a_link_on_two_indexes_costs_8_units_with_an_empty_set_and_20_at_the_cap(db: Database) -> None:
    Graph(db).load([Goal(id="small"), GOAL, *PEOPLE])
    small = GoalMembership(source=Goal.by_id("small"), target=PEOPLE[0], role=Role.LEAD)
    with db.meter() as meter:
        Graph(db).link(small)
    assert (meter.requests, meter.write_units, meter.read_units) == (1, 8, 0)
    costs: list[float] = []
    for user in PEOPLE[:CAP]:
        with db.meter() as meter:
            Graph(db).link(GoalMembership(source=GOAL, target=user, role=Role.CONTRIBUTOR))
        assert meter.requests == 1
        costs.append(meter.write_units)
    assert costs == sorted(costs)
    assert costs[-1] <= 20


def test_beyond_the_cap_a_link_costs_6_units_and_2_for_each_kilobyte_of_the_node(db: Database) -> None:
    edges = [GoalMembership(source=GOAL, target=u, role=Role.CONTRIBUTOR) for u in PEOPLE[: CAP + 1]]
    Graph(db).load([GOAL, *PEOPLE], edges)
    node: Any = db.get(Goal.by_id(GOAL.id))
    bytes_ = 900 + sum(len(member) for member in node._edges0)
    with db.meter() as meter:
        Graph(db).link(GoalMembership(source=GOAL, target=PEOPLE[-1], role=Role.CONTRIBUTOR))
    assert meter.requests == 2
    assert meter.write_units <= 6 + 2 * (bytes_ // 1024 + 1)


def test_an_edge_that_is_left_out_of_the_set_only_checks_its_nodes(db: Database) -> None:
    Graph(db).load([Goal(id="small"), PEOPLE[0]])
    with db.meter() as meter:
        Graph(db).link(Subscriber(source=Goal.by_id("small"), target=PEOPLE[0]))
    # The edge at twice its unit, its row in one index, and two checks.
    assert (meter.requests, meter.write_units) == (1, 2 + 1 + 2 + 2)
    with db.meter() as meter:
        Graph(db).link(GoalMembership(source=Goal.by_id("small"), target=PEOPLE[0]), target="unchecked")
    assert (meter.requests, meter.write_units) == (1, 6)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_node_with_20000_edges_works(db: Database) -> None:
    big = Goal(id="big", text="x" * 800)
    people = [User(id=f"u{i:05}") for i in range(20_000)]
    Graph(db).load(people)
    Graph(db).load([big], [GoalMembership(source=big, target=u, role=Role.CONTRIBUTOR) for u in people[:-1]])
    with db.meter() as meter:
        Graph(db).link(GoalMembership(source=big, target=people[-1], role=Role.LEAD))
    assert meter.write_units <= 6 + 2 * 5
    seen, after = list[str](), None
    while True:
        page = Graph(db).page(GoalMembership.of(big).targets(), limit=100, after=after)
        seen += [row.node.id for row in page]
        if (after := page.cursor) is None:
            break
    assert seen == [user.id for user in people]
    node = db.get(Goal.by_id("big"))
    assert node is not None
    assert Graph(db).including([node], GoalMembership.to(User))[0].more(GoalMembership)
