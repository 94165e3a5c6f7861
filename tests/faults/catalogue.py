"""The catalogue of faults, sections A to C and what of K and L is about records: for each entry its tests, or why none.

A test is named as `path::name`, under `tests`.
"""

from __future__ import annotations

from collections.abc import Mapping

TESTS: Mapping[str, tuple[str, ...]] = {
    # A. transport and retry
    "F-A1": ("faults/test_every_request.py::test_a_loss_at_every_request", "rules/test_table.py::test_a_cell_is_kept"),
    "F-A2": ("rules/test_transactions.py::test_a_repeat_has_the_same_bytes_and_token",),
    "F-A4": (
        "rules/test_transactions.py::test_a_repeat_has_the_same_bytes_and_token",
        "faults/test_determinism.py::test_the_same_bytes_in_every_process",
    ),
    "F-A5": ("faults/test_every_request.py::test_a_loss_at_every_request",),
    "F-A6": (
        "rules/test_others.py::test_a_late_duplicate_of_a_counted_write_is_refused",
        "rules/test_others.py::test_a_late_duplicate_of_a_create_is_refused",
    ),
    "F-A7": ("rules/test_table.py::test_a_cell_is_kept",),
    "F-A8": (
        "rules/test_waiting.py::test_a_transaction_in_progress_is_waited_for",
        "rules/test_waiting.py::test_a_transaction_in_progress_for_good_is_of_unknown_outcome",
    ),
    "F-A9": (
        "faults/test_actions.py::test_after_a_loss_a_sum_is_of_unknown_outcome",
        "unit/wire/test_transports.py::test_a_trickle_does_not_outlast_the_patience",
    ),
    "F-A10": (
        "rules/test_waiting.py::test_throttling_for_good_ends_with_the_retries_and_the_deadline",
        "rules/test_waiting.py::test_retries_have_a_budget",
    ),
    "F-A11": ("unit/wire/test_transports.py::test_no_server_listens",),
    # B. throttling and batches
    "F-B1": (
        "rules/test_batches.py::test_what_is_left_undone_is_sent_again",
        "rules/test_batches.py::test_what_stays_undone_is_named",
    ),
    "F-B2": ("rules/test_batches.py::test_a_throttled_batch_carries_the_rest_as_well",),
    "F-B3": ("rules/test_batches.py::test_what_is_left_undone_is_sent_again",),
    "F-B4": (
        "rules/test_batches.py::test_a_key_given_twice",
        "rules/test_transactions.py::test_what_no_one_action_says_is_refused_by_name",
    ),
    "F-B6": ("faults/test_actions.py::test_a_throttled_request_was_not_applied",),
    # C. transactions
    "F-C1": (
        "rules/test_waiting.py::test_a_conflict_is_tried_again_until_it_passes",
        "faults/test_concurrency.py::test_sums_of_many_writers_add_up_in_spite_of_conflicts",
    ),
    "F-C2": ("rules/test_transactions.py::test_mixed_reasons_are_those_of_the_operations",),
    "F-C3": (
        "faults/test_concurrency.py::test_sums_of_many_writers_add_up_in_spite_of_conflicts",
        "rules/test_waiting.py::test_a_lasting_conflict_is_raised_and_nothing_is_written",
    ),
    "F-C4": (
        "engine/test_transactions.py::test_a_hundred_items_and_no_more",
        "engine/test_transactions.py::test_four_megabytes_and_no_more",
    ),
    "F-C5": (
        "rules/test_transactions.py::test_writes_of_one_item_are_one_action",
        "rules/test_transactions.py::test_what_no_one_action_says_is_refused_by_name",
    ),
    "F-C7": ("rules/test_between.py::test_a_check_keeps_two_writers_from_passing_each_other",),
    "F-C8": ("rules/test_between.py::test_an_item_that_would_grow_too_large_stays_as_it_is",),
    # K. reads, indexes, expiry, pages
    "F-K1": ("rules/test_between.py::test_nothing_is_decided_by_an_index",),
    "F-K3": ("engine/test_cost.py::test_an_index_is_never_consistent",),
    "F-K4": (
        "rules/test_between.py::test_pages_between_which_others_write",
        "rules/test_between.py::test_the_item_under_a_cursor_moves_away",
    ),
    "F-K5": ("rules/test_batches.py::test_pages_that_end_early_and_empty_are_read_on",),
    "F-K6": ("engine/properties/test_ranges.py::test_texts_and_numbers_on_the_engine",),
    "F-K7": (
        "rules/test_expiry.py::test_reads_do_not_see_it_from_its_end_on",
        "rules/test_expiry.py::test_writes_do_not_see_it_from_its_end_on",
    ),
    "F-K8": ("rules/test_expiry.py::test_a_guard_ends_with_its_item",),
    "F-K9": (
        "rules/test_others.py::test_a_stale_first_read_is_corrected_by_the_condition",
        "faults/test_workload.py::test_a_few_hundred_writes",
    ),
    # L. time, environment, operations
    "F-L1": ("rules/test_expiry.py::test_a_clock_that_is_set_back_brings_it_back_and_breaks_nothing",),
    "F-L2": (
        "engine/test_sharing.py::test_threads_share_a_database",
        "engine/test_sharing.py::test_parent_and_forked_child_use_the_same_database",
    ),
    "F-L3": (
        "engine/test_versions.py::test_a_newer_item_refuses_writes",
        "engine/test_versions.py::test_an_attribute_that_no_class_declares_is_kept_by_updates",
    ),
    "F-L5": ("faults/test_crashes.py::test_transfers_that_were_killed",),
    "F-L6": ("faults/test_determinism.py::test_the_same_bytes_in_every_process",),
}
REASONS: Mapping[str, str] = {
    "F-A3": "A transaction is given up after 300 s at most (unit/wire/test_retry.py), half of a token's life; an "
    "effect that has to be once for longer needs an item of its own in the transaction, which is the caller's to name.",
    "F-B5": "What a partition can take is the service's own; how it refuses is F-B6 and F-A10.",
    "F-B7": "Nodes and their edges are the graph layer's.",
    "F-C6": "A collection is one query, and so no snapshot: said in its docstring. What has to fit together is checked "
    "by a transaction (F-C7) or carries a version.",
    "F-K2": "Records give what the index has, and decide nothing by it (F-K1); the graph layer reads nodes again.",
    "F-L4": "A table whose keys differ is refused at first use (engine/test_tables.py); streams and restores belong to "
    "later layers.",
}
SECTIONS = {"A": 11, "B": 7, "C": 8, "K": 9, "L": 6}
"""How many entries each has."""
