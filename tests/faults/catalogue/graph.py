"""Faults of a graph."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

_GRAPH = (
    Entry(
        "F-E1",
        "An edge is added and removed concurrently.",
        "The last transaction decides, and edge set and edges are equal after it.",
        ("graph/test_concurrency.py::test_everyone_does_everything_to_one_edge",),
    ),
    Entry(
        "F-E2",
        "An edge is added by several writers concurrently.",
        "There is one edge; the other writers get AlreadyExists.",
        ("graph/test_concurrency.py::test_of_several_links_of_one_edge_one_holds",),
    ),
    Entry(
        "F-E3",
        "A process is killed between two steps of a node's deletion.",
        "The tombstone stays, no edge can be added, and the next call continues.",
        (
            "graph/test_deletion.py::test_a_delete_survives_a_kill_at_every_step",
            "graph/test_concurrency.py::test_no_link_comes_between_a_deletion_and_its_end",
        ),
    ),
    Entry(
        "F-E4",
        "Orphans are removed while others write.",
        "Each is removed by a transaction that checks that its node is still missing.",
        ("graph/test_sweep.py::test_a_look_for_orphans_beside_a_writer_takes_nothing_that_is_whole",),
    ),
    Entry(
        "F-E5",
        "A restored backup holds a part of a transaction.",
        "The check reports every such part, of graphs and of documents. It does not guess what was meant.",
        (
            "graph/test_restore.py::test_a_part_of_a_transaction_is_told",
            "graph/test_restore.py::test_a_part_of_several_links_is_told_of_each_node",
            "documents/test_restore.py::test_a_part_of_a_commit_is_told",
            "documents/test_restore.py::test_a_part_of_a_creation_is_told",
        ),
    ),
    Entry(
        "F-E6",
        "Several writers rewire a ring of nodes at random, under faults.",
        "It is still one ring when all are through, and each node has one edge.",
        (
            "graph/test_concurrency.py::test_a_ring_stays_a_ring",
            "graph/test_concurrency.py::test_a_ring_stays_a_ring_for_long",
        ),
    ),
)
SECTIONS = (Section("E", "Graph", _GRAPH),)
