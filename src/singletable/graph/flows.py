"""The flows of the graph by their verbs: what the two shells run."""

from singletable.graph.bulk_load import load as load
from singletable.graph.deletion import delete_node as delete_node
from singletable.graph.link import link as link, relink as relink, unlink as unlink
from singletable.graph.read import (
    count_edges as count_edges,
    including as including,
    page_of_nodes as page_of_nodes,
    walk as walk,
)
