"""Flows that read documents: versions, collections, contents, history. They change nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

from singletable.documents.contents import Content
from singletable.documents.context import Context
from singletable.documents.document import Document, Items
from singletable.documents.mutations import Outcome
from singletable.documents.rows import ClientRecord, CollectionVersion, GcEpoch, Listing, MutationRecord, Tag, Version
from singletable.documents.snapshots import StoredItems, snapshot_of
from singletable.errors import Corrupt, InvalidRequest, InvalidValue, NotFound
from singletable.flow import Port, pages_side_by_side
from singletable.foundation import (
    ANY,
    KeyOf,
    OnUnreadable,
    Page,
    PreparedQuery,
    Query,
    Unreadable,
    get as get_row,
    get_many,
    get_operation,
    page,
    prepare_query,
    readable,
    ready,
)

T = TypeVar("T")
D = TypeVar("D", bound=Document)

PROBES = 15
"""The number of versions read concurrently in the search for a time."""


# --- snapshots --------------------------------------------------------------------------------------------------------
async def head(port: Port, context: Context[D], document_id: str, collections: Sequence[str] | None = None) -> D:
    """The newest version. Two round trips: its item, and the hashes of its collections; one without collections.

    Raises NotFound if the document is missing.
    """
    return await _snapshot(port, context, await newest(port, context, document_id), collections)


async def at(
    port: Port,
    context: Context[D],
    document_id: str,
    version: int | None = None,
    time: datetime | None = None,
    tag: str | None = None,
    collections: Sequence[str] | None = None,
) -> D:
    """A version by its number, by its tag, or the one that was the newest at a time. NotFound.

    A time takes a round trip for each four bits of the number of versions, plus those of `head`.
    """
    if [version, time, tag].count(None) != 2:
        raise InvalidRequest("at() takes a version, a time or a tag", operation="at")
    if time is not None and time.tzinfo is None:
        raise InvalidValue("a time without its zone is none", attribute="time", operation="at")
    row = await _at_time(port, context, document_id, time) if time is not None else None
    if tag is not None:
        version = await tagged(port, context, document_id, tag)
    if version is not None:
        row = await version_row(port, context, document_id, version)
    assert row is not None
    return await _snapshot(port, context, row, collections)


async def _snapshot(port: Port, context: Context[D], version: Version, collections: Sequence[str] | None) -> D:
    names = context.model.collections if collections is None else collections
    return snapshot_of(context, version, await hashes_of(port, context, version, tuple(names)))


async def newest(port: Port, context: Context[Any], document_id: str) -> Version:
    """The newest version's item, read consistently. One request. Raises NotFound."""
    await ready(port, context.model.table)
    found = await port.send(newest_operation(port, context, document_id).operation(None, 1))
    return newest_of(context, document_id, found.items)


def newest_of(context: Context[Any], document_id: str, rows: Sequence[Version]) -> Version:
    """The newest version, as `newest_operation` found it. NotFound if the document is missing or deleted."""
    if not rows or rows[0].deleted:
        raise not_found(context, document_id)
    return rows[0]


def newest_operation(port: Port, context: Context[Any], document_id: str) -> PreparedQuery:
    versions: Query[Version] = context.model.rows.version.by_number(document_id, ANY)
    return prepare_query(versions.newest_first().consistent(), port.now())


async def version_row(port: Port, context: Context[Any], document_id: str, number: int) -> Version:
    """One version's item. One request. Raises NotFound."""
    (found,) = await version_rows(port, context, document_id, (number,))
    return found


async def version_or_newest(port: Port, context: Context[Any], document_id: str, number: int | None) -> Version:
    """One version's item, the newest one's without a number. One request. Raises NotFound."""
    return await (
        newest(port, context, document_id) if number is None else version_row(port, context, document_id, number)
    )


def not_found(context: Context[Any], document_id: str, what: str = "document") -> NotFound:
    key = context.model.rows.version.by_number(document_id, 0)
    if what != "document":
        return NotFound(f"this document has no {what}", key=key, operation="read", hint="history() lists its versions.")
    hint = "create(parent, document_id) makes one."
    return NotFound("no document has this id", key=key, operation="read", hint=hint)


