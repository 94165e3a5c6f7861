"""The verbs of the layers: what tasks, changes, graphs, documents and their synchronisation need of their own items.

schedules(tasks)            tx.add(tasks.after(...)), tasks.cancel(...)
runs(tasks)                 TaskWorker(db, tasks)
handles(changes)            ChangeWorker(db, changes), without what its handlers do
links(GoalMembership)       Graph(db).link, relink, unlink
edits(Project)              Documents(db, Project), all but deletion and garbage collection
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from singletable.documents import Document
from singletable.documents.inspect import RowClasses, document_model
from singletable.foundation import Entity, Table, Template, entity_name, model_of
from singletable.graph import Edge, Node
from singletable.graph.inspect import edge_types, inverse_of
from singletable.holds import HoldItem
from singletable.streams import Changes
from singletable.sync.inspect import group_keys
from singletable.tasks import Tasks
from singletable_deploy.access import Grant, Resource, ResourceAccess, Where, at, table_resource
from singletable_deploy.key_patterns import ANY_KEY, literal
from singletable_deploy.record_grants import ITEM_READS, creates
from singletable_deploy.resources import BlobBucket, MessageQueue

_READS = ("GetItem", "BatchGetItem", "Query")
_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
QUEUE_READS = ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes")
_STREAM = ("DescribeStream", "GetShardIterator", "GetRecords")


# --- tasks ------------------------------------------------------------------------------------------------------------
def schedules(tasks: Tasks) -> Grant:
    """Schedule and cancel tasks, in the transactions of what they follow from."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        made = tasks.entities
        for kind in (made.task, made.ordered):
            yield _own(kind, ("PutItem", "DeleteItem", "GetItem"), where)

    return Grant(f"schedules({tasks.table.name})", (tasks.table,), accesses)


def runs(tasks: Tasks) -> Grant:
    """Find, claim and end tasks, as a worker or behind a queue; not what the tasks themselves do."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        entities = tasks.entities
        for kind in (entities.task, entities.ordered, entities.lane):
            yield _own(kind, (*_READS, *_WRITES), where)
        yield task_index(tasks)
        yield hold_reads(tasks.table)

    return Grant(f"runs({tasks.table.name})", (tasks.table,), accesses)


def task_index(tasks: Tasks) -> ResourceAccess:
    """The access that finds tasks by their index."""
    model = model_of(tasks.entities.task)
    return at(model, model.indexes[tasks.entities.index], ("Query",), {})


def task_metrics(tasks: Tasks) -> Iterator[ResourceAccess]:
    """The accesses that count what is overdue and dead: the index, and the items of recurring tasks."""
    yield task_index(tasks)
    yield _own(tasks.entities.task, ("GetItem", "BatchGetItem"), {})


# --- streams ----------------------------------------------------------------------------------------------------------
def handles(changes: Changes) -> Grant:
    """Read a table's changes by a worker of the library's, which keeps leases, tries and dead letters; not what its
    handlers do. A `Function` behind the stream has what it needs without."""
    table = changes.table

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        yield stream_reads(table)
        yield hold_reads(table)
        yield ResourceAccess(table_resource(table), frozenset({"DescribeTable"}))
        state = changes.consumer.state
        for kind in (state.consumer, state.lease, state.attempt, state.dead_letter):
            actions = frozenset({*_READS, *_WRITES, "BatchWriteItem"})
            yield ResourceAccess(table_resource(state.table), actions, (_of_consumer(kind, changes),))

    return Grant(f"handles({changes.name})", (table, changes.leases), accesses)


def change_metrics(changes: Changes) -> Iterator[ResourceAccess]:
    """The accesses that find a consumer's dead letters and measure its lag: its state, and the stream."""
    state = changes.consumer.state
    yield stream_reads(changes.table)
    yield ResourceAccess(table_resource(changes.table), frozenset({"DescribeTable"}))
    for kind, action in ((state.consumer, "GetItem"), (state.lease, "Query"), (state.dead_letter, "Query")):
        yield ResourceAccess(table_resource(state.table), frozenset({action}), (_of_consumer(kind, changes),))


def _of_consumer(kind: type[Any], changes: Changes) -> str:
    """The partitions in which a consumer keeps items of a class."""
    partition = model_of(kind).key.templates[0]
    return held_at(partition, {partition.names[0]: changes.name})


def stream_reads(table: Table) -> ResourceAccess:
    """The access that reads a table's stream."""
    return ResourceAccess(Resource("stream", table.name), frozenset(_STREAM))


def hold_reads(table: Table) -> ResourceAccess:
    """The access that reads whether a table is held, which every worker and every function behind a stream asks. Of a
    foreign table its `own_items` say so."""
    model = model_of(HoldItem.of(table))
    partition = model.key.templates[0]
    return ResourceAccess(table_resource(model.table), frozenset({"GetItem"}), (held_at(partition, {}),))


# --- graphs -----------------------------------------------------------------------------------------------------------
def links(*edges: type[Edge[Any, Any]]) -> Grant:
    """Link, relink and unlink: an edge, the edge set and counter of its source, and the check of its target."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for edge in edges:
            yield _own(edge, ("GetItem", *_WRITES), where)
            for node in (*edge.__sources__, *edge.__targets__):
                yield _own(node, ("GetItem", "UpdateItem", "ConditionCheckItem"), where)

    return Grant(f"links({_names(edges)})", _tables(edges), accesses)


def walks(*edges: type[Edge[Any, Any]]) -> Grant:
    """Read a graph through edges of these types: pages, neighbours, walks and counts; the edges in both directions and
    in every index, and the nodes at their ends."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for edge in edges:
            model = model_of(edge)
            yield _own(edge, _READS, where)
            for captured in model.indexes.values():
                yield at(model, captured, ("Query",), where)
            for node in (*edge.__sources__, *edge.__targets__):
                yield _own(node, ITEM_READS, where)

    return Grant(f"walks({_names(edges)})", _tables(edges), accesses)


