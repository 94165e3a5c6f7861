"""Members of public classes that the library's own packages call: they change without notice, and the reference leaves
them out."""

from __future__ import annotations

import griffe

_OF: dict[str, str] = {
    "Database": "at",
    "AsyncDatabase": "at",
    "Query": "model also is_one_key",
    "Update": "is_of_members",
    "Table": (
        "models leaving sources targets model_of_type model_here admit let_go"
        " checks belongings derived around sweep_layer"
    ),
    "GraphTable": "around belongings checks derived sweep_layer",
    "CursorSeal": "check_cipher secret with_names",
    "TableNames": "arns declared of_all options tell text with_name",
    "Link": "writes",
    "Unlink": "writes",
    "Linked": "tests",
    "Context": "model contents_of is_direct",
    "Documents": "belongings checks",
    "AsyncDocuments": "belongings checks",
    "Changes": "belongings checks consumer",
    "DeadLetter": "packed",
    "Tasks": "belongings checks",
    "TaskFunction": "is_async bind unknown_in stored_value",
    "Sync": "admit checks run_blocking user_of",
    "Queue": "body_of text_of",
    "Dataset": "batch batch_of_rows decode decode_whole digest item items row",
    "ObjectStore": "write_if",
    "Rate": "advance renew settle slow_down width",
    "SharedRate": "renew",
    "Deployment": "accesses_of all_buckets all_queues all_roles",
    "Role": "accesses needs",
    "Grant": "accesses",
    "RetryPolicy": "deadline_of wait",
    "Traits": "check copy_data counts_parts creates_tables maintain_streams scan_page_limit segments_shift",
    "Provisioned": "throughput",
    "TableSettings": "check creation",
    "Difference": "is_of_a_key is_of_expiry",
    "Whole": "shown",
    "Engine": "address",
    "SingletableError": "hash_by of_call",
    "UnixEndpoint": "at receive_connection request_connection",
}
INNER = frozenset(f"{owner}.{name}" for owner, names in _OF.items() for name in names.split())


def is_inner(member: griffe.Object) -> bool:
    """Whether a member is the library's own; one that a class inherits is its base's."""
    return member.parent is not None and f"{member.parent.name}.{member.name}" in INNER
