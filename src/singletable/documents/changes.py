"""Changes: between two versions, and of one item, with the mutations, clients and users that changed it.

Two versions differ as their items in the table do: no content is read. A version holds up to 40 mutations. Which of
them changed an item is found by running them again, on the version before, as they were run then: they are
deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from singletable.documents.arguments import refs_in, texts_of
from singletable.documents.batches import Batch
from singletable.documents.context import Context
from singletable.documents.drafts import WorkingVersion
from singletable.documents.mutations import Mutation, Submission
from singletable.documents.read import (
    collection_key,
    hashes_of,
    hashes_of_all,
    merged,
    parts_of,
    record_rows,
    version_or_newest,
    version_row,
    version_rows,
)
from singletable.documents.rows import InboxRow, MutationRecord, Version
from singletable.documents.snapshots import Hashes, scalar_values, scalars_of
from singletable.errors import NotFound
from singletable.flow import Port


@dataclass(frozen=True)
class CollectionDiff:
    """Item ids, each list in order."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without the ids, as logs show it."""
        return f"<CollectionDiff: {len(self.added)} added, {len(self.changed)} changed, {len(self.removed)} removed>"

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True)
class Diff:
    """The differences between two versions. False if there are none."""

    before: int
    after: int
    scalars: Mapping[str, tuple[Any, Any]] = field(repr=False)
    """The two values, by name."""
    collections: Mapping[str, CollectionDiff]
    """Only the collections that differ."""

    def __bool__(self) -> bool:
        return bool(self.scalars or self.collections)


async def diff(port: Port, context: Context[Any], document_id: str, before: int, after: int) -> Diff:
    """The differences between two versions of a document. Two round trips; unchanged collections are not read."""
    one, other = await version_rows(port, context, document_id, (before, after))
    return await diff_of(port, context, one, other)


async def diff_of(port: Port, context: Context[Any], one: Version, other: Version) -> Diff:
    """The same for versions that were read, possibly of two documents."""
    names = [name for name in context.model.collections if collection_key(one, name) != collection_key(other, name)]
    old, new = await hashes_of_all(port, context, ((one, names), (other, names)))
    changes = {name: diff_hashes(old[name], new[name]) for name in names}
    return Diff(
        one.number, other.number, _scalars(context, one, other), {name: own for name, own in changes.items() if own}
    )


def diff_hashes(before: Hashes, after: Hashes) -> CollectionDiff:
    """The differences between two maps of item ids to hashes."""
    return CollectionDiff(
        tuple(sorted(id for id in after if id not in before)),
        tuple(sorted(id for id, digest in after.items() if before.get(id, digest) != digest)),
        tuple(sorted(id for id in before if id not in after)),
    )


def _scalars(context: Context[Any], one: Version, other: Version) -> dict[str, tuple[Any, Any]]:
    old, new = scalar_values(context, scalars_of(one)), scalar_values(context, scalars_of(other))
    return {name: (old[name], new[name]) for name in new if old[name] != new[name]}


AT_ONCE = 16
"""The number of versions whose hashes are read concurrently."""


@dataclass(frozen=True)
class Changer:
    """A mutation that changed an item."""

    client: str
    id: int
    name: str
    principal: str | None = field(repr=False)
    """The user who answers for it."""


@dataclass(frozen=True)
class ItemChange:
    """One version that added, changed or removed an item."""

    document_id: str = field(repr=False)
    """The document's, or that of the one that it was branched from."""
    version: int
    time: datetime
    before: str | None
    """The sha256 of the content; None for no item."""
    after: str | None
    mutations: tuple[Changer, ...]
    """In their order; usually one."""
    is_certain: bool
    """False if running them again gave another result, as with other code: then all of the version are listed."""


