"""Faults of queues and streams."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

_QUEUES = (
    Entry(
        "F-G1",
        "One message of a batch of several groups fails.",
        "It and those after it in its group are given back; other groups are done.",
        (
            "queues/test_queues.py::test_of_a_fifo_event_all_that_follows_in_the_group_is_given_back",
            "queues/test_queues.py::test_a_group_stays_in_order_and_stops_at_a_failure",
        ),
    ),
    Entry(
        "F-G2",
        "A Lambda handler's list of failures is malformed.",
        "It holds ids of the event's own messages only, whatever the messages hold.",
        (
            "queues/test_queues.py::test_of_a_lambda_event_the_failed_ones_are_given_back",
            "queues/test_poison.py::test_lambda_reports_it_alone",
        ),
    ),
    Entry(
        "F-G3",
        "A worker runs out of time, or is paused and goes on with what it knew.",
        "It begins nothing that it can't finish, and a commit of old reads is refused.",
        (
            "queues/test_queues.py::test_nothing_is_begun_when_time_is_running_out",
            "documents/test_rules.py::test_processors_that_cross_anywhere_start_afresh_and_never_merge",
            "streams/test_shards.py::test_a_worker_that_was_held_up_handles_and_writes_nothing_more",
        ),
    ),
    Entry(
        "F-G4",
        "One document gets messages faster than they are handled.",
        "A push sends one pointer, however many mutations it has; a follower applies all of them, so that the others "
        "find nothing to do. What a document takes in advance is bounded.",
        (
            "sync/test_queue.py::test_a_backlog_of_one_project_is_done_by_its_first_pointer",
            "documents/test_waiting.py::test_what_waits_behind_gaps_is_bounded_in_a_document",
        ),
    ),
    Entry(
        "F-G5",
        "A message comes back out of a dead-letter queue.",
        "It is a pointer: what it points at has been applied, or is applied now, in order.",
        ("sync/test_queue.py::test_what_is_dead_lettered_is_not_lost",),
    ),
    Entry(
        "F-G6",
        "A process is killed after it stored mutations and before it sent the message.",
        "The next push or pull of the document applies them.",
        (
            "sync/test_processors.py::test_what_a_crash_left_is_applied_by_the_next_pull",
            "sync/test_processors.py::test_what_a_crash_left_is_applied_by_the_next_push",
        ),
    ),
    Entry(
        "F-G7",
        "An id of a project or client is not a legal id of a message or group.",
        "It is encoded, and different ids stay different.",
        (
            "queues/test_queues.py::test_ids_are_legal_and_no_two_the_same",
            "queues/test_queues.py::test_a_group_stays_in_order_and_stops_at_a_failure",
        ),
    ),
)
_STREAMS = (
    Entry(
        "F-H1",
        "A batch of changes is delivered twice.",
        "Handlers may be called again, from an earlier change on and in the same order. None is left out.",
        (
            "streams/test_shards.py::test_each_change_is_handled_in_its_items_order",
            "examples/manhunt/tests/test_escalation.py::test_a_beginning_that_is_told_twice_is_one",
        ),
    ),
    Entry(
        "F-H2",
        "Changes of one transaction arrive in another order.",
        "Only the changes of one item are in order; copies are written by version, whatever comes first.",
        (
            "streams/test_shards.py::test_each_change_is_handled_in_its_items_order",
            "streams/test_copies.py::test_the_changes_of_one_transaction_come_in_either_order",
            "streams/test_copies.py::test_a_late_writer_puts_nothing_old_over_a_newer_copy",
        ),
    ),
    Entry(
        "F-H3",
        "A handler fails for one item, again and again.",
        "Later changes of that item wait, others do not. After its tries it becomes a dead letter.",
        (
            "streams/test_worker.py::test_a_passing_failure_is_tried_again_in_order",
            "streams/test_worker.py::test_poison_becomes_a_dead_letter",
            "streams/test_memory.py::test_what_is_done_is_not_held_behind_what_fails",
        ),
    ),
    Entry(
        "F-H4",
        "An iterator expires.",
        "Another is asked for behind what was read; nothing is lost.",
        (
            "streams/test_refusals.py::test_an_expired_iterator_is_asked_for_again_behind_what_was_read",
            "streams/test_tail.py::test_an_expired_iterator_costs_nothing",
        ),
    ),
    Entry(
        "F-H5",
        "Changes were trimmed before they were read.",
        "The gap is reported before anything later is handled.",
        (
            "streams/test_shards.py::test_trimmed_records_are_reported",
            "streams/test_refusals.py::test_trimmed_records_are_reported_and_the_rest_is_read",
        ),
    ),
    Entry(
        "F-H6",
        "Shards split and close while they are read.",
        "A shard is read after its parent, so that an item's changes stay in order.",
        (
            "streams/test_shards.py::test_each_change_is_handled_in_its_items_order",
            "streams/test_shards.py::test_each_change_is_handled_for_long",
        ),
    ),
    Entry(
        "F-H7",
        "Two workers hold one shard.",
        "A lease carries a fence: the one that lost it calls no handler and writes no checkpoint.",
        (
            "streams/test_shards.py::test_a_worker_that_was_held_up_handles_and_writes_nothing_more",
            "streams/test_processes.py::test_a_paused_worker_has_lost_its_shard",
        ),
    ),
    Entry(
        "F-H8",
        "A consumer begins with what comes, while changes come.",
        "What comes after its beginning is not missed.",
        ("streams/test_held_up.py::test_one_that_begins_with_what_comes_misses_nothing_of_it",),
    ),
    Entry(
        "F-H9",
        "An item is deleted because it expired.",
        "That is another event than a deletion by a program.",
        (
            "streams/test_events.py::test_what_is_deleted_after_its_time_has_expired",
            "streams/test_lambda.py::test_an_event_of_aws_reaches_its_handlers",
            "unit/operations/test_stream.py::test_a_record_of_another_author_is_no_expiry",
        ),
    ),
    Entry(
        "F-H10",
        "A record has an unknown type, none, or another than the item had.",
        "It is counted by type, or is a removal and an insertion; no worker ends.",
        (
            "streams/test_events.py::test_unhandled_records_are_counted_by_type",
            "streams/test_events.py::test_an_item_that_changes_its_type_is_removed_and_inserted",
            "streams/test_events.py::test_an_item_under_another_key_reaches_no_handler",
        ),
    ),
    Entry(
        "F-H11",
        "A handler writes the item whose changes it handles.",
        "A write that changes nothing is not a change, so that a handler which sets what should be there ends. One "
        "that does not end delays no other item, and its worker still stops when told to.",
        (
            "streams/test_worker.py::test_a_handler_of_its_own_writes_ends_where_nothing_changes",
            "streams/test_worker.py::test_a_handler_that_feeds_itself_delays_no_other_item_and_stops",
        ),
    ),
    Entry(
        "F-H12",
        "A record is of a newer schema version than the program.",
        "It fails as a handler does, and becomes a dead letter. It is never dropped.",
        ("streams/test_worker.py::test_what_cannot_be_read_becomes_a_dead_letter",),
    ),
)
SECTIONS = (Section("G", "Queues and Lambda", _QUEUES), Section("H", "Streams", _STREAMS))
