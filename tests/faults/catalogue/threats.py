"""Threats: what somebody does on purpose."""

from __future__ import annotations

from tests.faults.catalogue.entry import Entry, Section

SECTION = Section(
    "S",
    "Threats",
    (
        Entry(
            "S-1",
            "An id holds a separator, is empty, or is a prefix of another.",
            "Different values have different keys, and a prefix finds only its own.",
            (
                "property/test_key_text.py::test_different_values_give_different_texts",
                "property/test_key_text.py::test_a_prefix_is_exact",
                "property/test_overlap.py::test_a_text_that_both_read_is_never_missed",
                "documents/test_blobs.py::test_ids_stay_within_their_folder",
            ),
        ),
        Entry(
            "S-2",
            "An id is written with other characters that look the same, controls or lone surrogates.",
            "An identifier in a key is normalised text without controls, or refused.",
            (
                "property/test_key_text.py::test_an_identifier_is_normal_and_without_controls",
                "property/test_key_text.py::test_every_character_sorts_in_its_place",
                "examples/organisations/tests/test_groups.py::test_what_could_pass_for_another_address_is_refused",
            ),
        ),
        Entry(
            "S-3",
            "A cursor is changed, made up, or used with another query or by another user.",
            "It is encrypted and bound to query and principal; every such cursor is the same error.",
            (
                "rules/test_cursors.py::test_every_flipped_byte_is_the_one_error",
                "rules/test_cursors.py::test_a_foreign_expired_or_unreadable_one_is_the_same_error",
                "rules/test_cursors.py::test_nothing_of_a_key_can_be_read_from_a_cursor",
                "engine/test_cursors.py::test_a_cursor_belongs_to_its_principal",
            ),
        ),
        Entry(
            "S-4",
            "A value or a name holds text of an expression.",
            "Expressions hold placeholders only.",
            (
                "unit/expressions/test_handles.py::test_texts_hold_placeholders_only",
                "engine/test_only.py::test_stored_names_that_look_like_paths",
            ),
        ),
        Entry(
            "S-5",
            "Input has another type than its field.",
            "It is refused at the edge, without conversion.",
            (
                "property/test_codecs.py::test_a_wrong_value_is_refused_by_its_attribute",
                "sync/test_protocol.py::test_what_no_client_sends_is_refused",
                "examples/goals/tests/test_api.py::test_wrong_bodies",
            ),
        ),
        Entry(
            "S-6",
            "Input sets attributes that are not the caller's: keys, type, version, owner.",
            "Input models name their fields and refuse others.",
            ("examples/manhunt/tests/test_api.py::test_nothing_of_a_record_is_set_in_passing",),
        ),
        Entry(
            "S-7",
            "A key of one class is read as another, or an item lies under a key that is not its own.",
            "Another class is missing; an item under another key is Corrupt.",
            (
                "engine/test_get.py::test_the_wrong_class_is_the_same_as_absent",
                "rules/test_places.py::test_an_item_under_another_key_is_corrupt",
                "examples/manhunt/tests/test_api.py::test_wrong_types_and_other_domains_are_404_with_one_body",
            ),
        ),
        Entry(
            "S-8",
            "A tenant asks for what is another's.",
            "It is missing, by every verb. A tenant's prefix holds no other tenant.",
            (
                "sync/test_matrix.py::test_the_matrix",
                "examples/manhunt/tests/test_queries.py::test_another_domains_id_and_another_records_are_missing",
                "property/test_key_text.py::test_a_prefix_is_exact",
            ),
            "IAM policies by leading keys belong to whoever deploys.",
        ),
        Entry(
            "S-9",
            "A small input unpacks to a large one.",
            "Unpacking, nesting and the number of values stop at limits.",
            (
                "documents/test_blobs.py::test_a_blob_that_is_not_what_it_was_is_one_clear_error_and_nothing_is_lost",
                "sync/test_strict_json.py::test_a_bomb_of_brackets_is_refused",
                "sync/test_pieces.py::test_the_worst_push_is_read_in_bounded_work_and_memory",
            ),
        ),
        Entry(
            "S-10",
            "A content is replaced by another, or named by a client that has no right to it.",
            "Every read is checked against the name; a client can't name a stored content.",
            (
                "documents/test_blobs.py::test_a_blob_that_is_not_what_it_was_is_one_clear_error_and_nothing_is_lost",
                "sync/test_poison.py::test_poison_holds_nothing_up",
            ),
        ),
        Entry(
            "S-11",
            "Input that a reader of objects would run, or that readers understand differently.",
            "Only JSON is read, strictly; nothing imports pickle or its like.",
            (
                "architecture/test_inputs.py::test_nothing_that_is_read_can_run",
                "sync/test_strict_json.py::test_what_a_lenient_reader_would_bend_is_found",
            ),
        ),
        Entry(
            "S-12",
            "Secrets and values get into logs, errors or texts of objects.",
            "None of them shows a value of an item, a cursor key or a credential.",
            (
                "hygiene/test_hygiene.py::test_an_error_shows_no_value",
                "hygiene/test_hygiene.py::test_every_error_is_provoked",
                "hygiene/test_environment.py::test_the_options_of_a_database_do_not_show_its_cursor_keys",
            ),
        ),
        Entry(
            "S-13",
            "A caller asks for, or pushes, more than there is room for.",
            "Reads have a limit of pages; pushes have limits of bytes, values, rate and what may wait.",
            (
                "engine/test_iterating.py::test_all_refuses_more_than_max_pages",
                "sync/test_attacks.py::test_unfinished_pushes_are_refused_before_they_fill_the_memory",
                "sync/test_flood.py::test_a_reader_stores_nothing_and_costs_no_other_client",
                "sync/test_http.py::test_a_user_over_the_rate_waits",
            ),
        ),
        Entry(
            "S-14",
            "A web page or another user of the machine reaches the local engine or a served page.",
            "The engine has no port for others; served pages check host and origin.",
            (
                "engine/local/test_attacks.py::test_a_page_in_a_browser_finds_no_port",
                "engine/local/test_attacks.py::test_another_user_gets_neither_a_connection_nor_a_hold",
                "examples/projects/tests/board/test_guard.py::test_no_other_site_changes_anything",
                "examples/goals/tests/test_api.py::test_other_hosts_are_refused",
            ),
        ),
        Entry(
            "S-15",
            "A value holds markup or characters that a terminal obeys.",
            "Pages and the command line show it as text.",
            (
                "examples/goals/tests/test_pages.py::test_nothing_that_people_write_is_markup",
                "browser/board/test_attacks.py::test_values_are_text_and_nothing_else",
                "e2e/cli/test_reading.py::test_what_a_terminal_would_obey_is_not_printed",
            ),
        ),
        Entry(
            "S-16",
            "A push or pull names a client or group of somebody else, or is repeated by somebody else.",
            "Groups and clients are bound to who showed them first; who may is asked again when a mutation is applied.",
            (
                "sync/test_matrix.py::test_the_matrix",
                "sync/test_matrix.py::test_a_captured_push_is_refused_from_another_user",
                "sync/test_matrix.py::test_who_may_is_asked_when_a_mutation_is_applied",
            ),
        ),
        Entry(
            "S-17",
            "Somebody sends messages to a queue.",
            "A message is a pointer: the items decide, and a forged one has no effect.",
            (
                "sync/test_queue.py::test_forged_pointers_lead_nowhere",
                "tasks/test_queued.py::test_messages_that_are_early_doubled_late_or_forged_do_nothing",
            ),
        ),
        Entry(
            "S-18",
            "Answers tell what exists.",
            "What is another's and what is not there have one answer.",
            (
                "sync/test_matrix.py::test_a_foreign_project_looks_like_a_missing_one",
                "examples/projects/tests/board/test_access.py::test_a_foreign_board_looks_like_one_that_is_not_there",
            ),
        ),
        Entry(
            "S-19",
            "A dependency is replaced; files are readable by others.",
            "What is installed has its hash, each dependency its reason; an engine's files are its user's alone.",
            (
                "requirements/test_pins.py::test_every_package_is_pinned_with_hashes",
                "requirements/test_pins.py::test_make_installs_nothing_without_its_hash",
                "engine/local/test_rights.py::test_all_files_of_a_database_are_made_for_its_user_alone",
                "docs/test_reference.py::test_each_dependency_has_its_reason",
            ),
        ),
    ),
)
