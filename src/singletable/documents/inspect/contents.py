"""The history of a document with its contents: each change of an item, and each mutation with its arguments.

Contents and arguments are JSON texts. `hide` is called with each part of one that is declared to be personal or to name
somebody; with the whole of one of which nothing is declared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import Struct

from singletable.documents.changes import diff_hashes
from singletable.documents.contents import ARGUMENTS, Content, Contents
from singletable.documents.context import Context
from singletable.documents.families import pages
from singletable.documents.personal import hidden
from singletable.documents.read import CollectionKey, any_epoch_row, are_whole, merged, parts_of
from singletable.documents.rows import CollectionVersion, MutationRecord, Version
from singletable.documents.snapshots import SIDE_BY_SIDE, Hashes
from singletable.errors import Corrupt, InvalidValue
from singletable.flow import Port
from singletable.foundation import ANY, Query, get as get_row

Hide = Callable[[Any], Any]
Change = Literal["added", "changed", "removed"]
_UNREADABLE = (Corrupt, RecursionError)


class ItemVersion(Struct, frozen=True):
    """An item of a collection, as one version of its document changed it."""

    version: int
    id: str
    change: Change
    sha256: str | None
    """The name of its content; None for a removed item."""
    content: str | None = None
    """Its content as JSON, of the current version; None for a removed item, and for a content that can't be read."""


class RecordedMutation(Struct, frozen=True):
    """A mutation that was applied or rejected."""

    record: MutationRecord
    principal: str | None
    error: str | None
    arguments: str | None
    """Its arguments as JSON; None if they can't be read."""


@dataclass(frozen=True)
class ContentHistory:
    """The history of one document."""

    port: Port
    context: Context[Any]
    document_id: str
    hide: Hide | None = None
    """None: nothing is hidden."""

    async def items(self, name: str) -> AsyncIterator[list[ItemVersion]]:
        """Every change of a collection's items, up to 16 at a time, oldest first.

        A branch's begin with the items that it was branched with, as added by version 0. Reads each version of the
        collection, a unit for each 4 KB, and each content that was added or changed.
        """
        before: Hashes = {}
        async for version, contents, after in self._versions(name):
            changes = list(_changes(version, before, after))
            for start in range(0, len(changes), SIDE_BY_SIDE):
                some = changes[start : start + SIDE_BY_SIDE]
                yield await self.port.call_all([partial(self._with_content, name, contents, change) for change in some])
            before = after

    async def mutations(self) -> AsyncIterator[list[RecordedMutation]]:
        """Every mutation, up to 16 at a time, in the order of clients and ids. Reads the records, a unit for each 4 KB,
        and each of the arguments that lie in the blob store."""
        epoch = await any_epoch_row(self.port, self.context, self.document_id)
        if epoch is None:
            return
        contents = self.context.contents_of(epoch)
        every: Query[MutationRecord] = self.context.model.rows.mutation.by_id(self.document_id, ANY)
        async for records in pages(self.port, every):
            for start in range(0, len(records), SIDE_BY_SIDE):
                some = records[start : start + SIDE_BY_SIDE]
                yield await self.port.call_all([partial(self._with_arguments, contents, record) for record in some])

    # --- versions -----------------------------------------------------------------------------------------------------
    async def _versions(self, name: str) -> AsyncIterator[tuple[int, Contents, Hashes]]:
        """The versions of a collection. One that lacks a part, as its document is being deleted, is left out."""
        async for first in self._branched(name):
            yield first
        parts: list[CollectionVersion] = []
        every: Query[CollectionVersion] = self.context.model.rows.collections[name].by_number(self.document_id, ANY)
        async for page in pages(self.port, every):
            for part in page:
                if part.spill == 0:
                    parts = []
                parts.append(part)
                if part.spill == part.spills - 1 and are_whole(parts):
                    yield part.number, self.context.contents_of(part), merged(parts, name, part.number)

    async def _branched(self, name: str) -> AsyncIterator[tuple[int, Contents, Hashes]]:
        """The collection that a branch began with."""
        key: Any = self.context.model.rows.version.by_number(self.document_id, 0)
        version: Version | None = await get_row(self.port, key.consistent())
        source = None if version is None else (version.sources or {}).get(name)
        if version is not None and source is not None:
            wanted = CollectionKey(source.document_id, name, source.number)
            (parts,) = await parts_of(self.port, self.context, [wanted])
            if are_whole(parts):
                yield 0, self.context.contents_of(version), merged(parts, name, source.number)

    # --- texts --------------------------------------------------------------------------------------------------------
    def _with_content(self, name: str, contents: Contents, change: ItemVersion) -> ItemVersion:
        """Blocks."""
        if change.sha256 is None:
            return change
        content = Content(self.context.model.collections[name].folder, bytes.fromhex(change.sha256))
        try:
            return msgspec.structs.replace(change, content=self._content(name, contents.read(content)))
        except _UNREADABLE:
            return change

    def _content(self, name: str, data: bytes) -> str:
        model = self.context.model.collections[name]
        text = model.codec.json_of(data)
        if self.hide is None:
            return text.decode()
        raw = msgspec.json.decode(text)
        if not model.is_declared:
            return _text(self.hide(raw))
        return _text(hidden(raw, model.codec.decode_json(text), self.hide, model.names))

    def _with_arguments(self, contents: Contents, record: MutationRecord) -> RecordedMutation:
        """Blocks where they lie in a blob."""
        shown = self.hide or _as_it_is
        told = shown(record.principal), shown(record.error)
        try:
            return RecordedMutation(record, *told, self._arguments(record, _text_of(contents, record)))
        except _UNREADABLE:
            return RecordedMutation(record, *told, None)

    def _arguments(self, record: MutationRecord, text: str) -> str:
        if self.hide is None:
            return text
        mutator, raw = self.context.model.mutators.get(record.name), msgspec.json.decode(text)
        if mutator is None or not mutator.says_personal:
            return _text(self.hide(raw))
        try:
            value = mutator.decode(text)
        except InvalidValue:  # of a client that sent something else: it was rejected
            return _text(self.hide(raw))
        return _text(hidden(raw, value, self.hide, mutator.names))


def _changes(version: int, before: Hashes, after: Hashes) -> Iterator[ItemVersion]:
    diff = diff_hashes(before, after)
    named: Sequence[tuple[Change, Sequence[str]]] = (
        ("added", diff.added),
        ("changed", diff.changed),
        ("removed", diff.removed),
    )
    for change, ids in named:
        for id in ids:
            yield ItemVersion(version, id, change, after[id].hex() if id in after else None)


def _as_it_is(part: Any) -> Any:
    return part


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _text_of(contents: Contents, record: MutationRecord) -> str:
    if record.arguments is not None:
        return record.arguments
    return contents.read(Content(ARGUMENTS, record.arguments_blob or b"")).decode()
