"""Faults of reads, indexes and pages; of time and of the machine."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

_READS = (
    Entry(
        "F-K1",
        "An index does not show a write yet.",
        "Nothing is decided by an index: unique values are items of their own.",
        ("rules/test_between.py::test_nothing_is_decided_by_an_index",),
    ),
    Entry(
        "F-K2",
        "An index shows an item that has changed or is gone.",
        "A query gives what the index has, and says so. Graph pages read nodes by key, and count holes.",
        (
            "graph/test_read.py::test_holes_are_left_out_and_counted",
            "graph/test_sweep.py::test_an_index_that_shows_what_is_gone_ends_no_deletion_late",
        ),
    ),
    Entry(
        "F-K3",
        "A consistent read of an index is asked for.",
        "It is refused before it is sent.",
        ("engine/test_cost.py::test_an_index_is_never_consistent",),
    ),
    Entry(
        "F-K4",
        "Items come, go and move between two pages.",
        "What stayed is read once; a cursor outlives its item.",
        (
            "rules/test_between.py::test_pages_between_which_others_write",
            "rules/test_between.py::test_the_item_under_a_cursor_moves_away",
        ),
    ),
    Entry(
        "F-K5",
        "Pages of the service are empty or end early.",
        "They are read on, within max_pages.",
        ("rules/test_batches.py::test_pages_that_end_early_and_empty_are_read_on",),
    ),
    Entry(
        "F-K6",
        "A range meets keys that only begin alike.",
        "It holds exactly its values, by bytes.",
        (
            "engine/properties/test_ranges.py::test_texts_and_numbers_on_the_engine",
            "property/test_ranges.py::test_exactly_the_values_of_the_range_lie_in_it",
        ),
    ),
    Entry(
        "F-K7",
        "An expired item is still there.",
        "Reads and writes do not see it.",
        (
            "rules/test_expiry.py::test_reads_do_not_see_it_from_its_end_on",
            "rules/test_expiry.py::test_writes_do_not_see_it_from_its_end_on",
        ),
    ),
    Entry(
        "F-K8",
        "An item expires that others refer to.",
        "A guard ends with its item. Nodes, edges and documents do not expire.",
        (
            "rules/test_expiry.py::test_a_guard_ends_with_its_item",
            "graph/test_declarations.py::test_nothing_of_a_graph_expires",
            "documents/test_mutations.py::test_no_item_of_a_document_expires",
        ),
    ),
    Entry(
        "F-K9",
        "A read before a write is out of date.",
        "The write's condition fails, and it is read again consistently.",
        (
            "rules/test_others.py::test_a_stale_first_read_is_corrected_by_the_condition",
            "faults/test_workload.py::test_a_few_hundred_writes",
        ),
    ),
)
_MACHINE = (
    Entry(
        "F-L1",
        "The wall clock is set back or forward.",
        "The service's time decides what has expired: no living item is deleted or replaced. Order and versions do not "
        "come from a wall clock; intervals are measured by a clock that never goes back.",
        (
            "faults/test_wrong_clocks.py::test_no_living_item_is_deleted_or_replaced",
            "rules/test_expiry.py::test_a_clock_that_is_set_back_brings_it_back_and_breaks_nothing",
            "documents/test_limits.py::test_version_times_rise_when_the_clock_does_not",
            "architecture/test_clocks.py::test_no_interval_is_measured_by_the_wall_clock",
        ),
    ),
    Entry(
        "F-L2",
        "A database is shared by threads and forked processes.",
        "Each gets its own answers; a child opens connections of its own.",
        (
            "engine/test_sharing.py::test_threads_share_a_database",
            "engine/test_sharing.py::test_parent_and_forked_child_use_the_same_database",
        ),
    ),
    Entry(
        "F-L3",
        "An older program meets items of a newer one.",
        "It refuses to write them, and keeps attributes that it does not know.",
        (
            "engine/test_versions.py::test_a_newer_item_refuses_writes",
            "engine/test_versions.py::test_an_attribute_that_no_class_declares_is_kept_by_updates",
        ),
    ),
    Entry(
        "F-L4",
        "A table has other keys, no stream, or was restored in part.",
        "It is refused at first use, by name; the checks report what a partial restore lacks.",
        (
            "engine/test_tables.py::test_a_file_with_other_keys_is_refused",
            "streams/test_declarations.py::test_a_table_whose_stream_is_off_is_refused",
            "graph/test_restore.py::test_a_part_of_a_transaction_is_told",
        ),
    ),
    Entry(
        "F-L5",
        "Memory, file descriptors or the disk run out.",
        "Each write is done, or raises; what is acknowledged is there afterwards, and a fresh process finishes.",
        (
            "faults/test_exhaustion.py::test_a_process_without_descriptors_does_a_write_or_says_so",
            "faults/test_exhaustion.py::test_a_process_without_memory_loses_nothing_that_it_acknowledged",
            "faults/test_exhaustion.py::test_a_full_disk_ends_no_promise",
            "faults/test_exhaustion.py::test_a_full_disk_is_named_at_once",
            "documents/test_poison.py::test_in_a_process_of_limited_memory_a_mutation_that_wants_more_is_rejected",
        ),
    ),
    Entry(
        "F-L6",
        "Hash seed or locale differ between processes.",
        "Requests and contents have the same bytes.",
        (
            "faults/test_determinism.py::test_the_same_bytes_in_every_process",
            "documents/test_determinism.py::test_mutations_make_the_same_contents_in_every_process",
        ),
    ),
)
SECTIONS = (Section("K", "Reads, indexes, expiry, pages", _READS), Section("L", "Time, machine, operations", _MACHINE))
