"""The flows of the graph by their verbs: what the two shells run."""

from singletable.graph.bulk_load import load
from singletable.graph.deletion import delete_node
from singletable.graph.link import link, relink, unlink
from singletable.graph.read import count_edges, including, page_of_nodes, walk

__all__ = [
    "count_edges",
    "delete_node",
    "including",
    "link",
    "load",
    "page_of_nodes",
    "relink",
    "unlink",
    "walk",
]
