"""The flows of the graph by their verbs: what the two shells run."""

from singletable.graph.bulk_load import load
from singletable.graph.check import check_graph
from singletable.graph.deletion import delete_node
from singletable.graph.link import link, relink, unlink
from singletable.graph.read import count_edges, including, page_of_nodes, walk
from singletable.graph.sweep import sweep_graph

__all__ = [
    "check_graph",
    "count_edges",
    "delete_node",
    "including",
    "link",
    "load",
    "page_of_nodes",
    "relink",
    "sweep_graph",
    "unlink",
    "walk",
]