async def version_rows(port: Port, context: Context[Any], document_id: str, numbers: Sequence[int]) -> list[Version]:
    """Some versions' items, in the order of the numbers. One round trip. NotFound, also for a deleted document."""
    await ready(port, context.model.table)
    if min(numbers, default=0) < 0:
        raise InvalidRequest(f"versions are numbered from 0, not {min(numbers)}", operation="at")
    rows = context.model.rows
    keys = [rows.version.by_number(document_id, number) for number in dict.fromkeys(numbers)]
    epoch_key = rows.epoch.by_document(document_id)
    epoch, *rows_of_versions = await get_many(port, [epoch_key, *keys], consistent=True) or [None]
    if not isinstance(epoch, GcEpoch) or epoch.deleted:
        raise not_found(context, document_id)
    versions: dict[int, Version] = {row.number: row for row in rows_of_versions}
    for number in numbers:
        if number not in versions:
            raise not_found(context, document_id, f"version {number}")
    return [versions[number] for number in numbers]


async def hashes_of(
    port: Port, context: Context[Any], version: Version, names: Sequence[str]
) -> dict[str, dict[str, bytes]]:
    """The hashes of some collections of a version. One round trip for up to 1 MB of each."""
    return (await hashes_of_all(port, context, [(version, names)]))[0]


async def hashes_of_all(
    port: Port, context: Context[Any], versions: Sequence[tuple[Version, Sequence[str]]]
) -> list[dict[str, dict[str, bytes]]]:
    """The same for several versions, concurrently."""
    hashes: list[dict[str, dict[str, bytes]]] = [{name: {} for name in names} for _, names in versions]
    wanted = [
        (i, name, key)
        for i, (version, names) in enumerate(versions)
        for name in names
        if (key := collection_key(version, name)) is not None
    ]
    for (i, name, key), own in zip(wanted, await parts_of(port, context, [key for *_, key in wanted]), strict=True):
        hashes[i][name] = merged(own, name, key.number)
    return hashes


class CollectionKey(NamedTuple):
    """A version of a collection."""

    document_id: str
    name: str
    number: int


def collection_key(version: Version, name: str) -> CollectionKey | None:
    """The key of a version's collection; None if it was never written. A branch begins with another document's."""
    source = (version.sources or {}).get(name)
    if source is not None:
        return CollectionKey(source.document_id, name, source.number)
    return CollectionKey(version.document_id, name, version.collections[name]) if name in version.collections else None


async def parts_of(port: Port, context: Context[Any], wanted: Sequence[CollectionKey]) -> list[list[CollectionVersion]]:
    """The items of some collection versions, each in all its parts."""
    rows = context.model.rows.collections
    queries = [rows[key.name].by_number(key.document_id, key.number, ANY) for key in wanted]
    prepared = [prepare_query(query.consistent(), port.now()) for query in queries]
    parts: list[list[CollectionVersion]] = [[] for _ in prepared]
    async for n, answer in pages_side_by_side(port, {n: each.operation for n, each in enumerate(prepared)}):
        parts[n] += answer.items
    return parts


def are_whole(parts: Sequence[CollectionVersion]) -> bool:
    """Whether these are all parts of a collection version."""
    return bool(parts) and [part.spill for part in parts] == list(range(parts[0].spills))


def contents_in(context: Context[Any], name: str, parts: Sequence[CollectionVersion]) -> set[Content]:
    """The contents that versions of a collection name."""
    folder = context.model.collections[name].folder
    return {Content(folder, digest) for part in parts for digest in part.items.values()}


async def contents_at(port: Port, context: Context[Any], keys: Sequence[CollectionKey]) -> set[Content]:
    """The contents of some collection versions, without those of collections that this program does not know."""
    known = [key for key in keys if key.name in context.model.collections]
    parts = await parts_of(port, context, known)
    return {content for key, own in zip(known, parts, strict=True) for content in contents_in(context, key.name, own)}


def merged(parts: Sequence[CollectionVersion], name: str, number: int) -> dict[str, bytes]:
    """The hashes of a collection version. Raises Corrupt if a part is missing."""
    if not are_whole(parts):
        raise Corrupt(
            f"version {number} of {name} has {len(parts)} of its parts",
            attribute=name,
            hint="Restore the table from a backup: a version's items are written together.",
        )
    if len(parts) == 1:
        return parts[0].items
    return {id: digest for part in parts for id, digest in part.items.items()}


