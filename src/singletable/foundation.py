"""The foundation: what a layer above records may use, in one place. Layers import this module and the public facades.

Grouped by what a layer does with it:

* declare entities and keys of its own (`Entity`, `Special`, `Template`, `KeyPart`, `Slot`, `capture_sort`,
  `system_key`, `system_index`)
* look a class up (`Model`, `model_of`, `model_for`, `models_of`) and make a table ready (`ready`, `maintain_stream`)
* bind a class to a database (`AwaitingDatabase`, `BlockingDatabase`)
* read (`get`, `get_many`, `prepare_query`, `page`, `read_page`, `read_all`)
* delete items of its own that it has read (`delete_rows`), bring any item into its current form (`upgrade`,
  `refresh_keys`), and to the key that its class has now (`move_of`)
* take part in the check of a table (`ItemCheck`, `Pass`, `LayerChecks`, `Finding`, `Repair`; `items_at`, `scan_pages`)
* take part in an erasure (`LayerBelongings`, `Subject`, `Belonging`; `references_of`)
* write under a condition: a request (`put_if`, `update_if`, `delete_if`, `check_if`; `TryWrite`), and the same as a
  part of a transaction (`GuardedWrite`; `Write`, `Part` and `Moment` for what has rules of its own; `commit`,
  `send_alone`)

Everything here may change with the layers that use it; applications use `singletable` itself.
"""

from typing import Protocol

from singletable.flow import Awaiting, Blocking
from singletable.records import flows
from singletable.records.batches import delete_rows, get_at, get_many, put_items
from singletable.records.belongings import (
    Belonging,
    HasBelongings,
    Kept,
    LayerBelongings,
    Subject,
    Together,
    belongings_of,
    subject_of,
)
from singletable.records.check import items_of
from singletable.records.check_passes import (
    ItemCheck,
    ItemPass,
    LayerChecks,
    Pass,
    Repair,
    WholePass,
    commit_repair,
    entity_at,
    items_at,
    partition_items,
    row_query,
    type_in,
)
from singletable.records.commit import commit
from singletable.records.conditions import carries, is_absent, is_schema, is_type, plain_guard
from singletable.records.copies import CopyWriter, key_from
from singletable.records.cursors import CursorSeal
from singletable.records.entity_writes import CreateWrite
from singletable.records.findings import Finding, Repaired, finding_in
from singletable.records.first_use import maintain_stream, ready
from singletable.records.guarded_write import GuardedWrite, TryWrite, check_if, delete_if, put_if, update_if
from singletable.records.index_keys import applied
from singletable.records.item_writes import DeleteWrite, UpdateWrite
from singletable.records.moves import Move, Outcome, TryMove, move_of
from singletable.records.page import Page, Position
from singletable.records.query_request import PreparedQuery, prepare_query
from singletable.records.read import (
    DEFAULT_LIMIT,
    get,
    get_operation,
    open_query,
    page,
    read_all,
    read_page,
)
from singletable.records.readers import place_in, placed_reader_of
from singletable.records.resumable_run import ResumableRun, RunStore
from singletable.records.segments import (
    MOST_SEGMENTS,
    PageRead,
    ScanSegment,
    advanced,
    all_segments,
    check_sample,
    check_segments,
    page_scan,
    sample_segments,
    scan_pages,
    usual_segments,
)
from singletable.records.send import send_alone
from singletable.records.transactions import HasWrites, Transaction
from singletable.records.unique_guards import Claim, guard_actions
from singletable.records.unreadable import OnUnreadable, Unreadable, load_or_tell, readable
from singletable.records.upgrade import as_read, is_same_item, refresh_keys, upgrade, upgrade_if_needed, value_as_read
from singletable.records.write import UNREAD, Moment, Part, Write
from singletable.schema.capture import ANY, capture_sort, type_in_key
from singletable.schema.catalogue import AccessPattern, captured_of, catalogue, collections_of, entity_name
from singletable.schema.copies import copies_in
from singletable.schema.declaration import Special, names_around
from singletable.schema.docstrings import attribute_docs, class_doc, class_summary
from singletable.schema.entities import Entity, field
from singletable.schema.guard_items import guard_key, guard_prefix, guarded_type, models_of
from singletable.schema.key_relations import named_in_keys
from singletable.schema.key_text import MAX_PARTITION_BYTES, MAX_SORT_BYTES, Range, Slot, Template
from singletable.schema.key_text import Part as KeyPart
from singletable.schema.models import Model, model_for, model_of
from singletable.schema.patterns import Bound, BoundKey, Captured, Declared, Key, KeyOf, Query
from singletable.schema.personal import COVERED, covered_body, covered_place, personal_names
from singletable.schema.ranges import after
from singletable.schema.references import (
    Reference,
    cleared,
    complete_patterns,
    empty,
    references_of,
    target_of,
)
from singletable.schema.system_items import KeyParts, system_index, system_key
from singletable.schema.table import GUARD_TYPE, TOOLS_PARTITION, IndexDecorator, Table, plain
from singletable.schema.tool_items import ToolItem, tool_class, tool_classes, tool_key, tool_model
from singletable.schema.type_texts import type_text
from singletable.values import TOP, Verbatim

