"""Faults of documents and of their clients."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

_DOCUMENTS = (
    Entry(
        "F-F1",
        "A processor is killed at any of its steps.",
        "Each mutation has one outcome, in its client's order, and each version has all its contents.",
        (
            "documents/test_kill.py::test_a_dead_processor_loses_and_doubles_nothing",
            "documents/test_kill.py::test_nor_beside_another_one",
        ),
    ),
    Entry(
        "F-F2",
        "Two processors get the same message.",
        "One commits; the other's transaction fails, and it starts afresh.",
        (
            "documents/test_rules.py::test_processors_that_cross_anywhere_start_afresh_and_never_merge",
            "sync/test_queue.py::test_a_worker_that_takes_too_long_is_only_slower",
        ),
    ),
    Entry(
        "F-F3",
        "A message comes again long after it was handled.",
        "Its mutations are at or below the client's last id, and change nothing.",
        (
            "sync/test_queue.py::test_pointers_that_come_again_change_nothing",
            "documents/test_mutations.py::test_ids_at_or_below_the_last_are_answered_from_the_record",
        ),
    ),
    Entry(
        "F-F4",
        "A mutation comes, and the one before it does not.",
        "It waits or is refused. It is never applied before the other.",
        (
            "documents/test_mutations.py::test_a_gap_waits_and_duplicates_in_the_inbox_are_one",
            "sync/test_flood.py::test_nothing_is_taken_of_a_push_with_a_missing_id",
        ),
    ),
    Entry(
        "F-F5",
        "A mutation raises, has wrong arguments, takes too long or makes too much.",
        "It is rejected with its error, and uses up its id. The version rises, and no other waits.",
        (
            "documents/test_poison.py::test_whatever_a_mutation_raises_it_is_rejected",
            "documents/test_poison.py::test_what_passes_a_bound_is_rejected",
            "sync/test_poison.py::test_poison_holds_nothing_up",
            "sync/test_sync.py::test_what_has_no_effect_raises_the_cookie",
        ),
    ),
    Entry(
        "F-F6",
        "The table or the blob store fails while a mutation runs, whatever the mutation makes of it.",
        "The mutation is not rejected. It is tried again later.",
        (
            "documents/test_poison.py::test_an_unknown_error_of_the_blob_store_rejects_nothing",
            "documents/test_blobs.py::test_a_blob_that_is_not_what_it_was_is_one_clear_error_and_nothing_is_lost",
            "documents/test_table_fails.py::test_a_table_that_fails_at_any_request_rejects_nothing",
            "sync/test_poison.py::test_what_cant_be_decided_is_not_decided",
        ),
    ),
    Entry(
        "F-F7",
        "A mutation is run in another process: other hash seed, locale, order of dictionaries.",
        "Its contents have the same bytes, and so the same names.",
        ("documents/test_determinism.py::test_mutations_make_the_same_contents_in_every_process",),
        "A mutation that reads a clock or chance makes what it makes: the how-to says that inputs are arguments.",
    ),
    Entry(
        "F-F8",
        "Two tabs of one client group push in any order.",
        "Each has ids of its own; all get the same order of versions.",
        (
            "sync/test_soak.py::test_a_few_clients",
            "documents/test_stateful.py::test_clients_and_processors",
            "histories/test_mutation_order.py::test_a_history_under_faults_has_one_order",
        ),
    ),
    Entry(
        "F-F9",
        "A client or group is named by another user.",
        "The push or pull is refused, and nothing is written.",
        ("sync/test_matrix.py::test_the_matrix", "sync/test_matrix.py::test_no_pull_crosses"),
    ),
    Entry(
        "F-F10",
        "A commit happens while a client pulls.",
        "Last ids and data are of one version.",
        ("sync/test_sync.py::test_whatever_is_committed_during_a_pull",),
    ),
    Entry(
        "F-F11",
        "A replica that a pull could read lacks the newest versions.",
        "Pulls read consistently: a cookie never goes back, and last ids are those of the patch.",
        (
            "sync/test_sync.py::test_a_cookie_never_goes_back_whatever_a_slow_replica_lacks",
            "sync/test_sync.py::test_a_head_that_is_outdated_meanwhile_is_read_again",
        ),
    ),
    Entry(
        "F-F12",
        "A cookie is forged, or of a version that is not kept.",
        "Its group is told to begin anew; a new one is sent the whole document.",
        (
            "sync/test_sync.py::test_a_cookie_that_is_none_of_ours_begins_anew",
            "sync/test_sync.py::test_a_cookie_of_a_version_that_is_kept_no_more_begins_anew",
        ),
    ),
    Entry(
        "F-F13",
        "Two processors make the next version concurrently.",
        "One wins. The other runs its mutations again on the new version.",
        (
            "documents/test_rules.py::test_processors_that_cross_anywhere_start_afresh_and_never_merge",
            "documents/test_rules.py::test_many_processors_in_any_order",
            "histories/test_mutation_order.py::test_a_history_under_faults_has_one_order",
        ),
    ),
    Entry(
        "F-F14",
        "Numbers in keys grow by a digit.",
        "Keys sort as the numbers do; a number that is too large for its width is refused.",
        (
            "property/test_key_text.py::test_texts_sort_as_tuples_of_values",
            "property/test_key_text.py::test_a_number_that_does_not_fit_its_width_is_refused",
            "documents/test_limits.py::test_keys_are_those_of_the_published_design",
        ),
    ),
    Entry(
        "F-F15",
        "The server's result differs from what a client assumed.",
        "All clients show the server's state once nothing is pending.",
        ("sync/replicache/test_node.py::test_offline_edits_are_rebased", "sync/test_soak.py::test_a_few_clients"),
    ),
    Entry(
        "F-F16",
        "Programs of two versions process one document.",
        "What only the newer one knows waits for it, for a bounded time, and delays no other client.",
        (
            "documents/test_two_versions.py::test_a_mutation_that_only_the_new_program_knows_waits_for_it",
            "documents/test_two_versions.py::test_one_that_no_program_knows_is_rejected_in_the_end",
            "documents/test_two_versions.py::test_many_waiting_clients_delay_no_other_client",
            "documents/test_two_versions.py::test_a_newer_content_makes_an_old_program_wait_and_no_other",
            "sync/test_http.py::test_client_code_that_is_no_longer_served_must_reload",
        ),
    ),
    Entry(
        "F-F17",
        "The record of a mutation is gone while its client still repeats it.",
        "The client's last id is enough: it is not applied again. No item of a document expires.",
        (
            "documents/test_mutations.py::test_without_its_record_a_mutation_is_not_applied_again",
            "documents/test_mutations.py::test_no_item_of_a_document_expires",
        ),
    ),
    Entry(
        "F-F18",
        "A table is restored, copied or forked while clients are away, with pending edits.",
        "All end with the server's view. An edit is applied once, or its client is told.",
        (
            "sync/test_histories.py::test_all_end_with_the_server_s_view_or_are_told",
            "sync/test_histories.py::test_a_planted_fault_is_found",
            "sync/replicache/test_restored.py::test_clients_of_a_table_that_is_restored_forked_and_copied",
        ),
    ),
)
_BLOBS = (
    Entry(
        "F-J1",
        "A processor is killed after a blob and before the commit.",
        "The blob is garbage, which the next collection takes.",
        (
            "documents/test_kill.py::test_a_dead_processor_loses_and_doubles_nothing",
            "documents/test_garbage.py::test_a_rejected_mutation_leaves_garbage_that_is_collected",
        ),
    ),
    Entry(
        "F-J2",
        "A writer needs a blob that a collection is about to delete.",
        "One of the two starts afresh; no version lacks a content.",
        (
            "documents/test_garbage.py::test_a_writer_and_a_collection_cross_at_some_steps",
            "documents/test_garbage.py::test_a_writer_and_a_collection_cross_at_all_steps",
        ),
    ),
    Entry(
        "F-J3",
        "Two collections run, or one is killed.",
        "A run deletes by its own rows only; the next one finishes what a dead one left.",
        (
            "documents/test_garbage.py::test_a_run_deletes_only_by_its_own_rows",
            "documents/test_garbage.py::test_a_collection_that_died_anywhere_is_finished_by_the_next",
        ),
    ),
    Entry(
        "F-J4",
        "A collection reads from a replica that is behind, or one page of several.",
        "It reads consistently and to the end: versions, records, what waits, and what those refer to.",
        ("documents/test_garbage.py::test_it_keeps_what_a_slow_replica_lacks_and_what_lies_on_later_pages",),
    ),
    Entry(
        "F-J5",
        "A blob is cut short, swapped, of another format, a gzip bomb, or longer than it should be.",
        "Corrupt names it; no more than the limit is unpacked; no mutation is lost.",
        (
            "documents/test_blobs.py::test_a_blob_that_is_not_what_it_was_is_one_clear_error_and_nothing_is_lost",
            "documents/test_blobs.py::test_a_bomb_is_unpacked_no_further_than_the_limit",
            "documents/test_blobs.py::test_a_foreign_blob_under_the_name_of_a_new_one_is_found_before_the_commit",
        ),
    ),
    Entry(
        "F-J6",
        "The compressed bytes of one content differ between two writers.",
        "A content is named by the hash of its uncompressed bytes, and gzip is written without a time.",
        (
            "documents/test_blobs.py::test_a_content_that_another_writer_packed_in_other_bytes_is_the_same",
            "documents/test_blobs.py::test_a_blob_is_gzip_of_canonical_json_under_its_hash",
        ),
    ),
    Entry(
        "F-J7",
        "A bucket answers 409, 503 or 500, or the answer to a put is lost.",
        "The put is made again; nothing is committed without its content.",
        (
            "documents/test_bucket.py::test_a_put_that_fails_once_is_made_again",
            "documents/test_bucket.py::test_a_put_that_goes_on_failing_commits_nothing",
        ),
    ),
    Entry(
        "F-J8",
        "A blob is deleted or overwritten by hand.",
        "Reading it raises Corrupt, and the check names it. Putting it back mends it.",
        ("documents/test_blobs.py::test_a_blob_that_is_not_what_it_was_is_one_clear_error_and_nothing_is_lost",),
    ),
)
SECTIONS = (
    Section("F", "Documents, mutations, clients", _DOCUMENTS),
    Section("J", "Blobs and garbage collection", _BLOBS),
)
