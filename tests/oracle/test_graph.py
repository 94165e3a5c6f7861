"""`db.check` sees each fault of a graph that is planted in an otherwise sound table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from singletable import Database
from singletable.graph import Graph
from singletable.graph.edge_writes import listing_of
from singletable.operations import Scan
from tests.graph.models import Goal, GoalMembership, User, records
from tests.oracle.planting import assert_command_finds, assert_found, delete, edit
from tests.support.engines import fresh

GOAL, USER, ALONE = Goal.by_id("g1"), User.by_id("u1"), Goal.by_id("g2")
EDGE = GoalMembership.between(GOAL, USER)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        for node in (Goal(id="g1"), Goal(id="g2"), User(id="u1")):
            made.create(node)
        Graph(made).link(GoalMembership(source=GOAL, target=USER))
        assert made.check(records) == []
        yield made


def unlisted(db: Database) -> None:
    """An edge that its source's set does not list, and a source that does not say so."""
    edit(db, EDGE, listed={"BOOL": False})
    edit(db, GOAL, edges0=None, edges1=None, n_GOALMEMBERSHIP={"N": "0"})


def in_both_halves(db: Database) -> None:
    """The member of the one half, in the other too."""
    (edge,) = db.all(GoalMembership.of(GOAL))
    text = {"SS": [listing_of(edge).member]}
    edit(db, GOAL, edges0=text, edges1=text)


def index_behind(db: Database) -> None:
    """Its indexes answer with no row, as one that has not caught up: no write can plant that."""
    port: Any = db.port
    send_all = port.send_all

    def of_index(operation: Any) -> bool:
        return isinstance(operation, Scan) and operation.selection.index == "gsi0"

    async def lagging(operations: Any) -> Any:
        answers = await send_all(operations)
        nothing = SimpleNamespace(items=[], after=None)
        return [nothing if of_index(one) else answer for one, answer in zip(operations, answers, strict=True)]

    port.__dict__["send_all"] = lagging


PLANTED: dict[str, tuple[list[str], Callable[[Database], None]]] = {
    "a member that is missing": (["edge-set.wrong"], lambda db: edit(db, GOAL, edges0=None, edges1=None)),
    "a member without an edge": (
        ["edge-set.wrong"],
        lambda db: edit(db, ALONE, edges0={"SS": ["GOALMEMBERSHIP-USER-x"]}),
    ),
    "a member in both halves": (["edge-set.twice", "edge-set.wrong"], in_both_halves),
    "a count that is too high": (["edge-set.count"], lambda db: edit(db, GOAL, n_GOALMEMBERSHIP={"N": "2"})),
    "no count": (["edge-set.count"], lambda db: edit(db, GOAL, n_GOALMEMBERSHIP=None)),
    "an edge that is not listed": (["edge-set.incomplete"], unlisted),
    "a deletion that has not ended": (["node.deleting"], lambda db: edit(db, ALONE, deleting={"N": "1.0"})),
    "an edge to nobody": (["edge.orphan"], lambda db: delete(db, USER)),
    "an index that is behind": (["edge.index"], index_behind),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(db: Database, fault: str) -> None:
    wanted, plant = PLANTED[fault]
    plant(db)
    assert_found(lambda: db.check(records), wanted)
    if plant is not index_behind:
        assert_command_finds(db, f"{__name__}:records", wanted)
