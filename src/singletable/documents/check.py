"""Checks the invariants of a document. The flow reads all of its items and blobs and changes nothing.

* the document's parent lists it
* versions are gapless from 0, their times rise, and each names collection versions that are there in all their parts
* a collection's versions are gapless from 1, and each belongs to a version of the document
* each mutation has one record, in the version that names it; a client's are gapless, in order, and end at its last id
* what a branch began with is there, and the branch is named by the document whose contents it shares
* every content that is reached is in the blob store, and is what its name says
* nothing that is reached is being deleted, and everything in the blob store is reached, or needed by a backup
* nothing in the inbox is behind its client's last id, waits for an id that is missing for more than a minute, or for a
  program that has a mutation of its name, or for more than five minutes for a processor
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby, pairwise
from typing import Any, TypeVar

from singletable.documents.arguments import contents_of_mutations
from singletable.documents.blobs import NoBlobs
from singletable.documents.contents import Content, Contents, content_of
from singletable.documents.context import Context
from singletable.documents.families import all_rows, family_of, pages, root_of
from singletable.documents.garbage import unreached
from singletable.documents.inbox import awaits_mutator
from singletable.documents.manifests import needed_by_backups
from singletable.documents.read import are_whole, collection_key, contents_at, contents_in, parts_of
from singletable.documents.rows import (
    Branch,
    ClientRecord,
    CollectionVersion,
    Condemned,
    DocumentRow,
    GcEpoch,
    InboxRow,
    MutationRecord,
    Version,
)
from singletable.errors import Corrupt, SingletableError
from singletable.flow import Port
from singletable.foundation import (
    ANY,
    Finding,
    ItemCheck,
    LayerChecks,
    finding_in,
    get_many,
    model_of,
    ready,
)
from singletable.operations import Item

R = TypeVar("R", bound=DocumentRow)

READ_AT_ONCE = 256
GAP_SECONDS = 60.0
"""The time that a mutation may wait for an earlier one, which may still arrive."""
UNPROCESSED_SECONDS = 300.0
"""The time that an applicable mutation may wait. Processors take seconds; after this time, none runs."""


class DocumentCheck(ItemCheck):
    """The check of documents whose items are on a page: each is checked once, with its epoch's item."""

    looks_twice = True
    page = 100
    beside = "the items of a document with one another, and with its contents"

    def __init__(self, context: Context[Any]) -> None:
        self.context = context

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        findings: list[Finding] = []
        for document_id in await self._documents_of(port, items):
            told = await _findings(port, self.context, document_id)
            if told:  # read again: a commit in between is not a finding
                still = {(each.code, each.key) for each in await _findings(port, self.context, document_id)}
                findings += [each for each in told if (each.code, each.key) in still]
        return findings

    async def _documents_of(self, port: Port, items: Sequence[Item]) -> list[str]:
        """The documents whose epoch is on the page; and those without one whose first version is."""
        rows = self.context.model.rows
        with_epoch = dict.fromkeys(row.document_id for row in _loaded(rows.epoch, items))
        versions = list(_loaded(rows.version, items))
        others = dict.fromkeys(row.document_id for row in versions if row.document_id not in with_epoch)
        keys = [rows.epoch.by_document(document_id) for document_id in others]
        known = {row.document_id for row in await get_many(port, keys, consistent=True)}
        for document_id in [each for each in others if each not in known]:
            first = min(row.number for row in versions if row.document_id == document_id)
            async for page in pages(port, rows.version.by_number(document_id, ANY), 1):
                if [row.number for row in page] == [first]:
                    with_epoch[document_id] = None
                break
        return list(with_epoch)


def document_checks(context: Context[Any]) -> LayerChecks:
    """The checks of a table for the documents of a class."""
    left_out = f"the contents of {context.kind.__name__}: no blob store is configured here"
    has_contents = not isinstance(context.store, NoBlobs)
    return LayerChecks(context.model.table, (DocumentCheck(context),), (), () if has_contents else (left_out,))


async def check(port: Port, context: Context[Any], document_id: str) -> list[Finding]:
    """Findings for everything in a document that violates an invariant; [] for a sound one. Reads all items and blobs.

    Run it without concurrent writers: their writes can cause false findings.
    """
    await ready(port, context.model.table)
    return await _findings(port, context, document_id)


