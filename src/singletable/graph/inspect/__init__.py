"""Reads of a graph's declarations and items, for tools that show them.

Each function that reads is a flow over a port; its docstring says what it costs. `lists` has the classes and some
nodes, `node` a node with its edges, `edge_sets` where its edge set and its edges disagree.
"""

from singletable.graph.edges import edge_types, inverse_of
from singletable.graph.inspect.ends import kind_at, node_kinds
from singletable.graph.inspect.lists import GraphSeen, graph_seen, graphs_of
from singletable.graph.inspect.node import NodeSeen, node_seen

__all__ = [
    "GraphSeen",
    "NodeSeen",
    "edge_types",
    "graph_seen",
    "graphs_of",
    "inverse_of",
    "kind_at",
    "node_kinds",
    "node_seen",
]
