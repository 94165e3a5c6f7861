"""The foundation: what a layer above records may use, in one place. Layers import this module and the public facades.

Grouped by what a layer does with it:

* declare entities and keys of its own (`Entity`, `Special`, `Template`, `KeyPart`, `Slot`, `capture_sort`,
  `system_key`, `system_index`)
* look a class up (`Model`, `model_of`, `model_for`, `models_of`) and make a table ready (`ready`, `maintain_stream`)
* bind a class to a database (`AwaitingDatabase`, `BlockingDatabase`)
* read (`get`, `get_many`, `prepare_query`, `page`, `read_page`, `read_pages`, `read_all`; `partition_query`)
* delete items of its own that it has read (`delete_rows`), bring any item into its current form (`upgrade`,
  `refresh_keys`), to the key that its class has now (`move_of`), and to the classes that it becomes (`conversion_of`)
* take part in the check of a table (`ItemCheck`, `Pass`, `LayerChecks`, `Finding`, `Repair`; `items_at`, `scan_pages`)
* take part in an erasure (`LayerBelongings`, `Subject`, `Belonging`; `references_of`)
* write under a condition: a request (`put_if`, `update_if`, `delete_if`, `check_if`; `TryWrite`), and the same as a
  part of a transaction (`GuardedWrite`; `Write`, `WritePart` and `Moment` for what has rules of its own; `commit`,
  `send_alone`)

Everything here may change with the layers that use it; applications use `singletable` itself.
"""

from typing import Protocol

