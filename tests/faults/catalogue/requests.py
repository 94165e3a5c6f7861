"""Faults of single requests and of batches."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

_REQUESTS = (
    Entry(
        "F-A1",
        "The connection ends after the service applied a write, before the answer.",
        "The write happens once, or OutcomeUnknown is raised. It never happens twice without a word.",
        ("faults/test_every_request.py::test_a_loss_at_every_request", "rules/test_table.py::test_a_cell_is_kept"),
    ),
    Entry(
        "F-A2",
        "The same, of a transaction.",
        "It is repeated with its token and the same bytes, and happens once.",
        ("rules/test_transactions.py::test_a_repeat_has_the_same_bytes_and_token",),
    ),
    Entry(
        "F-A3",
        "A transaction is repeated after its token has expired.",
        "It is given up after 300 s at most, half of a token's life.",
        ("unit/wire/test_retry.py::test_a_transaction_may_not_outlive_its_token",),
        "An effect that has to happen once for longer needs an item of its own in the transaction, which the caller "
        "names; documents and tasks have one.",
    ),
    Entry(
        "F-A4",
        "A repeated transaction differs from the first in a byte, such as a time.",
        "Its bytes are built once. Hash seed and locale do not change them.",
        (
            "rules/test_transactions.py::test_a_repeat_has_the_same_bytes_and_token",
            "faults/test_determinism.py::test_the_same_bytes_in_every_process",
        ),
    ),
    Entry(
        "F-A5",
        "A request is lost, hangs or is answered by 500 before it is applied.",
        "It is repeated with growing random waits, until its deadline.",
        ("faults/test_every_request.py::test_a_loss_at_every_request",),
    ),
    Entry(
        "F-A6",
        "The first try arrives after the second has succeeded.",
        "A write by version and a create are refused then.",
        (
            "rules/test_others.py::test_a_late_duplicate_of_a_counted_write_is_refused",
            "rules/test_others.py::test_a_late_duplicate_of_a_create_is_refused",
        ),
    ),
    Entry(
        "F-A7",
        "A repeated conditional write meets its own first try.",
        "The stored write id shows whose it is, and the write has succeeded.",
        ("rules/test_table.py::test_a_cell_is_kept",),
    ),
    Entry(
        "F-A8",
        "TransactionInProgressException",
        "It is waited for; when it does not end, the outcome is unknown.",
        (
            "rules/test_waiting.py::test_a_transaction_in_progress_is_waited_for",
            "rules/test_waiting.py::test_a_transaction_in_progress_for_good_is_of_unknown_outcome",
        ),
    ),
    Entry(
        "F-A9",
        "An answer is cut short, has a wrong checksum or comes byte by byte.",
        "It counts as lost, and is never taken for an empty result.",
        (
            "faults/test_actions.py::test_after_a_loss_a_sum_is_of_unknown_outcome",
            "unit/wire/test_transports.py::test_a_trickle_does_not_outlast_the_patience",
        ),
    ),
    Entry(
        "F-A10",
        "Every request is throttled for a minute.",
        "Retries end with their budget and at the deadline.",
        (
            "rules/test_waiting.py::test_throttling_for_good_ends_with_the_retries_and_the_deadline",
            "rules/test_waiting.py::test_retries_have_a_budget",
        ),
    ),
    Entry(
        "F-A11",
        "The endpoint is away, and comes back to many clients at once.",
        "Clients return at different times, with few requests for each lost one, and all writes get through.",
        ("faults/test_outage.py::test_after_an_outage_clients_come_back_spread_and_with_few_requests",),
    ),
    Entry(
        "F-A12",
        "The service closes an idle connection, or its half of it.",
        "Before each request an idle connection is looked at, and another is opened. A write that can't be repeated "
        "uses none that was idle for more than 15 s.",
        (
            "unit/wire/test_transports.py::test_an_idle_connection_that_was_closed_is_found_out",
            "unit/wire/test_idle_connections.py::test_a_connection_that_the_server_half_closed_is_not_used",
            "unit/wire/test_tls.py::test_an_idle_connection_that_was_half_closed_is_found_out",
            "unit/wire/test_transports.py::test_a_write_that_cannot_be_repeated_wants_a_fresh_connection",
        ),
    ),
    Entry(
        "F-A13",
        "Many calls come at once, again and again, and then none.",
        "Only the first burst opens connections. Those that stay idle are closed: by the event loop, or by the next "
        "call of a thread. A call that finds none free waits no longer than for an answer.",
        (
            "unit/wire/test_idle_connections.py::test_a_second_burst_opens_no_connection",
            "unit/wire/test_idle_connections.py::test_a_loop_closes_them_when_no_call_comes",
            "unit/wire/test_idle_connections.py::test_a_call_closes_all_that_were_idle_for_too_long",
            "unit/wire/test_asyncio_port.py::test_the_line_has_one_timer_and_each_call_its_own_limit",
        ),
    ),
)
_BATCHES = (
    Entry(
        "F-B1",
        "A batch of writes leaves some undone, again and again.",
        "They are sent again with waits; what stays undone is raised with Incomplete.",
        (
            "rules/test_batches.py::test_what_is_left_undone_is_sent_again",
            "rules/test_batches.py::test_what_stays_undone_is_named",
        ),
    ),
    Entry(
        "F-B2",
        "A whole batch is refused for its rate.",
        "It is treated as one of which all is left undone.",
        ("rules/test_batches.py::test_a_throttled_batch_carries_the_rest_as_well",),
    ),
    Entry(
        "F-B3",
        "A batch of reads leaves keys unread.",
        "They are read until all are there, in the order asked for; else Incomplete is raised.",
        ("rules/test_batches.py::test_what_is_left_undone_is_sent_again",),
    ),
    Entry(
        "F-B4",
        "A key stands twice in a batch or a transaction.",
        "It is read once, or refused by name before anything is sent.",
        (
            "rules/test_batches.py::test_a_key_given_twice",
            "rules/test_transactions.py::test_what_no_one_action_says_is_refused_by_name",
        ),
    ),
    Entry(
        "F-B5",
        "One partition gets more writes than it can take.",
        "It is throttled as in F-B6; other partitions are not held up.",
        ("faults/test_throttling.py::test_a_busy_partition_holds_up_no_other",),
    ),
    Entry(
        "F-B6",
        "An index is throttled, and with it writes of the table.",
        "The write was not applied and is repeated; when that does not help, the error names the index.",
        ("faults/test_throttling.py::test_a_throttled_index_is_waited_for_and_named",),
    ),
    Entry(
        "F-B7",
        "A node with thousands of edges is deleted.",
        "A tombstone keeps new edges away while the others go in transactions; a killed deletion is continued.",
        (
            "graph/test_deletion.py::test_a_delete_survives_a_kill_at_every_step",
            "graph/test_deletion.py::test_a_delete_of_5000_edges_survives_random_kills",
        ),
    ),
)
SECTIONS = (Section("A", "Requests and retries", _REQUESTS), Section("B", "Throttling and batches", _BATCHES))