def deletes_nodes(*nodes: type[Node]) -> Grant:
    """`delete_node`: a node, its unique values, its edges in both directions, and their members in other nodes."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for node in nodes:
            table = model_of(node).table
            yield _own(node, (*_READS, *_WRITES), where)
            for edge in edge_types(table):
                if node in edge.__targets__:
                    inverse = inverse_of(edge)
                    yield at(model_of(edge), inverse, ("Query",), where)
                if node in (*edge.__sources__, *edge.__targets__):
                    yield from links(edge).accesses(where)

    return Grant(f"deletes_nodes({_names(nodes)})", _tables(nodes), accesses)


def loads(*kinds: type[Node] | type[Edge[Any, Any]]) -> Grant:
    """`Graph(db).load`: nodes and edges in batches."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for kind in kinds:
            yield _own(kind, ("BatchGetItem", "BatchWriteItem", "PutItem", "GetItem"), where)

    return Grant(f"loads({_names(kinds)})", _tables(kinds), accesses)


# --- documents --------------------------------------------------------------------------------------------------------
def opens(kind: type[Document], *, blobs: BlobBucket | None = None) -> Grant:
    """Read documents: heads, earlier versions, histories, lists. `blobs` is the bucket of their contents, if one is."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        yield from _documents(kind, _READS, where)
        yield from _blobs(blobs, ("GetObject",))

    return Grant(f"opens({kind.__name__})", (document_model(kind).table,), accesses)


def edits(kind: type[Document], *, blobs: BlobBucket | None = None) -> Grant:
    """Create documents and commit mutations; branch, merge, restore and tag. Nothing of a version is deleted."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        yield from _documents(kind, (*_READS, *_WRITES, "BatchWriteItem"), where)
        # A deletion looks whether its table is the one that deletes in the blob store.
        yield ResourceAccess(table_resource(document_model(kind).table), frozenset({"DescribeTable"}))
        yield from _blobs(blobs, ("GetObject", "PutObject"))

    return Grant(f"edits({kind.__name__})", (document_model(kind).table,), accesses)


def collects_garbage(kind: type[Document], *, blobs: BlobBucket | None = None) -> Grant:
    """Delete documents, old versions, and the contents that nothing reaches."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        yield from edits(kind, blobs=blobs).accesses(where)
        yield from _blobs(blobs, ("DeleteObject",))
        if blobs is not None:
            yield ResourceAccess(Resource("bucket", blobs.name), frozenset({"ListBucket"}))

    return Grant(f"collects_garbage({kind.__name__})", (document_model(kind).table,), accesses)


def syncs(kind: type[Document]) -> Grant:
    """The rights on `Sync`'s items of clients and their groups; the documents themselves are `edits(...)`."""
    table = document_model(kind).table

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        keys = group_keys(table)
        yield from creates(keys.group, keys.client).accesses(where)
        for each in (keys.group, keys.client):
            yield _own(each, _READS, where)

    return Grant(f"syncs({kind.__name__})", (table,), accesses)


# --- queues -----------------------------------------------------------------------------------------------------------
def sends(queue: MessageQueue) -> Grant:
    """Send messages to a queue."""
    return _queue("sends", queue, "SendMessage")


def receives(queue: MessageQueue) -> Grant:
    """Receive and delete the messages of a queue, as a worker or a function behind it."""
    return _queue("receives", queue, *QUEUE_READS)


# --- parts ------------------------------------------------------------------------------------------------------------
def held_at(partition: Template, values: Mapping[str, Any]) -> str:
    """The pattern of the partition keys that hold some values."""
    return literal(partition.prefix(values)) + ("" if set(partition.names) <= values.keys() else ANY_KEY)


def _own(kind: type[Any], actions: tuple[str, ...], where: Where) -> ResourceAccess:
    model = model_of(kind)
    return at(model, model.key, actions, where)


def _documents(kind: type[Document], actions: tuple[str, ...], where: Where) -> Iterator[ResourceAccess]:
    model = document_model(kind)
    for row in _rows(model.rows):
        yield _own(row, actions, where)
    listing = model_of(model.rows.listing)
    for captured in listing.indexes.values():
        yield at(listing, captured, ("Query",), where)


def _rows(rows: RowClasses) -> Iterator[type[Entity]]:
    yield from (rows.listing, rows.version, *rows.collections.values(), rows.mutation, rows.client, rows.inbox)
    yield from (rows.epoch, rows.condemned, rows.tag, rows.branch)


def _blobs(bucket: BlobBucket | None, actions: tuple[str, ...]) -> Iterator[ResourceAccess]:
    if bucket is not None:
        yield ResourceAccess(Resource("objects", bucket.name), frozenset(actions))


def _queue(verb: str, queue: MessageQueue, *actions: str) -> Grant:
    access = ResourceAccess(Resource("queue", queue.name), frozenset(actions))
    return Grant(f"{verb}({queue.name})", (), lambda where: [access])


def _names(kinds: tuple[type[Any], ...]) -> str:
    return ", ".join(entity_name(kind) for kind in kinds)


def _tables(kinds: tuple[type[Any], ...]) -> tuple[Table, ...]:
    return tuple(dict.fromkeys(model_of(kind).table for kind in kinds))
