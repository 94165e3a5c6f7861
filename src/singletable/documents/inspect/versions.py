"""A document at a version: scalars, collections, what differs from another version, and the mutations in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from singletable.documents.blobs import NoBlobs
from singletable.documents.changes import CollectionDiff, diff_hashes
from singletable.documents.contents import Content
from singletable.documents.inspect.lines import Line, compared
from singletable.documents.inspect.lists import AnyContext, DocumentClass, document_class
from singletable.documents.read import CollectionKey, collection_key, newest, parts_of, record_rows, version_rows
from singletable.documents.rows import CollectionVersion, MutationRecord, Version
from singletable.documents.snapshots import scalar_values, scalars_of
from singletable.errors import Corrupt, InvalidRequest, NotFound, SingletableError
from singletable.flow import Port
from singletable.foundation import get_many
from singletable.shown_values import MOST_CHARACTERS, ShownValue, covered, json_lines, shown

MOST_VERSIONS = 20
"""The number of versions whose mutations are shown, the newest of the requested ones."""
MOST_MUTATIONS = 50
MOST_ITEMS = 50
"""Ids of a collection, and of each list of a difference."""
MOST_CONTENT_CHARACTERS = 20_000


class ItemInfo(Struct, frozen=True):
    """One item of a collection."""

    id: str
    sha256: str


class CollectionInfo(Struct, frozen=True):
    """A collection in a version."""

    name: str
    number: int | None
    """Its own version; None if it was never written."""
    count: int
    """The number of items in the parts that were read."""
    parts: int
    read: int
    """The number of parts that were read."""
    items: tuple[ItemInfo, ...]
    after: str | None
    """The id after which the next page begins."""


class Changed(Struct, frozen=True):
    """A scalar with its value before and after."""

    name: str
    before: ShownValue
    after: ShownValue


class ItemsChanged(Struct, frozen=True):
    """The differences in a collection: the numbers of ids, and the first of each list."""

    name: str
    counts: Mapping[str, int]
    """The number of ids by `added`, `changed`, `removed`."""
    ids: Mapping[str, tuple[str, ...]]


class VersionDifference(Struct, frozen=True):
    """The differences between two versions."""

    scalars: tuple[Changed, ...]
    collections: tuple[ItemsChanged, ...]
    unread: tuple[str, ...]
    """Collections that have several parts and were not compared."""


class MutationInfo(Struct, frozen=True):
    """A mutation that made a version, or was rejected in it."""

    version: int
    time: str
    client: str
    id: int
    name: str
    principal: ShownValue
    arguments: ShownValue
    error: str
    """Why it was rejected; empty for one that was applied."""


class ContentInfo(Struct, frozen=True):
    """The content of one item in both versions, as JSON."""

    collection: str
    id: str
    before: ShownValue
    after: ShownValue
    lines: tuple[Line, ...] = ()
    """Both, compared line by line."""
    note: str = ""
    """Why a content is not shown."""


class VersionInfo(Struct, frozen=True):
    """A version's own row."""

    number: int
    time: str
    mutations: int
    rejected: int


class DocumentInfo(Struct, frozen=True):
    """A document at a version, compared with another one."""

    kind: DocumentClass
    id: str
    parent: str
    newest: int
    version: VersionInfo
    since: VersionInfo
    """The version that it is compared with."""
    scalars: tuple[ShownValue, ...]
    collections: tuple[CollectionInfo, ...]
    difference: VersionDifference
    mutations: tuple[MutationInfo, ...]
    left_out: int
    """Versions between the two whose mutations are not shown."""
    whole_parts: int
    """The parts that comparing everything would read."""
    content: ContentInfo | None = None


async def inspect_document(
    port: Port,
    context: AnyContext,
    document_id: str,
    *,
    version: int | None = None,
    since: int | None = None,
    whole: bool = False,
    item: tuple[str, str] | None = None,
    personal: bool = False,
) -> DocumentInfo:
    """A document at a version, the newest by default, compared with another, the one before by default.

    Four requests, one after the other: the newest version, the two versions and those between them, the first part of
    each collection of both (up to 400 KB each), the records of up to MOST_MUTATIONS mutations; a unit for each 4 KB.
    `whole` reads the other parts of the collections too, a request for each collection and each 1 MB of it. `item`
    reads the contents of one item from the blob store. NotFound; InvalidRequest for a version below 0.
    """
    last = await newest(port, context, document_id)
    number = last.number if version is None else version
    base = max(0, number - 1) if since is None else since
    between = list(range(max(min(base, number) + 1, max(base, number) - MOST_VERSIONS + 1), max(base, number) + 1))
    rows = {r.number: r for r in await version_rows(port, context, document_id, sorted({number, base, *between}))}
    now, was = rows[number], rows[base]
    parts = await _parts(port, context, (was, now), whole=whole)
    hidden = not personal
    content = await _content(port, context, item, now, was, parts, hidden=hidden) if item is not None else None
    mutations = await _mutations(port, context, [rows[n] for n in reversed(between)], hidden=hidden)
    return DocumentInfo(
        document_class(context),
        document_id,
        now.parent,
        last.number,
        _version(now),
        _version(was),
        tuple(_scalars(context, now, hidden=hidden)),
        tuple(_collection(name, collection_key(now, name), parts) for name in context.model.collections),
        _difference(context, was, now, parts, hidden=hidden),
        mutations,
        abs(number - base) - len(between),
        sum(found[0].spills for found in parts.values() if found),
        content,
    )


