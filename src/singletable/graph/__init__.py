"""A graph in one table: nodes, typed edges between them, and edge sets that make a page three round trips.

    records = GraphTable("records", indexes=["gsi0", "gsi1"])

    class Goal(Node, table=records, type="GOAL"):
        title: str

    class GoalMembership(Edge[Goal, User | Team], table=records, type="GOALMEMBERSHIP", mirrors=("role",)):
        role: Role

        @records.index("gsi0")
        @staticmethod
        def by_rank(role: Role = ANY) -> str:
            return f"{role}"

    graph = Graph(db)
    graph.link(GoalMembership(source=goal, target=ada, role=Role.LEAD))
    leads = GoalMembership.to(User, attr(GoalMembership.role) == Role.LEAD)
    for row in graph.page(GoalMembership.by_rank(team).sources().including(leads), limit=25):
        row.node.title, row.linked(leads)

Begin with `nodes` and `edges` (declarations), then `link_writes` (what a link writes) and `read` (what a page reads).
"""

from singletable.graph import flows as flows
from singletable.graph.edge_set_writes import CAP as CAP
from singletable.graph.edge_writes import EdgeMoved as EdgeMoved
from singletable.graph.edges import Edge as Edge
from singletable.graph.graph import Graph as Graph
from singletable.graph.graph_async import AsyncGraph as AsyncGraph
from singletable.graph.link_writes import Link as Link, Unlink as Unlink, link as link
from singletable.graph.members import Member as Member, members_of as members_of
from singletable.graph.nodes import Node as Node, node_key as node_key
from singletable.graph.queries import EdgeQuery as EdgeQuery, Linked as Linked, NodeQuery as NodeQuery
from singletable.graph.read import neighbours_of as neighbours_of
from singletable.graph.rows import NodePage as NodePage, Row as Row
from singletable.graph.table import GraphTable as GraphTable
