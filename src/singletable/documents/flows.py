"""The flows of documents by their verbs. The two shells run them, and sync uses them."""

from singletable.documents.branches import branch
from singletable.documents.check import check
from singletable.documents.commit import apply, next_version, process
from singletable.documents.creation import create
from singletable.documents.deletion import delete
from singletable.documents.diff import diff, diff_hashes, diff_of
from singletable.documents.families import relatives
from singletable.documents.garbage import collect_garbage
from singletable.documents.head_state import read_head_state
from singletable.documents.item_history import item_history
from singletable.documents.merge import merge
from singletable.documents.read import (
    at,
    client_rows,
    hashes_of,
    hashes_of_all,
    head,
    history,
    items_of,
    last_ids,
    load,
    mutations_after,
    newest,
    newest_of,
    newest_operation,
    outcomes,
    page_of_documents,
    parent_of,
    record_rows,
    version_row,
    versions_since,
)
from singletable.documents.replay import replay, restore
from singletable.documents.submission import refs_in, store, submit, submit_in_order, submit_next
from singletable.documents.tags import tag, tags, untag

__all__ = [
    "apply",
    "at",
    "branch",
    "check",
    "client_rows",
    "collect_garbage",
    "create",
    "delete",
    "diff",
    "diff_hashes",
    "diff_of",
    "hashes_of",
    "hashes_of_all",
    "head",
    "history",
    "item_history",
    "items_of",
    "last_ids",
    "load",
    "merge",
    "mutations_after",
    "newest",
    "newest_of",
    "newest_operation",
    "next_version",
    "outcomes",
    "page_of_documents",
    "parent_of",
    "process",
    "read_head_state",
    "record_rows",
    "refs_in",
    "relatives",
    "replay",
    "restore",
    "store",
    "submit",
    "submit_in_order",
    "submit_next",
    "tag",
    "tags",
    "untag",
    "version_row",
    "versions_since",
]
