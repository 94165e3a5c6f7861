"""Reads of a graph's declarations and items, for tools that show them.

Each function that reads is a flow over a port; its docstring says what it costs. `lists` has the classes and some
nodes, `node` a node with its edges, `edge_sets` where its edge set and its edges disagree.
"""

from singletable.graph.edges import edge_types as edge_types, inverse_of as inverse_of
from singletable.graph.inspect.ends import kind_at as kind_at, node_kinds as node_kinds
from singletable.graph.inspect.lists import (
    GraphInfo as GraphInfo,
    graphs_of as graphs_of,
    inspect_graph as inspect_graph,
)
from singletable.graph.inspect.node import NodeInfo as NodeInfo, inspect_node as inspect_node
