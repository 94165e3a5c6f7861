"""A look at all that a family of documents reaches, and a note of it, by which the next one reads only what is new.

    Project#<root>   GcEpoch.looked                       the sha256 of the note
    =looked/<parent>/<plural>/<root>/<sha256>.json        the note: a version of each living member, and all contents
                                                          that records and collections reach up to these versions

**The invariant.** What the items of a living member reach is in the note, or in what is read: the inbox, each version
after the noted one, its records, and the collections that were written after it. A note that names too much keeps
garbage. One that names too little would delete what is reached, so a note is taken only where its items can't have
changed, and everything is read where they can:

    a version is never changed     and the noted one has the id that it had: after a restore, a rewind, in a copy of
                                   another moment it has another one, or is missing
    but an erasure rewrites items  and puts a fresh `rewritten` into the root's epoch, in the transactions that do so
    the epoch                      is the note's: a collection or an erasure since then has made, or unmade, its own
    the members                    are all alive, or what they reached would stay for ever
    the class                      has no collection that the note has not looked at
    the table                      is the one that wrote the note, as of `collectors`
    the note                       has the bytes of its name

A note has the epoch and `rewritten` as they were before its look, and is written after it, if the epoch is the same. A
kill in between leaves a blob that nothing names; the next note deletes it. A branch that is made later is read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec import Struct

from singletable.documents.arguments import contents_of_mutations
from singletable.documents.collectors import Collector
from singletable.documents.conditions import same_epoch
from singletable.documents.contents import Content, Contents
from singletable.documents.context import Context
from singletable.documents.families import Family, all_rows, pages, sources_of
from singletable.documents.read import contents_at, contents_in, newest, not_found
from singletable.documents.rows import CollectionVersion, GcEpoch, InboxRow, MutationRecord, Version
from singletable.errors import NotFound
from singletable.expressions import AttributeChange
from singletable.flow import Port, pages_side_by_side
from singletable.foundation import ANY, Query, prepare_query, update_if
from singletable.operations import RefusedWrite
from singletable.schema import after, at_least, between, key_of

_ROOT: Final = "=looked/"
_MOST_BYTES: Final = 1 << 30
_DIGEST_BYTES: Final = 32
_LEAST_VERSIONS: Final = 16
"""New versions from which on a note is written: it is written whole, and fewer are soon read again."""


class NotedVersion(Struct, frozen=True, array_like=True):
    """A version of a member, up to which everything was looked at."""

    number: int
    id: str


class LookNote(Struct, frozen=True):
    """The content of a note."""

    table: Collector
    epoch: int
    rewritten: str | None
    members: dict[str, NotedVersion]
    folders: dict[str, str]
    """The folder of each collection that was looked at."""
    contents: dict[str, bytes]
    """The digests by folder, one after the other."""


@dataclass(frozen=True)
class Looked:
    """The contents that the records and collections of a family reached, up to a version of each member."""

    epoch: int
    rewritten: str | None
    members: Mapping[str, NotedVersion]
    contents: frozenset[Content]

    def versions_after(self, since: Looked | None) -> int:
        """The number of versions that an earlier look did not have."""
        before = {} if since is None else {id: noted.number for id, noted in since.members.items()}
        return sum(noted.number - before.get(id, 0) for id, noted in self.members.items())


@dataclass(eq=False)
class FamilyLook:
    """One look at a family: all contents that it reaches."""

    port: Port
    context: Context[Any]
    contents: Contents
    family: Family
    reached: set[Content] = field(default_factory=set[Content])
    """Everything, also what only the inbox reaches, and the first contents of branches of deleted documents."""
    looked: Looked | None = None
    """The part of it that lasts, for the next look; None where a version has no id."""
    _seen: set[str] = field(default_factory=set[str])
    """The members that were looked at: not those that were deleted meanwhile."""

    async def run(self, since: Looked | None = None) -> FamilyLook:
        """Look at what is new since an earlier look, or at all of it where that can't be relied on."""
        if since is None or not await self._since(since):
            self.reached, self._seen = set(), set()
            await self._members({}, frozenset())
        # The first contents of branches lie in other documents, which may be deleted.
        branches = [row for row in self.family.branches if not row.deleted]
        elsewhere = [key for key in sources_of(branches) if key.document_id not in self._seen]
        self.reached |= await contents_at(self.port, self.context, elsewhere)
        return self

    async def _since(self, since: Looked) -> bool:
        """Look at what is new. False where an item that was looked at may be another one now."""
        if since.rewritten != self.family.root.rewritten:
            return False
        return await self._members(since.members, since.contents) and since.members.keys() <= self._seen

    async def _members(self, noted: Mapping[str, NotedVersion], known: frozenset[Content]) -> bool:
        """Look at each living member; False where a noted version is another one now."""
        lasting, members = set(known), dict[str, NotedVersion | None]()
        for document_id in self.family.living:
            with suppress(NotFound):  # deleted meanwhile
                last = await self._member(document_id, noted.get(document_id), lasting)
                if last is None:
                    return False
                self._seen.add(document_id)
                members[document_id] = None if last.id is None else NotedVersion(last.number, last.id)
        self.reached |= lasting
        places = {document_id: place for document_id, place in members.items() if place is not None}
        root, is_whole = self.family.root, len(places) == len(members)
        self.looked = Looked(root.epoch, root.rewritten, places, frozenset(lasting)) if is_whole else None
        return True

    async def _member(self, document_id: str, noted: NotedVersion | None, lasting: set[Content]) -> Version | None:
        """Add what a member's records and collections reach since the noted version. Returns its newest version; None
        where the noted one is another one now."""
        # The inbox first: a row that leaves it after this read has become a record, which is read next.
        inbox: Query[InboxRow] = self.context.model.rows.inbox.by_id(document_id, ANY)
        async for waiting in pages(self.port, inbox):
            self.reached |= await contents_of_mutations(self.port, self.contents, waiting)
        if noted is None:
            last = await newest(self.port, self.context, document_id)  # NotFound of one that is deleted
            await self._records([self.context.model.rows.mutation.by_id(document_id, ANY)], lasting)
            await self._collections(document_id, {}, lasting)
            return last
        query: Query[Version] = self.context.model.rows.version.by_number(document_id, at_least(noted.number))
        versions = await all_rows(self.port, query)
        if versions and versions[-1].deleted:
            raise not_found(self.context, document_id)
        numbers = [row.number for row in versions]
        # None are left where the table was set back to an older version, or where it was deleted meanwhile.
        is_same = bool(versions) and versions[0].id == noted.id
        if not is_same or numbers != [*range(noted.number, noted.number + len(versions))]:
            return None
        await self._records(self._records_of(document_id, versions[1:]), lasting)
        await self._collections(document_id, versions[0].collections, lasting)
        return versions[-1]

    def _records_of(self, document_id: str, versions: Iterable[Version]) -> list[Query[MutationRecord]]:
        """The queries of the mutations of some versions: one for each client, whose ids have no gaps."""
        ids: dict[str, list[int]] = {}
        for version in versions:
            for applied in version.mutations:
                ids.setdefault(applied.client, []).append(applied.id)
        kind = self.context.model.rows.mutation
        return [kind.by_id(document_id, client, between(min(own), max(own))) for client, own in ids.items()]

    async def _records(self, queries: Sequence[Query[MutationRecord]], lasting: set[Content]) -> None:
        prepared = {n: prepare_query(query.consistent(), self.port.now()) for n, query in enumerate(queries)}
        async for _, page in pages_side_by_side(self.port, {n: each.operation for n, each in prepared.items()}):
            lasting |= await contents_of_mutations(self.port, self.contents, page.items)

    async def _collections(self, document_id: str, numbers: Mapping[str, int], lasting: set[Content]) -> None:
        """Add the contents of each collection's versions after a number."""
        for name, row in self.context.model.rows.collections.items():
            wanted = after(numbers[name]) if name in numbers else ANY
            parts: Query[CollectionVersion] = row.by_number(document_id, wanted)
            async for page in pages(self.port, parts):
                lasting |= contents_in(self.context, name, page)