async def items_of(port: Port, context: Context[Any], document_id: str, name: str) -> Items[Any]:
    """The newest version of one collection, without reading the document's. One request for up to 1 MB.

    Correct because a collection's version is written only in the transaction that makes it visible.
    """
    await ready(port, context.model.table)
    model, row = context.model.collections[name], context.model.rows.collections[name]
    query: Query[CollectionVersion] = row.by_number(document_id, ANY)
    first: list[Any] = [
        prepare_query(query.newest_first().consistent(), port.now()).operation(None, 1),
        get_operation(context.model.rows.epoch.by_document(document_id), consistent=True),
    ]
    first_parts, epoch = await port.send_all(first)
    if epoch is None or epoch.deleted:
        raise not_found(context, document_id)
    if not first_parts.items:
        version = await newest(port, context, document_id)
        hashes = await hashes_of(port, context, version, [name])
        return StoredItems(model, context.contents_of(version), hashes[name], context.is_direct)
    last: CollectionVersion = first_parts.items[0]
    key = CollectionKey(document_id, name, last.number)
    parts = [last] if last.spills == 1 else (await parts_of(port, context, [key]))[0]
    contents = context.contents_of(last)
    return StoredItems(model, contents, merged(parts, name, last.number), context.is_direct)


async def load(
    port: Port, items: Items[T], ids: Sequence[str] | None = None, unreadable: OnUnreadable = None
) -> dict[str, T]:
    """Contents of a collection that was read, concurrently: all, or those of some ids. Raises KeyError; without
    `unreadable`, Corrupt."""
    if not isinstance(items, StoredItems):
        raise InvalidRequest("load() takes a collection of a version that was read", operation="load")
    wanted = list(items) if ids is None else list(ids)
    for id in wanted:
        items.hash_of(id)
    calls: list[Callable[[], Any]] = [partial(_read, items, id, unreadable is not None) for id in wanted]
    values = await port.call_all(calls) if calls else []
    readable(values, unreadable, "load")
    return {id: value for id, value in zip(wanted, values, strict=True) if not isinstance(value, Unreadable)}


def _read(items: StoredItems[T], id: str, tells: bool) -> T | Unreadable:
    try:
        return items.read(id)
    except Corrupt as error:
        if not tells:
            raise
        return Unreadable(id, {"sha256": items.hash_of(id)}, error)


