"""A backup that holds a part of a transaction: the check tells of every such part."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from singletable import Database, attr
from singletable.graph import Graph, link
from tests.graph.models import Account, Goal, GoalMembership, Note, Role, Sponsor, Subgoal, User, records
from tests.support.restoring import unnoticed

GOAL, OTHER, ADA, BEN = Goal(id="g"), Goal(id="h"), User(id="ada"), User(id="ben")
EDGE = GoalMembership.between(GOAL, ADA)
ACTS: dict[str, Callable[[Database], object]] = {
    "link": lambda db: Graph(db).link(GoalMembership(source=GOAL, target=BEN)),
    "relink": lambda db: Graph(db).relink(EDGE, attr(GoalMembership.role).set(Role.TEAM)),
    "another target": lambda db: Graph(db).relink(EDGE, target=BEN),
    "unlink": lambda db: Graph(db).unlink(EDGE),
    "a node with a unique value": lambda db: db.create(Account(id="x", email="x@example.org")),
    "its value changes": lambda db: db.update(Account.by_id("a"), attr(Account.email).set("b@example.org")),
}


@pytest.mark.parametrize("name", ACTS)
def test_a_part_of_a_transaction_is_told(db: Database, name: str) -> None:
    for node in (GOAL, OTHER, ADA, BEN, Account(id="a", email="a@example.org")):
        db.create(node)
    Graph(db).link(GoalMembership(source=GOAL, target=ADA))
    Graph(db).link(Subgoal(source=GOAL, target=OTHER, n=1))
    found, missed = unnoticed(db, records, lambda: ACTS[name](db), lambda: db.check(records))
    assert (found >= 2, missed) == (True, 0)


def test_a_part_of_several_links_is_told_of_each_node(db: Database) -> None:
    """Whatever part is missing, but for one that holds whole links: those are sound by themselves."""
    for node in (GOAL, OTHER, ADA, Account(id="a", email="a@example.org")):
        db.create(node)

    def act() -> None:
        with db.transaction() as tx:
            tx.add(link(Note(source=GOAL, target=ADA, tag="t")))
            tx.add(link(Sponsor(source=OTHER, target=Account.by_id("a"))))

    assert unnoticed(db, records, act, lambda: db.check(records)) == (14, 2)