async def read_note(
    port: Port, context: Context[Any], contents: Contents, root: GcEpoch, table: Collector
) -> Looked | None:
    """An earlier look by its note, if that can be relied on. One read of the blob store."""
    if root.looked is None:
        return None
    path = _path(contents, root.looked)
    (data,) = await port.call_all([partial(contents.store.get, path, _MOST_BYTES)])
    if data is None or sha256(data).digest() != root.looked:
        return None
    try:
        note = msgspec.json.decode(data, type=LookNote)
    except msgspec.MsgspecError:
        return None  # another version of the library has written it
    if not note.table.is_same(table) or note.epoch != root.epoch or note.folders != _folders(context):
        return None
    return Looked(note.epoch, note.rewritten, note.members, frozenset(_unpacked(note.contents)))


async def keep_note(
    port: Port, context: Context[Any], table: Collector, look: FamilyLook, since: Looked | None
) -> None:
    """Write a note of a look for the next collection, where it is worth it. `since` is the note that there is.

    Nothing is named if the root's epoch has changed since the look. Two puts and a listing.
    """
    contents, root, looked = look.contents, look.family.root, look.looked
    is_noted = since is not None and since.epoch == root.epoch
    if looked is None or not looked.members or looked.versions_after(since if is_noted else None) < _LEAST_VERSIONS:
        return
    note = LookNote(
        table, root.epoch, looked.rewritten, dict(looked.members), _folders(context), _packed(looked.contents)
    )
    data = msgspec.json.encode(note, order="sorted")
    digest = sha256(data).digest()
    if root.looked == digest:
        return
    path = _path(contents, digest)
    await port.call_all([partial(contents.store.put, path, data)])
    changes = [AttributeChange("looked", {"B": msgspec.to_builtins(digest)})]
    try:
        await port.send(update_if(key_of(root), changes, same_epoch(root)))
    except RefusedWrite:  # of another epoch: nothing will name this note, and nobody may come who deletes it
        await port.call_all([partial(contents.store.delete, path)])
        return
    await port.call_all([partial(_forget, contents, path)])


async def forget_notes(port: Port, contents: Contents) -> None:
    """Delete the notes of a family that is deleted."""
    await port.call_all([partial(_forget, contents, "")])


def _forget(contents: Contents, but: str) -> None:
    for path in [*contents.store.list(f"{_ROOT}{contents.prefix}")]:
        if path != but:
            contents.store.delete(path)


def _path(contents: Contents, digest: bytes) -> str:
    return f"{_ROOT}{contents.prefix}{digest.hex()}.json"


def _folders(context: Context[Any]) -> dict[str, str]:
    return {name: model.folder for name, model in context.model.collections.items()}


def _packed(contents: Iterable[Content]) -> dict[str, bytes]:
    """The digests by folder, in an order: the same contents make the same note."""
    folders: dict[str, list[bytes]] = {}
    for content in contents:
        folders.setdefault(content.folder, []).append(content.digest)
    return {folder: b"".join(sorted(digests)) for folder, digests in sorted(folders.items())}


def _unpacked(folders: Mapping[str, bytes]) -> Iterable[Content]:
    for folder, digests in folders.items():
        for i in range(0, len(digests), _DIGEST_BYTES):
            yield Content(folder, digests[i : i + _DIGEST_BYTES])