async def _findings(port: Port, context: Context[Any], document_id: str) -> list[Finding]:
    rows = context.model.rows
    versions: list[Version] = await all_rows(port, rows.version.by_number(document_id, ANY))
    epochs: list[GcEpoch] = await all_rows(port, rows.epoch.by_document(document_id))
    if epochs and epochs[0].deleted:
        return [finding_in(v, "document.deleting", "its deletion has not ended: call delete() again") for v in versions]
    records: list[MutationRecord] = await all_rows(port, rows.mutation.by_id(document_id, ANY))
    clients: list[ClientRecord] = await all_rows(port, rows.client.by_client(document_id, ANY))
    inbox: list[InboxRow] = await all_rows(port, rows.inbox.by_id(document_id, ANY))
    root = root_of(versions[0]) if versions else document_id
    condemned: list[Condemned] = await all_rows(port, rows.condemned.by_content(root, ANY))
    parts = {name: await all_rows(port, kind.by_number(document_id, ANY)) for name, kind in rows.collections.items()}
    findings = [*_versions(versions, epochs), *_mutations(versions, records, clients)]
    findings += await _listed(port, context, document_id, versions)
    for name, own in parts.items():
        findings += _collection(name, versions, own)
    findings += await _family(port, context, document_id, versions)
    findings += [*_waiting(context, inbox, clients, port.now())]
    if versions and not isinstance(context.store, NoBlobs):
        contents = context.contents_of(versions[0])
        inherited = [key for name in versions[0].sources or {} if (key := collection_key(versions[0], name))]
        reached = await contents_of_mutations(port, contents, [*records, *inbox])
        reached |= await contents_at(port, context, inherited)
        reached |= {content for name, own in parts.items() for content in contents_in(context, name, own)}
        findings += await _contents(port, contents, reached)
        findings += _condemned(condemned, reached)
        findings += await _unreached(port, context, versions[0], reached)
    return findings


async def _family(port: Port, context: Context[Any], document_id: str, versions: Sequence[Version]) -> list[Finding]:
    """Check the document's origin and its branches, and that each names the other."""
    rows = context.model.rows
    findings: list[Finding] = []
    branches: list[Branch] = await all_rows(port, rows.branch.by_branch(document_id, ANY))
    for branch in branches:
        if not branch.deleted and not await all_rows(port, rows.epoch.by_document(branch.branch)):
            findings.append(finding_in(branch, "branch.missing", "the document that it names is not there"))
    first = versions[0] if versions else None
    if first is None or first.pool is None:
        return findings
    if not await all_rows(port, rows.branch.by_branch(first.pool.document_id, document_id)):
        findings.append(finding_in(first, "branch.unknown", "the document whose contents it shares does not name it"))
    keys = [key for name in context.model.collections if (key := collection_key(first, name)) is not None]
    for key, parts in zip(keys, await parts_of(port, context, keys), strict=True):
        if not are_whole(parts):
            what = f"version {key.number} of {key.name}, which it began with, is not there in all its parts"
            findings.append(finding_in(first, "branch.source", what))
    return findings


def _loaded(kind: type[R], items: Sequence[Item]) -> Iterator[R]:
    """The items of a class. One that can't be read is reported by the records' own check."""
    model = model_of(kind)
    for item in items:
        with suppress(SingletableError):
            if (row := model.load(item)) is not None:
                yield row


def _versions(versions: Sequence[Version], epochs: Sequence[GcEpoch]) -> Iterator[Finding]:
    for expected, version in enumerate(versions):
        if version.number != expected:
            yield finding_in(version, "version.gap", f"it follows version {expected - 1}")
            return
    for one, other in pairwise(versions):
        if other.time <= one.time:
            yield finding_in(other, "version.time", "it is not later than the version before")
        if other.parent != one.parent:
            yield finding_in(other, "version.organisation", "it is of another parent than the version before")
        for name, number in one.collections.items():
            if not 0 <= other.collections.get(name, 0) - number <= 1:
                yield finding_in(other, "version.collection", f"{name} goes from {number} to another but the next")
    if epochs and not versions:
        yield finding_in(epochs[0], "version.missing", "the document has no version")
    if versions and len(epochs) != 1:
        yield finding_in(versions[0], "epoch.missing", "the document has no epoch of garbage collection")


async def _listed(port: Port, context: Context[Any], document_id: str, versions: Sequence[Version]) -> list[Finding]:
    """Whether its parent lists the document."""
    if not versions or await all_rows(port, context.model.rows.listing.by_parent(versions[0].parent, document_id)):
        return []
    return [finding_in(versions[0], "listing.missing", "its parent does not list the document")]


def _collection(name: str, versions: Sequence[Version], parts: Sequence[CollectionVersion]) -> Iterator[Finding]:
    by_number: dict[int, list[CollectionVersion]] = {}
    for part in parts:
        by_number.setdefault(part.number, []).append(part)
    named = {version.collections[name]: version for version in reversed(versions) if name in version.collections}
    for number, version in named.items():
        if not are_whole(by_number.get(number, [])):
            yield finding_in(version, "collection.parts", f"version {number} of {name} is not there in all its parts")
    for number, own in by_number.items():
        if number not in named:
            yield finding_in(own[0], "collection.orphan", "no version of the document names it")


