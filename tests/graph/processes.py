"""What child processes do to a graph: they delete a node, or sweep the table, and may die at any of their requests."""

from __future__ import annotations

from singletable.graph import Graph
from tests.graph.models import Goal, records
from tests.support.children import mortal

DOOMED = Goal(id="doomed")


def delete(url: str, lag: str = "0") -> None:
    with mortal(url, records, index_lag_seconds=float(lag)) as db:
        Graph(db).delete_node(DOOMED)


def sweep(url: str, lag: str) -> None:
    with mortal(url, records, index_lag_seconds=float(lag)) as db:
        db.sweep_table(records)
