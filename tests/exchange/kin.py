"""A graph whose nodes and edges are personal, down to the index key and the mirrored attribute."""

from __future__ import annotations

from singletable import ANY, field
from singletable.graph import Edge, GraphTable, Node

kin = GraphTable("kin", indexes=["gsi0"])


class Relative(Node, table=kin, type="RELATIVE"):
    id: str = field(personal=True)


class Knows(Edge[Relative, Relative], table=kin, type="KNOWS", mirrors=("since",)):
    since: str = field(default="", personal=True)

    @kin.index("gsi0")
    @staticmethod
    def by_since(since: str = ANY) -> str:
        """By date."""
        return f"AT-{since}"