__all__ = [
    "ANY",
    "COVERED",
    "DEFAULT_LIMIT",
    "GUARD_TYPE",
    "MAX_PARTITION_BYTES",
    "MAX_SORT_BYTES",
    "MOST_SEGMENTS",
    "TOOLS_PARTITION",
    "TOP",
    "UNREAD",
    "AccessPattern",
    "AwaitingDatabase",
    "Belonging",
    "BlockingDatabase",
    "Bound",
    "BoundKey",
    "Captured",
    "Claim",
    "CopyWriter",
    "CreateWrite",
    "CursorSeal",
    "Declared",
    "DeleteWrite",
    "Entity",
    "Finding",
    "GuardedWrite",
    "HasBelongings",
    "HasWrites",
    "IndexDecorator",
    "ItemCheck",
    "ItemPass",
    "Kept",
    "Key",
    "KeyOf",
    "KeyPart",
    "KeyParts",
    "LayerBelongings",
    "LayerChecks",
    "Model",
    "Moment",
    "Move",
    "OnUnreadable",
    "Outcome",
    "Page",
    "PageRead",
    "Part",
    "Pass",
    "Position",
    "PreparedQuery",
    "Query",
    "Range",
    "Reference",
    "Repair",
    "Repaired",
    "ResumableRun",
    "RunStore",
    "ScanSegment",
    "Slot",
    "Special",
    "Subject",
    "Table",
    "Template",
    "Together",
    "ToolItem",
    "Transaction",
    "TryMove",
    "TryWrite",
    "Unreadable",
    "UpdateWrite",
    "Verbatim",
    "WholePass",
    "Write",
    "advanced",
    "after",
    "all_segments",
    "applied",
    "as_read",
    "attribute_docs",
    "belongings_of",
    "capture_sort",
    "captured_of",
    "carries",
    "catalogue",
    "check_if",
    "check_sample",
    "check_segments",
    "class_doc",
    "class_summary",
    "cleared",
    "collections_of",
    "commit",
    "commit_repair",
    "complete_patterns",
    "copies_in",
    "covered_body",
    "covered_place",
    "delete_if",
    "delete_rows",
    "empty",
    "entity_at",
    "entity_name",
    "field",
    "finding_in",
    "flows",
    "get",
    "get_at",
    "get_many",
    "get_operation",
    "guard_actions",
    "guard_key",
    "guard_prefix",
    "guarded_type",
    "is_absent",
    "is_same_item",
    "is_schema",
    "is_type",
    "items_at",
    "items_of",
    "key_from",
    "load_or_tell",
    "maintain_stream",
    "model_for",
    "model_of",
    "models_of",
    "move_of",
    "named_in_keys",
    "names_around",
    "open_query",
    "page",
    "page_scan",
    "partition_items",
    "personal_names",
    "place_in",
    "placed_reader_of",
    "plain",
    "plain_guard",
    "prepare_query",
    "put_if",
    "put_items",
    "read_all",
    "read_page",
    "readable",
    "ready",
    "references_of",
    "refresh_keys",
    "row_query",
    "sample_segments",
    "scan_pages",
    "send_alone",
    "subject_of",
    "system_index",
    "system_key",
    "target_of",
    "tool_class",
    "tool_classes",
    "tool_key",
    "tool_model",
    "type_in",
    "type_in_key",
    "type_text",
    "update_if",
    "upgrade",
    "upgrade_if_needed",
    "usual_segments",
    "value_as_read",
]


class _Found(Protocol):
    """Where a database was found, with the keys of its cursors."""

    @property
    def seal(self) -> CursorSeal: ...

    @property
    def place(self) -> str: ...


class AwaitingDatabase(Awaiting, Protocol):
    """The part of an `AsyncDatabase` that a layer uses."""

    @property
    def target(self) -> _Found: ...


class BlockingDatabase(Blocking, Protocol):
    """The part of a `Database` that a layer uses."""

    @property
    def target(self) -> _Found: ...