def _mutations(
    versions: Sequence[Version], records: Sequence[MutationRecord], clients: Sequence[ClientRecord]
) -> Iterator[Finding]:
    stored = {(record.client, record.id): record for record in records}
    named: dict[tuple[str, int], int] = {}
    last: dict[str, tuple[int, int]] = {}
    for version in versions:
        for applied in version.mutations:
            place = applied.client, applied.id
            record = stored.get(place)
            if place in named:
                yield finding_in(version, "mutation.twice", f"version {named[place]} names a mutation of it too")
            named[place] = version.number
            if record is None or record.version != version.number or (record.error is not None) != applied.rejected:
                yield finding_in(version, "mutation.record", "a mutation of it has no record, or another's")
            if applied.id != last.get(applied.client, (0, 0))[0] + 1:
                yield finding_in(version, "mutation.order", "a client's mutation does not follow the one before")
            last[applied.client] = applied.id, version.number
    for place, record in stored.items():
        if place not in named:
            yield finding_in(record, "mutation.orphan", "no version names it")
    for client in clients:
        if last.pop(client.client, None) != (client.last_id, client.version):
            yield finding_in(client, "client.last", "it is not what the versions have applied")
    for name, (id, number) in last.items():
        yield finding_in(
            stored.get((name, id), versions[number]), "client.missing", "a client has mutations and no last id"
        )


def _waiting(
    context: Context[Any], inbox: Sequence[InboxRow], clients: Sequence[ClientRecord], now: float
) -> Iterator[Finding]:
    """Findings for the mutations in the inbox that no processor applies: the first of each client."""
    last = {client.client: client.last_id for client in clients}
    for client, rows in groupby(inbox, key=lambda row: row.client):
        wanted = last.get(client, 0) + 1
        for row in rows:
            if row.id < wanted:
                yield finding_in(row, "inbox.dead", "its client is past it; it goes when the document is processed")
            elif row.id > wanted:
                if _waits(row, now, GAP_SECONDS):
                    yield finding_in(row, "inbox.gap", f"it and those after it wait for the client's mutation {wanted}")
                break
            elif awaits_mutator(context, row, now):
                yield finding_in(row, "inbox.unknown", f"it waits for a program that has the mutation {row.name!r}")
                break
            elif _waits(row, now, UNPROCESSED_SECONDS):
                what = (
                    "no processor has applied it and those after it for over five minutes: process(), or run a worker"
                )
                yield finding_in(row, "inbox.unprocessed", what)
                break
            else:
                wanted += 1


def _waits(row: InboxRow, now: float, seconds: float) -> bool:
    """Whether it has waited for longer; one of an older library, which kept no time, has."""
    return row.at is None or now - row.at.timestamp() > seconds


async def _contents(port: Port, contents: Contents, reached: set[Content]) -> list[Finding]:
    ordered = sorted(reached, key=lambda content: (content.folder, content.digest))
    findings: list[Finding] = []
    for i in range(0, len(ordered), READ_AT_ONCE):
        calls: list[Callable[[], Finding | None]] = [
            partial(_content, contents, c) for c in ordered[i : i + READ_AT_ONCE]
        ]
        findings += [finding for finding in await port.call_all(calls) if finding is not None]
    return findings


def _content(contents: Contents, content: Content) -> Finding | None:
    try:
        contents.read(content)
    except Corrupt as error:
        what = f"{error.what}{_where_else(contents, content)}"
        return Finding("blob.wrong", what, "blob", (contents.prefix, contents.path(content)))
    return None


def _where_else(contents: Contents, content: Content) -> str:
    """The folder of a backup that has a content, in words."""
    try:
        places = [needed.place for needed in needed_by_backups(contents) if content in needed.contents]
    except SingletableError as error:  # as for a role that may not list the store
        return f"; whether a backup has it is not known: {error.what}"
    places = [place for place in places if place]
    return f"; the backup in {places[-1]} has it" if places else ""


async def _unreached(port: Port, context: Context[Any], first: Version, reached: set[Content]) -> list[Finding]:
    """The contents of the document and its branches that nothing reaches, as one finding of the first living member."""
    root = root_of(first)
    family = await family_of(port, context, root)
    if family is None or family.living[:1] != [first.document_id]:
        return []
    rest = await unreached(port, context, root, reached)
    if not rest:
        return []
    what = f"{len(rest)} contents are reached by no version, mutation or backup: collect_garbage() deletes them"
    return [finding_in(first, "blob.unreached", what)]


def _condemned(rows: Sequence[Condemned], reached: set[Content]) -> Iterator[Finding]:
    for row in rows:
        if row.deleting and content_of(row.folder, row.sha256) in reached:
            yield finding_in(row, "blob.deleting", "a content that is reached is being deleted")
