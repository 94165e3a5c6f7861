"""The contents of documents, for backups of their table: kept while there is a backup, and copied beside one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from singletable.documents.blobs import BlobStore, LocalBlobs, NoBlobs
from singletable.documents.collectors import check_collector, forget_collector, take_over_blobs
from singletable.documents.contents import Content, Contents
from singletable.documents.context import Context
from singletable.documents.deletion import delete_blobs
from singletable.documents.families import family_of
from singletable.documents.manifests import Manifests, StoredFamily
from singletable.errors import Corrupt, InvalidRequest
from singletable.flow import Port, instant
from singletable.layers import BackupNote, CopiedContents

T = TypeVar("T")
Stored = BlobStore | Path | None
"""A store, or its folder; None for that of the documents."""
_FAMILIES_AT_ONCE, _CONTENTS_AT_ONCE = 16, 64


class DocumentContents:
    """The contents of the documents of one class."""

    def __init__(self, context: Context[Any]) -> None:
        self.context, self.table = context, context.model.table.name
        self.manifests = Manifests(context.store, context.model.words.plural)
        self.has_store = not isinstance(context.store, NoBlobs)
        self.name = f"contents of {context.kind.__name__}"

    async def is_open(self, port: Port, backup: str) -> bool:
        """Whether a backup was begun that has not ended."""
        (is_open,) = await port.call_all([partial(self.manifests.is_open, backup)])
        return is_open

    async def begin(self, port: Port, backup: str) -> None:
        """From now on, until `end`, no content is deleted. One put."""
        note = BackupNote(backup, self.table, instant(port.now()))
        await port.call_all([partial(self.manifests.begin, note)])

    async def end(self, port: Port, backup: str) -> None:
        await port.call_all([partial(self.manifests.end, backup)])

    async def hold(self, port: Port, backup: str, place: str = "") -> BackupNote:
        """Keep what the store has for a backup that was made since `begin`; or note the `place` that has it.

        A listing of the store, and a put for each family of documents.
        """
        note = BackupNote(backup, self.table, instant(port.now()), place)
        async for families in _batches(port, self.manifests.families(), _FAMILIES_AT_ONCE):
            await port.call_all([partial(self.manifests.hold, note, family) for family in families])
            count = note.contents + sum(len(family.contents) for family in families)
            note = replace(note, families=note.families + len(families), contents=count)
        await port.call_all([partial(self.manifests.made, note)])
        return note

    async def notes(self, port: Port) -> list[BackupNote]:
        """The backups that the store knows, oldest first."""
        (notes,) = await port.call_all([self.manifests.notes])
        return notes

    async def forget(self, port: Port, backup: str) -> int:
        """Keep nothing for a backup any more, and return the number of contents deleted at once.

        These are contents of deleted documents, which no collection would find. It may be called again after a kill.
        """
        (prefixes,) = await port.call_all([partial(self.manifests.prefixes, backup)])
        deleted = 0
        for prefix in prefixes:
            deleted += await self._sweep(port, StoredFamily(prefix, ()), backup)
            await port.call_all([partial(self.manifests.drop, backup, prefix)])
        await port.call_all([partial(self.manifests.forget, backup)])
        return deleted

    async def copy(self, port: Port, to: Stored = None, source: Stored = None) -> CopiedContents:
        """Copy every content that the other store lacks, each read and verified: out of the class's own store, or
        into it from `source`. A listing; for each content a question, a read and a put."""
        source, to = _store(source, self.context.store), _store(to, self.context.store)
        families = Manifests(source, self.manifests.plural).families()
        most, copied = self.context.most, CopiedContents()
        walk = ((family.prefix, content) for family in families for content in family.contents)
        async for batch in _batches(port, walk, _CONTENTS_AT_ONCE):
            calls = [partial(_copied, Contents(source, p, most), Contents(to, p, most), each) for p, each in batch]
            for outcome in await port.call_all(calls):
                copied = copied.and_also(outcome)
        return copied

    async def take_over(self, port: Port) -> int:
        """Let this table collect garbage where another one of its name did, which is gone."""
        return await take_over_blobs(port, self.context, but_other_names=True)

    async def _sweep(self, port: Port, stored: StoredFamily, backup: str) -> int:
        """Delete the contents of a family whose documents are all deleted, but for what other backups keep."""
        family = await family_of(port, self.context, stored.root)
        if family is None or family.living or self.context.contents_of(family.root).prefix != stored.prefix:
            return 0
        try:
            await check_collector(port, self.context, family.root)
        except InvalidRequest:
            return 0  # another table uses them
        deleted = await delete_blobs(port, self.context.contents_of(family.root), but=backup)
        await forget_collector(port, self.context, family.root)
        return deleted


def _store(given: Stored, own: BlobStore) -> BlobStore:
    return own if given is None else LocalBlobs(given) if isinstance(given, Path) else given


def _copied(source: Contents, to: Contents, content: Content) -> CopiedContents:
    if to.has(content):
        return CopiedContents(there=1)
    try:
        to.write(content, source.read(content))
    except Corrupt:
        return CopiedContents(damaged=(source.path(content),))
    return CopiedContents(copied=1)


async def _batches(port: Port, walk: Iterator[T], size: int) -> AsyncIterator[list[T]]:
    """Some at a time of what blocks while it is walked through."""
    while True:
        (batch,) = await port.call_all([lambda: list(islice(walk, size))])
        if not batch:
            return
        yield batch
