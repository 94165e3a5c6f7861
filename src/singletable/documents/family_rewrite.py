"""Takes a person out of documents that stay: a document and all that share contents with it, with all their versions.

    look      the records and the inbox of each member, then the contents that anything refers to, then the versions
    renew     one new version of each living member whose newest one has to change, in a transaction as any commit
    rewrite   the scalars and collections that are older: each item is updated in its place
    look      again: a writer may have taken over what was older. So on until there is nothing
    clear     the arguments and principals of the records

The contents that nothing reaches then go with the next collection of garbage: whoever calls this runs one.

A version keeps its number, its items and their ids; a content that mentions them is replaced by one that doesn't. So
history can be read, restored and compared as before. Pruning instead would take from everybody what one person had a
word in, and a restore to an older version would lose the items of others.

A version that was rewritten says so: a client that has it is sent everything again, since the difference to what it
holds is not known any more. Records go last: by them a run that was killed finds what it has to go on with.

Items that refer to a new content are written on condition of the root's epoch, as commits are, so that no garbage
collection deletes it meanwhile. The same transactions put a fresh text into the epoch: what a collection has noted of
items before is not true any more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from singletable.documents.arguments import refs_in, texts_of
from singletable.documents.batches import leave_what_does_not_fit
from singletable.documents.canonical_json import digest_of
from singletable.documents.conditions import COMMITTED, ensure_contents, race_with_garbage, same_epoch
from singletable.documents.contents import Content
from singletable.documents.context import Context
from singletable.documents.drafts import WorkingVersion
from singletable.documents.erased_arguments import (
    OF_NOBODY,
    arguments_without,
    content_without,
    learn_from,
    record_values,
    scalars_without,
)
from singletable.documents.erased_traces import Traces
from singletable.documents.families import family_of, pages
from singletable.documents.inbox import HeadState
from singletable.documents.personal import Erased
from singletable.documents.read import (
    CollectionKey,
    any_epoch_row,
    collection_key,
    contents_in,
    epoch_row,
    hashes_of,
    newest,
)
from singletable.documents.rows import (
    CollectionVersion,
    DocumentRow,
    GcEpoch,
    InboxRow,
    MutationRecord,
    Version,
    version_id,
)
from singletable.documents.snapshots import scalars_of
from singletable.documents.version_transaction import actions_of
from singletable.errors import Corrupt, NotFound, TooLarge
from singletable.expressions import AttributeChange
from singletable.flow import Port, Race
from singletable.foundation import ANY, Query, is_type, model_for, update_if
from singletable.operations import ReasonedCancellation, RefusedWrite, TransactAction, TransactWriteItems
from singletable.schema import key_of
from singletable.values import changed, from_attribute_value

READ_AT_ONCE = 64
_RECORDS_AT_ONCE = 100
_TRIES = 50
_HINT = "A part may be erased already. Erase again, with fewer writers at once: it goes on."
_WRITTEN_AT_ONCE = 8
"""Items of up to 400 KB, in a transaction of 4 MB."""

Record = MutationRecord | InboxRow
Change = tuple[TransactAction, Mapping[Content, bytes | None]]
"""The change of an item, and the contents that it refers to then."""


class FamilyRewrite:
    """The erasure of persons from one document and its branches."""

    def __init__(
        self, port: Port, context: Context[Any], root: str, erased: Erased, clean: set[tuple[str, Content]]
    ) -> None:
        self.port, self.context, self.root, self.erased = port, context, root, erased
        self.clean = clean
        """Contents that were looked at before, by an erasure of the same persons, and say nothing of them."""
        self.traces = Traces()
        self.members: list[str] = []
        self.living: list[str] = []
        self.held: set[Content] = set()
        """The contents in versions of collections, of those that may say something of a person."""
        self.own: set[tuple[str, str, int]] = set()
        """Their mutations that had been applied at the last look: what those wrote was looked at after them."""
        self.same: set[Content] = set()
        """Contents without any of the texts that are known so far."""
        self.put_in: tuple[int, str | None] | None = None
        self.put: set[Content] = set()
        """The contents that were put in the root's epoch `put_in`: while it lasts, none of them is deleted."""

    # --- looking ------------------------------------------------------------------------------------------------------
    async def look(self) -> Traces:
        """Find what has to change. Reads every item of the family but its clients, and each content that may say
        something of a person."""
        family = await family_of(self.port, self.context, self.root)
        if family is None:
            return self.traces
        self.contents = self.context.contents_of(family.root)
        self.members, self.living = family.members, family.living
        referred: set[Content] = set()
        known, names = set(self.erased.texts), set[str]()
        self.own = set()
        for document_id in self.members:
            async for rows, texts in self._records(document_id):
                referred |= {ref for text in texts for ref in refs_in(text)}
                names |= {row.principal for row in rows if row.principal is not None}
                self.own |= {
                    _place(row) for row in rows if type(row) is not InboxRow and self.erased.is_by(row.principal)
                }
                self.traces.records += sum(map(self._is_changed, rows, texts))
        await self._settle(names)
        models = self.context.model.collections.values()
        folders = {model.folder for model in models if model.says_anything}
        self.held = set()
        for document_id in self.members:
            async for name, parts in self._collections(document_id):
                self.held |= contents_in(self.context, name, parts)
        if self.erased.texts != known:
            self.same.clear()
            self.traces.contents.clear()
        await self._look_at(self.held | {content for content in referred if content.folder in folders})
        known = set(self.erased.texts)
        self.erased.settle()
        if self.erased.texts != known:  # some only name somebody, as contents have shown
            again, self.traces.contents = {*self.traces.contents}, {}
            await self._look_at(again)
        for document_id in self.members:
            async for versions in self._versions(document_id):
                self.traces.versions += sum(self._scalars(row) is not None for row in versions)
        return self.traces

    async def _settle(self, names: set[str]) -> None:
        """Decide which texts are theirs. Reads each version where it is not declared which ones are personal."""
        for document_id in self.members if self.erased.guesses else ():
            async for versions in self._versions(document_id):
                for version in versions:
                    self._scalars(version)  # which takes in whom it names
            for kind in self.context.model.rows.collections.values():
                query: Query[CollectionVersion] = kind.by_number(document_id, ANY)
                async for parts in pages(self.port, query):
                    names |= {id for part in parts for id in part.items}
        self.erased.settle(names)

    def _is_changed(self, row: Record, text: str) -> bool:
        if self.erased.is_by(row.principal):
            learn_from(self.context, self.erased, row.name, text)
            return True
        return self._arguments(row, text) != text

    def _arguments(self, row: Record, text: str) -> str:
        own = self.erased.is_by(row.principal)
        after = arguments_without(self.context, self.erased, row.name, text, own=own)
        for ref in refs_in(after) & self.traces.contents.keys():
            new, _ = self.traces.contents[ref]
            after = after.replace(f'"{ref.folder}/{ref.sha256}"', f'"{new.folder}/{new.sha256}"')
        return after

    def _scalars(self, row: Version) -> Mapping[str, Any] | None:
        """A version's scalars without them; None where they stay."""
        stored = scalars_of(row)
        after = scalars_without(self.context, self.erased, stored)
        return None if after == stored else {name: from_attribute_value(value) for name, value in after.items()}

    async def _look_at(self, reached: set[Content]) -> None:
        models = {model.folder: model for model in self.context.model.collections.values()}
        prefix, learns = self.contents.prefix, bool(self.erased.texts)
        wanted = sorted(reached - self.same - self.traces.contents.keys(), key=lambda each: (each.folder, each.digest))
        wanted = [content for content in wanted if learns or (prefix, content) not in self.clean]
        for i in range(0, len(wanted), READ_AT_ONCE):
            some = wanted[i : i + READ_AT_ONCE]
            calls: list[Callable[[], bytes | Corrupt | None]] = [
                partial(content_without, self.contents, models[content.folder], content, self.erased)
                for content in some
            ]
            for content, data in zip(some, await self.port.call_all(calls), strict=True):
                if data is None:
                    self.same.add(content)
                    self.clean |= set() if learns else {(prefix, content)}
                elif isinstance(data, Corrupt):
                    self.traces.unreadable += 1
                else:
                    self.traces.contents[content] = Content(content.folder, digest_of(data)), data

    # --- the items of a member ----------------------------------------------------------------------------------------
    async def _records(self, document_id: str) -> AsyncIterator[tuple[Sequence[Record], list[str]]]:
        """The inbox first: a row that leaves it after this read has become a record, which is read next."""
        rows = self.context.model.rows
        for query in (rows.inbox.by_id(document_id, ANY), rows.mutation.by_id(document_id, ANY)):
            async for page in pages(self.port, query, _RECORDS_AT_ONCE):
                yield page, await texts_of(self.port, self.contents, page)

    async def _collections(self, document_id: str) -> AsyncIterator[tuple[str, Sequence[CollectionVersion]]]:
        """The versions of collections that may say something of a person."""
        for name, kind in self.context.model.rows.collections.items():
            if self.context.model.collections[name].says_anything:
                query: Query[CollectionVersion] = kind.by_number(document_id, ANY)
                async for page in pages(self.port, query):
                    yield name, page

    async def _versions(self, document_id: str) -> AsyncIterator[Sequence[Version]]:
        async for page in pages(self.port, self.context.model.rows.version.by_number(document_id, ANY)):
            yield page

    # --- changing -----------------------------------------------------------------------------------------------------
    async def change(self) -> None:
        """Make the changes that `look` found, and what it finds again. The contents that nothing reaches then are the
        next collection's.

        The records are last, and their own the very last, as they say what was theirs: by then nothing else has it, and
        what began before can't end. A mutation of theirs that was applied after the last look keeps its record: by it
        the next search finds what it wrote.
        """
        what = "others took over what older versions held"
        race = self._race(what)
        while True:
            await self._reject_waiting()
            await self._rewrite()
            await self._raise_epochs()
            self.traces = Traces(contents=self.traces.contents)
            await self.look()
            if not self.traces.versions and self.held.isdisjoint(self.traces.contents):
                break
            await race.lost()
        for own in (False, True):
            for document_id in self.members:
                async for rows, texts in self._records(document_id):
                    await self._write_records(rows, texts, own=own)

    def _race(self, what: str) -> Race:
        return Race(self.port, "erase", what, self.context.model.table.name, hint=_HINT, tries=_TRIES)

    async def _reject_waiting(self) -> None:
        """See to it that no mutation of theirs is applied any more."""
        for document_id in self.members:
            async for page in pages(self.port, self.context.model.rows.inbox.by_id(document_id, ANY), _RECORDS_AT_ONCE):
                await self._write([(_update(row, **OF_NOBODY), {}) for row in page if self.erased.is_by(row.principal)])

    async def _raise_epochs(self) -> None:
        """No commit holds that began before, in any member. One of a garbage collection meanwhile has that effect."""
        for document_id in dict.fromkeys([self.root, *self.living]):
            epoch = await any_epoch_row(self.port, self.context, document_id)
            if epoch is not None:
                raised = AttributeChange("epoch", {"N": str(epoch.epoch + 1)})
                with suppress(RefusedWrite):
                    await self.port.send(update_if(key_of(epoch), [raised], same_epoch(epoch)))

    async def _rewrite(self) -> None:
        for document_id in self.living:
            with suppress(NotFound):  # deleted meanwhile
                await self._renew(document_id)
        touched = {key async for key in self._touched()}
        for document_id in self.members:
            async for versions in self._versions(document_id):
                updates = [self._new_version(row, touched) for row in versions]
                await self._write([(update, {}) for update in updates if update is not None])
        for document_id in self.members:
            async for name, parts in self._collections(document_id):
                changes = [(row, items) for row in parts if (items := self._items(name, row))]
                await self._write([(_update(row, items=items), self._new_in(name, items)) for row, items in changes])

    async def _renew(self, document_id: str) -> None:
        """Commit a version without them, where the newest one has them: several, where one can't hold all of it."""
        race = self._race(COMMITTED)
        while True:
            epoch = await epoch_row(self.port, self.context, document_id)
            working = await self._working(await newest(self.port, self.context, document_id))
            if working is None:
                return
            version, draft = working
            is_all = leave_what_does_not_fit(draft)
            await ensure_contents(self.port, self.context, epoch, self.contents, self._needed(draft))
            state, token = HeadState(version, epoch, {}, [], [], []), self.port.token()
            actions = actions_of(self.context, state, draft, (), self.port.now(), version_id(token))
            try:
                await self.port.send(TransactWriteItems(actions, token))
            except ReasonedCancellation:
                await race.lost()
            except TooLarge as error:
                hint = "Delete items of its largest collection, and erase again."
                raise TooLarge(error.what, key=key_of(version), operation="erase", hint=hint) from None
            else:
                if is_all:
                    return

    async def _working(self, version: Version) -> tuple[Version, WorkingVersion] | None:
        hashes = await hashes_of(self.port, self.context, version, tuple(self.context.model.collections))
        stored = scalars_of(version)
        scalars = scalars_without(self.context, self.erased, stored)
        draft = WorkingVersion(self.context, self.contents, version.parent, version.document_id, scalars, hashes)
        for name, own in hashes.items():
            folder = self.context.model.collections[name].folder
            new = {id: self.traces.contents.get(Content(folder, digest)) for id, digest in own.items()}
            if any(new.values()):
                draft.changed[name] = {id: pair[0].digest for id, pair in new.items() if pair is not None}
        return (version, draft) if draft.changed or scalars != stored else None

    def _needed(self, draft: WorkingVersion) -> dict[Content, bytes | None]:
        new: dict[Content, bytes] = dict(self.traces.contents.values())
        return {content: new.get(content) for content in draft.needed()}

    def _new_in(self, name: str, items: Mapping[str, bytes]) -> dict[Content, bytes | None]:
        folder, new = self.context.model.collections[name].folder, dict(self.traces.contents.values())
        return {each: new[each] for digest in items.values() if (each := Content(folder, digest)) in new}

    async def _touched(self) -> AsyncIterator[CollectionKey]:
        """The versions of collections that refer to a content which has to go."""
        for document_id in self.members:
            async for name, parts in self._collections(document_id):
                for row in parts:
                    if self._items(name, row):
                        yield CollectionKey(document_id, name, row.number)

    def _items(self, name: str, row: CollectionVersion) -> dict[str, bytes] | None:
        """The items of a collection's version with the new contents; None where nothing changes."""
        folder = self.context.model.collections[name].folder
        contents = [self.traces.contents.get(Content(folder, digest)) for digest in row.items.values()]
        if not any(contents):
            return None
        pairs = zip(row.items.items(), contents, strict=True)
        return {id: digest if new is None else new[0].digest for (id, digest), new in pairs}

    def _new_version(self, row: Version, touched: set[CollectionKey]) -> TransactAction | None:
        scalars = self._scalars(row)
        keys = [collection_key(row, name) for name in self.context.model.collections]
        if scalars is None and touched.isdisjoint(key for key in keys if key is not None):
            return None
        return _update(row, scalars=row.scalars if scalars is None else scalars, rewritten=True)

    async def _write_records(self, rows: Sequence[Record], texts: Sequence[str], *, own: bool) -> None:
        new = dict(self.traces.contents.values())
        changes: list[Change] = []
        for row, text in zip(rows, texts, strict=True):
            if self.erased.is_by(row.principal) != own:
                continue
            after = self._arguments(row, text)
            if own and isinstance(row, InboxRow):
                changes.append((_update(row, **OF_NOBODY), {}))
            elif own and _place(row) not in self.own:
                continue
            elif own or after != text:
                needed: dict[Content, bytes | None] = {ref: new[ref] for ref in refs_in(after) if ref in new}
                changes.append((_update(row, **record_values(row, after, needed, own=own)), needed))
        await self._write(changes)

    async def _write(self, changes: Sequence[Change]) -> None:
        """Change items that are there still, a few at a time, each time on condition of the root's epoch."""
        for i in range(0, len(changes), _WRITTEN_AT_ONCE):
            some = changes[i : i + _WRITTEN_AT_ONCE]
            needed = {content: data for _, contents in some for content, data in contents.items()}
            await self._write_some([action for action, _ in some], needed)

    async def _write_some(self, actions: Sequence[TransactAction], needed: Mapping[Content, bytes | None]) -> None:
        race = race_with_garbage(self.port, self.context, "erase")
        race.hint = _HINT
        left: list[TransactAction] = [*actions]
        while left:
            epoch = await any_epoch_row(self.port, self.context, self.root)
            assert epoch is not None, "an epoch is never deleted"
            if self.put_in != (epoch.epoch, epoch.open):
                self.put_in, self.put = (epoch.epoch, epoch.open), set()
            rest = {content: data for content, data in needed.items() if content not in self.put}
            await ensure_contents(self.port, self.context, epoch, self.contents, rest)
            self.put |= rest.keys()
            try:
                token = self.port.token()
                await self.port.send(TransactWriteItems([*left, _rewritten(epoch, token)], token))
            except ReasonedCancellation as lost:
                pairs = zip(left, lost.reasons, strict=False)
                left = [action for action, reason in pairs if reason.code != "ConditionalCheckFailed"]
                await race.lost()
            else:
                return


def _place(row: Record) -> tuple[str, str, int]:
    return row.document_id, row.client, row.id


def _rewritten(epoch: GcEpoch, token: str) -> TransactAction:
    """The mark that items were changed where they lie: no collection of garbage takes an earlier look at them. Held on
    condition of the epoch, as commits are."""
    return update_if(key_of(epoch), [AttributeChange("rewritten", {"S": token})], same_epoch(epoch))


def _update(row: DocumentRow, **values: Any) -> TransactAction:
    """The change of some attributes of an item that is there."""
    model = model_for(row)
    item, stored = model.item(changed(row, **values)), [model.by_name[name].stored for name in values]
    return update_if(key_of(row), [AttributeChange(name, item.get(name)) for name in stored], is_type(model))