async def inspect_collection(
    port: Port, context: AnyContext, document_id: str, version: int, name: str, *, after: str | None = None
) -> CollectionInfo:
    """Up to MOST_ITEMS ids of a collection in a version, after one of them.

    Two requests: the version, and a part of the collection, up to 400 KB; one more at the end of a part. The parts lie
    in the order of the ids. A unit for each 4 KB of the version, half a one for each of a part. NotFound.
    """
    if name not in context.model.collections:
        raise NotFound(f"{context.kind.__name__} has no collection of this name")
    (row,) = await version_rows(port, context, document_id, (version,))
    key = collection_key(row, name)
    if key is None:
        return CollectionInfo(name, None, 0, 0, 0, (), None)
    number, _, id = (after or "0:").partition(":")
    if not number.isdecimal():
        raise InvalidRequest("this is not a place in a collection", hint="Begin with its first page.")
    rows, first = context.model.rows.collections[name], int(number)
    parts: list[CollectionVersion] = await get_many(port, [rows.by_number(key.document_id, key.number, first)])
    is_short = parts and sum(each > id for each in parts[0].items) < MOST_ITEMS
    if is_short and first + 1 < parts[0].spills:
        parts += await get_many(port, [rows.by_number(key.document_id, key.number, first + 1)])
    return _page_of(name, key, parts, id)


# --- collections ------------------------------------------------------------------------------------------------------
Parts = Mapping[CollectionKey, Sequence[CollectionVersion]]


async def _parts(port: Port, context: AnyContext, versions: Sequence[Version], *, whole: bool) -> Parts:
    """The first part of each collection of some versions; all parts with `whole`."""
    keys = [key for row in versions for name in context.model.collections if (key := collection_key(row, name))]
    wanted = list(dict.fromkeys(keys))
    if whole:
        return dict(zip(wanted, await parts_of(port, context, wanted), strict=True))
    rows = context.model.rows.collections
    places = {key: rows[key.name].by_number(key.document_id, key.number, 0) for key in wanted}
    found: list[CollectionVersion] = await get_many(port, places.values(), consistent=True) if places else []
    known = {(type(row), row.document_id, row.number): row for row in found}
    return {
        key: [known[place]] if (place := (rows[key.name], key.document_id, key.number)) in known else []
        for key in wanted
    }


def _collection(name: str, key: CollectionKey | None, parts: Parts) -> CollectionInfo:
    if key is None:
        return CollectionInfo(name, None, 0, 0, 0, (), None)
    return _page_of(name, key, parts[key], "")


def _page_of(name: str, key: CollectionKey, parts: Sequence[CollectionVersion], after: str) -> CollectionInfo:
    """The ids of some parts after one of them."""
    if not parts:
        raise Corrupt(f"version {key.number} of {name} lacks all of its parts", attribute=name)
    places = [(part.spill, id, digest) for part in parts for id, digest in sorted(part.items.items()) if id > after]
    shown_ = places[:MOST_ITEMS]
    beyond = len(places) > len(shown_) or parts[-1].spill + 1 < parts[0].spills
    last = f"{shown_[-1][0]}:{shown_[-1][1]}" if shown_ and beyond else None
    items = tuple(ItemInfo(id, digest.hex()) for _, id, digest in shown_)
    count = sum(len(part.items) for part in parts)
    return CollectionInfo(name, key.number, count, parts[0].spills, len(parts), items, last)


def _is_whole(parts: Parts, key: CollectionKey | None) -> bool:
    return key is None or (bool(parts[key]) and len(parts[key]) == parts[key][0].spills)


def _hashes(parts: Parts, key: CollectionKey | None) -> dict[str, bytes]:
    return {} if key is None else {id: digest for part in parts[key] for id, digest in part.items.items()}


