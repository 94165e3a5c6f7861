"""Faults of transactions, and limits."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

_TRANSACTIONS = (
    Entry(
        "F-C1",
        "Another transaction holds an item of a write.",
        "The write is repeated with random waits, on fresh reads.",
        (
            "rules/test_waiting.py::test_a_conflict_is_tried_again_until_it_passes",
            "faults/test_concurrency.py::test_sums_of_many_writers_add_up_in_spite_of_conflicts",
        ),
    ),
    Entry(
        "F-C2",
        "A transaction is cancelled for reasons of several kinds.",
        "Each reason becomes the error of its operation; only conflicts are repeated.",
        ("rules/test_transactions.py::test_mixed_reasons_are_those_of_the_operations",),
    ),
    Entry(
        "F-C3",
        "Many writers change one item all the time.",
        "All their writes are there in the end; a conflict that does not pass is raised with its key.",
        (
            "faults/test_concurrency.py::test_sums_of_many_writers_add_up_in_spite_of_conflicts",
            "rules/test_waiting.py::test_a_lasting_conflict_is_raised_and_nothing_is_written",
        ),
    ),
    Entry(
        "F-C4",
        "A transaction has more than 100 items or 4 MB.",
        "It is refused before it is sent.",
        (
            "engine/test_transactions.py::test_a_hundred_items_and_no_more",
            "engine/test_transactions.py::test_four_megabytes_and_no_more",
        ),
    ),
    Entry(
        "F-C5",
        "One item stands twice in a transaction.",
        "What one action can express is merged; anything else is refused by name.",
        (
            "rules/test_transactions.py::test_writes_of_one_item_are_one_action",
            "rules/test_transactions.py::test_what_no_one_action_says_is_refused_by_name",
            "graph/test_link.py::test_a_node_may_be_its_own_neighbour",
        ),
    ),
    Entry(
        "F-C6",
        "A query reads between two parts of a transaction.",
        "A query is not a snapshot, and says so. Document versions are snapshots, as nothing that they name changes.",
        ("sync/test_sync.py::test_whatever_is_committed_during_a_pull",),
        "What else has to fit together is checked by a transaction (F-C7) or carries a version.",
    ),
    Entry(
        "F-C7",
        "A node is deleted while an edge to it is added.",
        "A transaction checks what it relies on, so that one of the two is refused.",
        (
            "rules/test_between.py::test_a_check_keeps_two_writers_from_passing_each_other",
            "graph/test_concurrency.py::test_no_link_comes_between_a_deletion_and_its_end",
        ),
    ),
    Entry(
        "F-C8",
        "A transaction would make an item larger than 400 KB.",
        "TooLarge is raised, nothing is applied, and it is not repeated.",
        ("rules/test_between.py::test_an_item_that_would_grow_too_large_stays_as_it_is",),
    ),
)
_LIMITS = (
    Entry(
        "F-D1",
        "A node has more edges than its edge set can hold.",
        "The set has a cap far below 400 KB. Edges beyond it are written unlisted, and the node says so.",
        (
            "graph/test_no_item.py::test_a_full_node_is_linked_unlisted",
            "graph/test_read.py::test_beyond_the_cap_an_edge_is_there_and_not_listed",
            "graph/test_costs.py::test_a_node_with_20000_edges_works",
        ),
    ),
    Entry(
        "F-D2",
        "An update near 400 KB counts for more than a put of the same item.",
        "TooLarge names the item, which stays as it was. The update is sent once. A put of the item is written.",
        ("engine/test_limits.py::test_an_update_is_counted_above_a_put_of_the_same_item",),
    ),
    Entry(
        "F-D3",
        "A collection's map of ids to hashes does not fit an item.",
        "It is written as several items in the commit's transaction. A mutation with more than fits is rejected.",
        (
            "documents/test_limits.py::test_a_map_lies_in_as_few_items_as_it_needs",
            "documents/test_limits.py::test_a_document_holds_near_30000_items_and_refuses_more_before_anything_is_written",
        ),
    ),
    Entry(
        "F-D4",
        "The last member of a set is removed, which removes the attribute.",
        "An absent set and an empty one are the same everywhere.",
        (
            "engine/test_limits.py::test_the_last_member_takes_the_set_with_it",
            "engine/properties/test_expressions.py::test_a_set_may_come_and_go",
            "graph/test_concurrency.py::test_everyone_does_everything_to_one_edge",
        ),
    ),
    Entry(
        "F-D5",
        "A key is longer than 2048 or 1024 bytes, or empty.",
        "It is refused by its bytes before it is sent.",
        (
            "property/test_key_text.py::test_a_key_over_its_limit_is_refused",
            "engine/test_refusals.py::test_no_write_takes_it",
            "engine/test_refusals.py::test_no_update_takes_it",
            "engine/test_refusals.py::test_what_is_just_within_the_rules",
        ),
    ),
    Entry(
        "F-D6",
        "An index is added over items whose index keys are missing, empty, too long or of another type.",
        "The index leaves them out; the check names each of them, and writing it puts it into the index.",
        ("engine/test_tables.py::test_what_a_new_index_leaves_out_is_told_and_written_again",),
    ),
    Entry(
        "F-D7",
        "An expression, a list of values, a number or nesting is over a limit.",
        "It is refused before it is sent; no digit is lost.",
        (
            "unit/expressions/test_refusals.py::test_too_many_operators_are_counted_and_refused",
            "unit/expressions/test_refusals.py::test_a_text_over_4_kb_is_refused_wherever_it_stands",
            "unit/expressions/test_refusals.py::test_a_path_has_32_steps_at_most",
            "engine/test_limits.py::test_is_in_takes_a_hundred",
            "engine/test_refusals.py::test_no_write_takes_it",
            "property/test_codecs.py::test_more_than_38_digits_are_refused",
        ),
    ),
    Entry(
        "F-D8",
        "A message or a mutation's arguments are too large for an item or a queue.",
        "A message is refused before it is sent. Large arguments lie in the blob store; a queue gets a pointer only.",
        (
            "queues/test_queues.py::test_messages_are_refused_before_anything_is_sent",
            "documents/test_mutations.py::test_large_arguments_lie_in_a_blob_and_are_one_mutation",
            "documents/test_poison.py::test_what_passes_a_bound_is_rejected",
        ),
    ),
)
SECTIONS = (Section("C", "Transactions", _TRANSACTIONS), Section("D", "Limits", _LIMITS))
