"""The flows of the graph by their verbs: what the two shells run."""

from singletable.graph.checking import check_graph
from singletable.graph.deleting import delete_node
from singletable.graph.loading import load
from singletable.graph.reading import count_edges, including, page_of_nodes, walk
from singletable.graph.sweeping import sweep_graph
from singletable.graph.writing import link, relink, unlink

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