from singletable.flow import Awaiting, Blocking
from singletable.records import flows as flows
from singletable.records.batches import (
    delete_rows as delete_rows,
    get_at as get_at,
    get_many as get_many,
    put_items as put_items,
    read_batches as read_batches,
    write_batches as write_batches,
)
from singletable.records.belongings import (
    Belonging as Belonging,
    HasBelongings as HasBelongings,
    Kept as Kept,
    LayerBelongings as LayerBelongings,
    Remaining as Remaining,
    Subject as Subject,
    Together as Together,
    belongings_of as belongings_of,
    subject_of as subject_of,
)
from singletable.records.check import items_of as items_of
from singletable.records.check_passes import (
    ItemCheck as ItemCheck,
    ItemPass as ItemPass,
    LayerChecks as LayerChecks,
    Pass as Pass,
    Repair as Repair,
    WholePass as WholePass,
    commit_repair as commit_repair,
    entity_at as entity_at,
    items_at as items_at,
    partition_items as partition_items,
    row_query as row_query,
    type_in as type_in,
)
from singletable.records.commit import (
    PASSING_REASONS as PASSING_REASONS,
    commit as commit,
    not_applied as not_applied,
)
from singletable.records.conditions import (
    carries as carries,
    is_absent as is_absent,
    is_schema as is_schema,
    is_type as is_type,
    plain_guard as plain_guard,
)
from singletable.records.conversions import conversion_of as conversion_of
from singletable.records.copies import CopyWriter as CopyWriter, key_from as key_from
from singletable.records.cursors import CursorSeal as CursorSeal
from singletable.records.entity_writes import CreateWrite as CreateWrite
from singletable.records.findings import Finding as Finding, Repaired as Repaired, finding_in as finding_in
from singletable.records.first_use import maintain_stream as maintain_stream, ready as ready
from singletable.records.guarded_write import (
    GuardedWrite as GuardedWrite,
    TryWrite as TryWrite,
    check_if as check_if,
    delete_if as delete_if,
    put_if as put_if,
    update_if as update_if,
)
from singletable.records.index_keys import applied as applied
from singletable.records.item_writes import DeleteWrite as DeleteWrite, UpdateWrite as UpdateWrite
from singletable.records.moves import (
    Move as Move,
    MoveOutcome as MoveOutcome,
    TryMove as TryMove,
    move_of as move_of,
    settled as settled,
)
from singletable.records.page import Page as Page, Position as Position
from singletable.records.placement import placement_of as placement_of
from singletable.records.query_request import (
    PreparedQuery as PreparedQuery,
    partition_query as partition_query,
    prepare_query as prepare_query,
    shard_limit as shard_limit,
)
from singletable.records.read import (
    DEFAULT_LIMIT as DEFAULT_LIMIT,
    DEFAULT_MAX_PAGES as DEFAULT_MAX_PAGES,
    get as get,
    get_operation as get_operation,
    open_query as open_query,
    page as page,
    read_all as read_all,
    read_page as read_page,
    read_pages as read_pages,
    too_many_pages as too_many_pages,
)
from singletable.records.readers import place_in as place_in, placed_reader_of as placed_reader_of
from singletable.records.resumable_run import ResumableRun as ResumableRun, RunStore as RunStore
from singletable.records.segments import (
    MOST_SEGMENTS as MOST_SEGMENTS,
    PageRead as PageRead,
    ScanSegment as ScanSegment,
    advanced as advanced,
    all_segments as all_segments,
    check_sample as check_sample,
    check_segments as check_segments,
    page_scan as page_scan,
    sample_segments as sample_segments,
    scan_pages as scan_pages,
    texts_of as texts_of,
    usual_segments as usual_segments,
)
from singletable.records.send import send_alone as send_alone
from singletable.records.table_items import TableItems as TableItems, port_over as port_over
from singletable.records.transactions import (
    HasWrites as HasWrites,
    Transaction as Transaction,
    WriteBlock as WriteBlock,
)
from singletable.records.unique_guards import (
    AttachedChange as AttachedChange,
    GuardChange as GuardChange,
    claims_of as claims_of,
    guard_actions as guard_actions,
)
from singletable.records.unreadable import (
    OnUnreadable as OnUnreadable,
    Unreadable as Unreadable,
    load_or_tell as load_or_tell,
    readable as readable,
)
from singletable.records.upgrade import (
    as_read as as_read,
    is_same as is_same,
    is_same_item as is_same_item,
    refresh_keys as refresh_keys,
    upgrade as upgrade,
    upgrade_if_needed as upgrade_if_needed,
    value_as_read as value_as_read,
)
from singletable.records.write import (
    UNREAD as UNREAD,
    Moment as Moment,
    Write as Write,
    WritePart as WritePart,
    moment_at as moment_at,
)
from singletable.records.write_rounds import (
    BulkWrite as BulkWrite,
    BulkWrites as BulkWrites,
    Source as Source,
    write_in_rounds as write_in_rounds,
)
from singletable.schema.attached_items import (
    attached_keys as attached_keys,
    attached_prefixes as attached_prefixes,
    models_of as models_of,
    owner_type as owner_type,
)
from singletable.schema.bound_patterns import Bound as Bound, BoundKey as BoundKey, Declared as Declared
from singletable.schema.capture import ANY as ANY, capture_sort as capture_sort, type_in_key as type_in_key
from singletable.schema.catalogue import (
    AccessPattern as AccessPattern,
    captured_of as captured_of,
    catalogue as catalogue,
    collections_of as collections_of,
    entity_name as entity_name,
    slots_of as slots_of,
)
from singletable.schema.copies import copies_in as copies_in
from singletable.schema.declaration import (
    WRITE_VERBS as WRITE_VERBS,
    Special as Special,
    names_around as names_around,
)
from singletable.schema.derived_keys import is_attribute as is_attribute
from singletable.schema.docstrings import (
    attribute_docs as attribute_docs,
    class_doc as class_doc,
    class_summary as class_summary,
)
from singletable.schema.entities import Entity as Entity, field as field
from singletable.schema.guard_items import (
    guard_key as guard_key,
    guard_keys as guard_keys,
    guard_prefix as guard_prefix,
    guarded_type as guarded_type,
)
from singletable.schema.key_bounds import Range as Range
from singletable.schema.key_relations import named_in_keys as named_in_keys
from singletable.schema.key_text import (
    MAX_PARTITION_BYTES as MAX_PARTITION_BYTES,
    MAX_SORT_BYTES as MAX_SORT_BYTES,
    KeyPart as KeyPart,
    Slot as Slot,
    Template as Template,
)
from singletable.schema.models import Model as Model, model_for as model_for, model_of as model_of
from singletable.schema.patterns import (
    Captured as Captured,
    Key as Key,
    KeyOf as KeyOf,
    Query as Query,
)
from singletable.schema.personal import (
    COVERED as COVERED,
    covered_body as covered_body,
    covered_place as covered_place,
    personal_names as personal_names,
)
from singletable.schema.ranges import after as after
from singletable.schema.references import (
    ERASED as ERASED,
    Reference as Reference,
    cleared as cleared,
    complete_patterns as complete_patterns,
    empty as empty,
    mentions as mentions,
    references_in as references_in,
    references_of as references_of,
    target_of as target_of,
    without_mention as without_mention,
)
from singletable.schema.searches import SearchPattern as SearchPattern
from singletable.schema.system_items import KeyParts as KeyParts, system_index as system_index, system_key as system_key
from singletable.schema.table import (
    ATTACHED_TYPES as ATTACHED_TYPES,
    GUARD_TYPE as GUARD_TYPE,
    TOOLS_PARTITION as TOOLS_PARTITION,
    WORD_TYPE as WORD_TYPE,
    IndexDecorator as IndexDecorator,
    Table as Table,
    plain as plain,
    shared_key as shared_key,
)
from singletable.schema.told_keys import untold_of as untold_of
from singletable.schema.tool_items import (
    ToolItem as ToolItem,
    ToolKey as ToolKey,
    tool_class as tool_class,
    tool_classes as tool_classes,
)
from singletable.schema.type_texts import type_text as type_text
from singletable.schema.word_items import word_keys as word_keys, word_prefix as word_prefix
from singletable.values import TOP as TOP, Verbatim as Verbatim


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
