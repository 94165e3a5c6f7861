"""Faults of what has to happen later: tasks, and the escalation that is built on them."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

_TASKS = (
    Entry(
        "F-I1",
        "The event that begins a search comes twice.",
        "The search is keyed by it, and begins once.",
        (
            "examples/manhunt/tests/test_escalation.py::test_a_beginning_that_is_told_twice_is_one",
            "tasks/test_tasks.py::test_a_key_exists_once_and_cancels",
        ),
    ),
    Entry(
        "F-I2",
        "A wake-up is early, late, doubled or lost.",
        "The item decides: an early one waits, a second one finds the task done, a lost one is found in the index.",
        (
            "tasks/test_queued.py::test_messages_that_are_early_doubled_late_or_forged_do_nothing",
            "tasks/test_lag.py::test_an_index_that_lags_makes_tasks_late_and_no_more",
            "examples/manhunt/tests/test_escalation.py::test_searches_that_the_stream_lost_are_found",
        ),
    ),
    Entry(
        "F-I3",
        "Somebody answers exactly while the next step begins.",
        "One conditional write decides; after the end no attempt is claimed.",
        (
            "examples/manhunt/tests/test_search_ends.py::test_an_end_at_any_request_of_the_worker_is_the_only_one",
            "examples/manhunt/tests/test_search_ends.py::test_a_step_at_any_request_of_an_answer_gives_one_end",
        ),
    ),
    Entry(
        "F-I4",
        "A worker is killed between a claim, the message and its record.",
        "The claim's lease ends, and the message is sent again with the same idempotency key.",
        (
            "examples/manhunt/tests/test_crashes.py::test_killed_at_some_request",
            "examples/manhunt/tests/test_crashes.py::test_killed_at_every_request",
            "tasks/test_faults.py::test_a_worker_that_is_killed_at_any_request_leaves_nothing_undone",
        ),
    ),
    Entry(
        "F-I5",
        "A provider times out, fails, or may have taken the message.",
        "The attempt fails after its deadline or is marked unknown, and the search goes on.",
        (
            "examples/manhunt/tests/test_providers.py::test_a_provider_that_fails_is_asked_again_and_the_search_goes_on",
            "examples/manhunt/tests/test_providers.py::test_a_provider_that_never_answers_is_given_up_and_the_search_is_not",
            "examples/manhunt/tests/test_providers.py::test_a_provider_that_may_have_taken_it_leaves_it_unknown",
        ),
    ),
    Entry(
        "F-I6",
        "A wait is longer than a queue's longest delay.",
        "The due time is in the table: a message is sent when the rest of the wait is short; an early one waits.",
        (
            "tasks/test_queued.py::test_a_queue_gets_each_task_once",
            "tasks/test_queued.py::test_messages_that_are_early_doubled_late_or_forged_do_nothing",
        ),
    ),
    Entry(
        "F-I7",
        "Contact methods change while a search goes on.",
        "The search has a copy of its plan.",
        (
            "examples/manhunt/tests/test_escalation.py::test_the_plan_is_a_copy",
            "examples/manhunt/tests/test_contacts.py::test_the_plan_is_the_one_at_the_commit",
        ),
    ),
    Entry(
        "F-I8",
        "No method is left, or there was none.",
        "The search fails and says so.",
        (
            "examples/manhunt/tests/test_escalation.py::test_no_enabled_method_fails_at_once_and_says_so",
            "examples/manhunt/tests/test_escalation.py::test_no_time_for_an_answer_fails_after_the_last_method",
        ),
    ),
    Entry(
        "F-I9",
        "Two people end a search, or one ends what has ended.",
        "One end is stored, and stays.",
        (
            "examples/manhunt/tests/test_search_ends.py::test_of_two_who_end_a_search_at_once_one_does",
            "examples/manhunt/tests/test_search_ends.py::test_what_has_ended_stays_as_it_ended",
        ),
    ),
    Entry(
        "F-I10",
        "Workers' clocks differ or go back.",
        "No task runs twice for it; a clock that goes back makes tasks late, not lost.",
        (
            "tasks/test_wrong_clocks.py::test_no_task_runs_twice_for_a_wrong_clock",
            "tasks/test_takeover.py::test_a_worker_ahead_leaves_a_running_task_to_its_worker",
            "tasks/test_lag.py::test_a_clock_that_is_put_back_leaves_tasks_late_not_lost",
            "histories/test_task_ends.py::test_a_history_under_faults_ends_each_task_once",
        ),
    ),
    Entry(
        "F-I11",
        "Thousands of tasks are due in one second.",
        "The oldest run first, a bounded number concurrently, and all end once.",
        (
            "tasks/test_tasks.py::test_the_oldest_come_first",
            "tasks/test_tasks.py::test_no_more_run_at_once_than_asked_for",
            "tasks/test_tasks.py::test_many_are_run_in_any_number_of_looks",
            "examples/manhunt/tests/test_cli.py::test_hundreds_of_searches_at_once_all_end_once",
        ),
    ),
)
SECTIONS = (Section("I", "Tasks and escalation", _TASKS),)