async def item_history(
    port: Port,
    context: Context[Any],
    document_id: str,
    name: str,
    id: str,
    limit: int,
    before: int | None = None,
    since: int | None = None,
) -> list[ItemChange]:
    """The changes of an item, newest first, up to a limit; of those before a version, and after the version `since`.

    Without `since` it goes on in the document that this one was branched from. It reads each version, and the hashes of
    each version of the collection: 1 unit for each 4 KB. Where a version has several mutations, also what they read.
    NotFound.
    """
    end = 0 if since is None else max(0, since)
    changes: list[ItemChange] = []
    after = await version_or_newest(port, context, document_id, None if before is None else max(0, before - 1))
    while True:
        first = max(min(end, after.number), after.number - AT_ONCE)
        versions = [*await version_rows(port, context, after.document_id, range(first, after.number)), after]
        digests = await _digests(port, context, versions, name, id)
        for k in range(len(versions) - 1, 0, -1):
            if digests[k] != digests[k - 1]:
                changes.append(
                    await _change(port, context, versions[k - 1], versions[k], name, id, digests[k - 1 : k + 1])
                )
                if len(changes) >= limit:
                    return changes
        after = versions[0]
        if after.number <= end:
            if after.origin is None or since is not None:
                return changes
            try:
                after = await version_row(port, context, after.origin.document_id, after.origin.number)
            except NotFound:  # the origin is deleted, and its history with it
                return changes


async def _digests(
    port: Port, context: Context[Any], versions: Sequence[Version], name: str, id: str
) -> list[bytes | None]:
    """The item's hash in each version."""
    keys = [collection_key(version, name) for version in versions]
    wanted = list(dict.fromkeys(key for key in keys if key is not None))
    parts = dict(zip(wanted, await parts_of(port, context, wanted), strict=True))
    known = {key: merged(own, name, key.number).get(id) for key, own in parts.items()}
    return [None if key is None else known[key] for key in keys]


async def _change(
    port: Port,
    context: Context[Any],
    before: Version,
    after: Version,
    name: str,
    id: str,
    digests: Sequence[bytes | None],
) -> ItemChange:
    places = [(each.client, each.id) for each in after.mutations if not each.rejected]
    records = await record_rows(port, context, after.document_id, places)
    changers = [Changer(row.client, row.id, row.name, row.principal) for row in records]
    is_certain = True
    if len(records) > 1:
        which = await _run_again(port, context, before, records, name, id, digests[1])
        is_certain = which is not None
        changers = changers if which is None else [changers[k] for k in which]
    was, now = (None if digest is None else digest.hex() for digest in digests)
    return ItemChange(after.document_id, after.number, after.time, was, now, tuple(changers), is_certain)


async def _run_again(
    port: Port,
    context: Context[Any],
    before: Version,
    records: Sequence[MutationRecord],
    name: str,
    id: str,
    expected: bytes | None,
) -> list[int] | None:
    """The version's mutations that changed an item; None if running them again has another result."""
    contents = context.contents_of(before)
    hashes = await hashes_of(port, context, before, tuple(context.model.collections))
    given = await texts_of(port, contents, records)
    refs = frozenset(ref for text in given for ref in refs_in(text))
    working = WorkingVersion(
        replace(context, authorise=None), contents, before.parent, before.document_id, scalars_of(before), hashes, refs
    )
    working.events = port.events
    batch = Batch(working)
    places: list[int] = []

    def run() -> None:
        for k, (row, text) in enumerate(zip(records, given, strict=True)):
            was = working.hash_of(name, id)
            batch.run(
                [_as_row(context, row, text)], [Submission(Mutation(row.name, text), row.client, row.id, row.principal)]
            )
            if working.hash_of(name, id) != was:
                places.append(k)

    await port.call_all([run])
    return places if working.hash_of(name, id) == expected and not batch.held else None


def _as_row(context: Context[Any], record: MutationRecord, text: str) -> InboxRow:
    """A record as it stood in the inbox."""
    return context.model.rows.inbox(
        document_id=record.document_id,
        client=record.client,
        id=record.id,
        name=record.name,
        arguments=text,
        principal=record.principal,
        own=record.name.startswith("$") or None,
    )