async def _at_time(port: Port, context: Context[Any], document_id: str, time: datetime) -> Version:
    """The newest version that is not later than a time. The times of versions increase with their numbers."""
    last = await newest(port, context, document_id)
    if last.time <= time:
        return last
    low, high, version = 0, last.number, None
    while low < high:  # the wanted version is in low..high - 1, if it exists
        step = max(1, (high - low) // (PROBES + 1))
        numbers = list(range(low, high, step))[: PROBES + 2]
        rows = await _versions(port, context, document_id, numbers)
        past = [row for row in rows if row.time <= time]
        if not past:
            break
        version = past[-1]
        low = version.number + 1
        high = min((row.number for row in rows if row.time > time), default=high)
    if version is None:
        raise not_found(context, document_id, "version as old as that")
    return version


async def _versions(port: Port, context: Context[Any], document_id: str, numbers: Sequence[int]) -> list[Version]:
    keys = [context.model.rows.version.by_number(document_id, number) for number in numbers]
    versions: list[Version] = await get_many(port, keys, consistent=True)
    if len(versions) < len(numbers):
        raise Corrupt(f"a version before the newest of {context.kind.__name__} is not there", operation="at")
    return versions


async def tagged(port: Port, context: Context[Any], document_id: str, name: str) -> int:
    """The number of the version that has a name. One request. NotFound."""
    key: KeyOf[Tag] = context.model.rows.tag.by_name(document_id, name)
    row = await get_row(port, key.consistent())
    if row is None:
        raise not_found(context, document_id, f"version with the tag {name!r}")
    return row.number


# --- lists ------------------------------------------------------------------------------------------------------------
async def history(
    port: Port,
    context: Context[Any],
    document_id: str,
    limit: int,
    after: str | None,
    principal: str | None = None,
    unreadable: OnUnreadable = None,
) -> Page[Version]:
    """Some versions, newest first. One request."""
    versions: Query[Version] = context.model.rows.version.by_number(document_id, ANY)
    if after is not None:  # the first page shows by itself that a document is deleted
        await epoch_row(port, context, document_id)
    query = versions.newest_first().consistent()
    page_of_versions = await page(port, query, limit, after, context.seal, principal, unreadable=unreadable)
    if page_of_versions.items and page_of_versions.items[0].deleted:
        raise not_found(context, document_id)
    return page_of_versions


async def page_of_documents(
    port: Port, context: Context[Any], parent: str, limit: int, after: str | None, principal: str | None = None
) -> Page[Listing]:
    """Some documents of a parent, by their ids. One request."""
    listed: Query[Listing] = context.model.rows.listing.by_parent(parent, ANY)
    return await page(port, listed.consistent(), limit, after, context.seal, principal)


async def parent_of(port: Port, context: Context[Any], document_id: str) -> str:
    """The parent of a document. One request. Raises NotFound."""
    return (await epoch_row(port, context, document_id)).parent


async def epoch_row(port: Port, context: Context[Any], document_id: str) -> GcEpoch:
    """The row that a commit checks. One request. Raises NotFound, also for a deleted document."""
    row = await any_epoch_row(port, context, document_id)
    if row is None or row.deleted:
        raise not_found(context, document_id)
    return row


async def any_epoch_row(port: Port, context: Context[Any], document_id: str) -> GcEpoch | None:
    """The same row, also of a deleted document; None if the document never existed."""
    key: KeyOf[GcEpoch] = context.model.rows.epoch.by_document(document_id)
    return await get_row(port, key.consistent())


async def last_ids(port: Port, context: Context[Any], document_id: str, clients: Sequence[str]) -> dict[str, int]:
    """The last id of each client; 0 for an unknown one. One round trip."""
    known = await client_rows(port, context, document_id, clients)
    return {client: known[client].last_id if client in known else 0 for client in clients}


async def client_rows(
    port: Port, context: Context[Any], document_id: str, clients: Sequence[str]
) -> dict[str, ClientRecord]:
    keys = [context.model.rows.client.by_client(document_id, client) for client in dict.fromkeys(clients)]
    found: list[ClientRecord] = await get_many(port, keys, consistent=True) if keys else []
    return {row.client: row for row in found}


async def outcomes(
    port: Port, context: Context[Any], document_id: str, ids: Sequence[tuple[str, int]]
) -> list[Outcome | None]:
    """The outcomes of some mutations, from their records; None for those without one. One round trip."""
    found = await record_rows(port, context, document_id, ids)
    known = {(row.client, row.id): outcome_of(row) for row in found}
    return [known.get(id) for id in ids]


async def record_rows(
    port: Port, context: Context[Any], document_id: str, ids: Sequence[tuple[str, int]]
) -> list[MutationRecord]:
    """The records of some mutations, in order; missing ones are left out. One round trip."""
    keys = [context.model.rows.mutation.by_id(document_id, client, id) for client, id in ids]
    found: list[MutationRecord] = await get_many(port, keys, consistent=True) if keys else []
    return found


async def mutations_of(port: Port, context: Context[Any], versions: Sequence[Version]) -> list[MutationRecord]:
    """The records of the mutations of some versions, in their order. One round trip for a hundred."""
    kind = context.model.rows.mutation
    keys = [
        kind.by_id(version.document_id, applied.client, applied.id)
        for version in versions
        for applied in version.mutations
    ]
    records: list[MutationRecord] = await get_many(port, keys, consistent=True) if keys else []
    return records


def outcome_of(row: MutationRecord) -> Outcome:
    status: Any = "applied" if row.error is None else "rejected"
    return Outcome(row.client, row.id, row.name, status, row.version, row.error)


async def versions_since(
    port: Port, context: Context[Any], document_id: str, version: int, until: int
) -> list[Version]:
    """The versions after one, up to another, in order. One request for each MB."""
    numbers = range(version + 1, until + 1)
    return await _versions(port, context, document_id, numbers) if numbers else []