# --- differences ------------------------------------------------------------------------------------------------------
def _difference(context: AnyContext, was: Version, now: Version, parts: Parts, *, hidden: bool) -> VersionDifference:
    collections: list[ItemsChanged] = []
    unread: list[str] = []
    for name in context.model.collections:
        one, other = collection_key(was, name), collection_key(now, name)
        if one == other:
            continue
        if not (_is_whole(parts, one) and _is_whole(parts, other)):
            unread.append(name)
        elif changes := diff_hashes(_hashes(parts, one), _hashes(parts, other)):
            collections.append(_items_changed(name, changes))
    return VersionDifference(tuple(_changed(context, was, now, hidden=hidden)), tuple(collections), tuple(unread))


def _items_changed(name: str, changes: CollectionDiff) -> ItemsChanged:
    ids = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
    return ItemsChanged(
        name, {what: len(each) for what, each in ids.items()}, {what: each[:MOST_ITEMS] for what, each in ids.items()}
    )


def _changed(context: AnyContext, was: Version, now: Version, *, hidden: bool) -> Iterator[Changed]:
    old, new = (_values(context, row) for row in (was, now))
    for name in new:
        if old.get(name) != new[name]:
            before, after = (covered(name) if hidden else shown(name, each.get(name)) for each in (old, new))
            yield Changed(name, before, after)


def _scalars(context: AnyContext, row: Version, *, hidden: bool) -> Iterator[ShownValue]:
    for name, value in _values(context, row).items():
        yield covered(name) if hidden else shown(name, value)


def _values(context: AnyContext, row: Version) -> Mapping[str, Any]:
    """A version's scalars; in their stored form if the class can't read them any more."""
    try:
        return scalar_values(context, scalars_of(row))
    except SingletableError:
        return row.scalars


def _version(row: Version) -> VersionInfo:
    rejected = sum(each.rejected for each in row.mutations)
    return VersionInfo(row.number, row.time.isoformat(), len(row.mutations), rejected)


# --- mutations --------------------------------------------------------------------------------------------------------
async def _mutations(
    port: Port, context: AnyContext, versions: Sequence[Version], *, hidden: bool
) -> tuple[MutationInfo, ...]:
    """Up to MOST_MUTATIONS of some versions, newest first, with their records. One round trip."""
    every = [(row, each) for row in versions for each in reversed(row.mutations)][:MOST_MUTATIONS]
    places = [(each.client, each.id) for _, each in every]
    records = await record_rows(port, context, versions[0].document_id, places) if places else []
    known = {(record.client, record.id): record for record in records}
    return tuple(
        _mutation(row, each.client, each.id, each.name, known.get((each.client, each.id)), hidden=hidden)
        for row, each in every
    )


def _mutation(
    row: Version, client: str, id: int, name: str, record: MutationRecord | None, *, hidden: bool
) -> MutationInfo:
    said = "" if record is None else record.arguments or "in a blob"
    arguments = covered("arguments") if hidden else shown("arguments", said, most=MOST_CHARACTERS)
    by = None if record is None else record.principal
    principal = covered("principal") if hidden and by else shown("principal", by)
    error = "" if record is None else record.error or ""
    return MutationInfo(row.number, row.time.isoformat(), client, id, name, principal, arguments, error)


# --- contents ---------------------------------------------------------------------------------------------------------
async def _content(
    port: Port,
    context: AnyContext,
    item: tuple[str, str],
    now: Version,
    was: Version,
    parts: Parts,
    *,
    hidden: bool,
) -> ContentInfo:
    """An item's contents in both versions, from the blob store."""
    name, id = item
    if name not in context.model.collections:
        raise NotFound(f"{context.kind.__name__} has no collection of this name")
    if hidden:
        note = "contents are covered until personal values are shown"
        return ContentInfo(name, id, covered(id), covered(id), note=note)
    if isinstance(context.store, NoBlobs):
        note = "the studio was given no store of contents"
        return ContentInfo(name, id, shown(id, None), shown(id, None), note=note)
    folder = context.model.collections[name].folder
    digests = [_hashes(parts, collection_key(row, name)).get(id) for row in (was, now)]
    calls: list[Callable[[], ShownValue]] = [
        partial(_read, context, row, folder, id, digest) for row, digest in zip((was, now), digests, strict=True)
    ]
    before, after = await port.call_all(calls)
    note = "" if any(digests) else "neither version has it, in the parts that were read"
    return ContentInfo(name, id, before, after, compared(before.text, after.text), note)


def _read(context: AnyContext, row: Version, folder: str, id: str, digest: bytes | None) -> ShownValue:
    if digest is None:
        return shown(id, None)
    try:
        data = context.contents_of(row).read(Content(folder, digest))
        return shown(id, json_lines(msgspec.json.decode(data)), most=MOST_CONTENT_CHARACTERS)
    except (SingletableError, msgspec.DecodeError) as error:
        return ShownValue(id, str(error), "unreadable", 0)
