"""Garbage: contents in the blob store that no version, no record of a mutation and no row of the inbox refers to.

They come from lost races, rejected mutations, and contents that were stored and never submitted. Collecting them needs
no clock, and no writer has to stop:

    list      the store's contents, then everything that refers to one; the unreachable rest is doomed
    condemn   put a row for each doomed content, with the name of this run
    raise     the epoch: a processor that began in an older one can't commit, and starts again
    look      again at what is new, and delete the rows of contents that are reachable now
    delete    mark the row as `deleting` on condition that it is still this run's; delete the content; delete the row
    note      what was looked at: the next collection reads what was written since (`family_look`)

A document shares its contents with its branches: the run looks at what each of them reaches, and raises the epoch of
each, the root's first. A branch that is made after that looks at the rows too, and reaches nothing that its origin does
not.

A writer that needs a condemned content takes its row away under the condition that it isn't `deleting`; at `deleting`
it waits until the row is gone, and puts the content again. A run that was overtaken finds its rows gone, or another
run's. A row that a dead run left at `deleting` stays, since a run that only sleeps could still delete: `take_over`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from singletable.documents.collectors import check_collector
from singletable.documents.conditions import clear, put_row_if
from singletable.documents.contents import ARGUMENTS, Content, Contents, content_of
from singletable.documents.context import Context
from singletable.documents.families import Family, all_rows, family_of, root_of
from singletable.documents.family_look import FamilyLook, Looked, keep_note, read_note
from singletable.documents.inbox import behind_gaps
from singletable.documents.manifests import kept_for_backups
from singletable.documents.read import (
    any_epoch_row,
    client_rows,
    epoch_row,
    not_found,
)
from singletable.documents.rows import (
    Condemned,
    DocumentRow,
    GcEpoch,
    InboxRow,
)
from singletable.errors import Denied, Unavailable
from singletable.events import MutationsDropped
from singletable.expressions import AttributeChange, Condition, Given, Stored
from singletable.flow import Port, Race
from singletable.foundation import ANY, Query, TryWrite, delete_if, is_absent, model_of, ready, update_if
from singletable.operations import PutItem, RefusedWrite
from singletable.schema import key_of
from singletable.values import AttributeValue


@dataclass(frozen=True)
class Collected:
    """The result of a garbage collection."""

    stored: int
    """Contents in the store at the beginning, of the collections that the class has."""
    deleted: int
    kept: int
    """Contents that were condemned and then found reachable."""
    left: int
    """Rows of an earlier run that are marked `deleting`, and contents that could not be deleted."""
    dropped: int = 0
    """Mutations that were deleted because they waited too long for a missing id. Clients can submit them again."""
    kept_for_backups: int = 0
    """Unreachable contents that stay, as a backup needs them, or is being made."""


async def collect_garbage(port: Port, context: Context[Any], document_id: str, *, take_over: bool = False) -> Collected:
    """Delete the contents that nothing reaches: of a document, and of all that share contents with it by branches.

    Safe with any number of concurrent writers and other collections.

    First it deletes mutations of the inbox that have waited for a missing id for longer than the document's bounds.

    The first time it reads every item of these documents but their versions'; later what was written since the
    collection before, and everything again after an erasure, a deletion, a restore or a kill. It lists the blobs, reads
    and writes a note with 32 bytes for each that is reached, and for each doomed one writes a unit three times.
    `take_over` also finishes what a run left at `deleting`, and makes this the table that collects: only when no other
    run of this document lives, and no other table uses its blobs.
    Raises NotFound; InvalidRequest where another table collects in these blobs.
    """
    await ready(port, context.model.table)
    own = await epoch_row(port, context, document_id)
    table = await check_collector(port, context, own, take_over=take_over)
    contents, root = context.contents_of(own), root_of(own)
    stored = await _stored(port, context, contents)
    run = GarbageRun(port, context, root, contents, port.token(), take_over)
    family = await run.family()
    dropped = await run.drop(family)
    noted = await read_note(port, context, contents, family.root, table)
    look = await run.look(family, noted)
    unreached = stored - look.reached
    doomed = unreached - await run.kept(unreached)
    spared = len(unreached) - len(doomed)
    left = await run.condemn(doomed, await run.rows())
    doomed -= left
    if not doomed and not await run.is_open(family):
        await keep_note(port, context, table, look, noted)
        return Collected(len(stored), 0, 0, len(left), dropped, spared)
    await run.raise_epochs()
    family = await run.family()
    look = await run.look(family, look.looked)
    reached = look.reached
    # Backups come after the look: what one that was made meanwhile needs is unreachable only since then.
    needed = await run.kept(doomed - reached)
    deleted, failed = await run.delete(doomed - reached - needed)
    await run.release(doomed & (reached | needed))
    await run.close()
    await keep_note(port, context, table, look, noted)
    kept = len(doomed) - deleted - failed - len(needed)
    return Collected(len(stored), deleted, kept, len(left) + failed, dropped, spared + len(needed))


async def unreached(port: Port, context: Context[Any], root: str, reached: set[Content]) -> set[Content]:
    """The contents that a collection would delete: nothing reaches them, no backup needs them, and no run is at them.

    `reached` is known to be reached. A listing of the family's contents, two where backups have to be asked; where some
    more are stored, also all that a collection reads.
    """
    family = await family_of(port, context, root)
    if family is None or not family.living:
        return set()
    contents = context.contents_of(family.root)
    run = GarbageRun(port, context, root, contents, "", False)
    rest = await _stored(port, context, contents) - reached
    if rest:
        rest -= (await run.look(family)).reached | {content_of(row.folder, row.sha256) for row in await run.rows()}
    return rest - await run.kept(rest)


async def _stored(port: Port, context: Context[Any], contents: Contents) -> set[Content]:
    """The contents in the store. Those of a collection that the class no longer has are left out: stored versions can
    refer to them."""
    known = {ARGUMENTS, *(model.folder for model in context.model.collections.values())}
    (stored,) = await port.call_all([lambda: {content for content in contents.list() if content.folder in known}])
    return stored


@dataclass
class GarbageRun:
    """One collection of one family's garbage."""

    port: Port
    context: Context[Any]
    root: str
    contents: Contents
    name: str
    take_over: bool

    # --- looking ------------------------------------------------------------------------------------------------------
    async def look(self, family: Family, since: Looked | None = None) -> FamilyLook:
        """Everything that the family reaches, from an earlier look on, if there is one that can be relied on."""
        return await FamilyLook(self.port, self.context, self.contents, family).run(since)

    async def family(self) -> Family:
        family = await family_of(self.port, self.context, self.root)
        if family is None:
            raise not_found(self.context, self.root)
        return family

    async def kept(self, unreached: set[Content]) -> set[Content]:
        """The contents that backups keep. Nothing is asked for none."""
        calls = [partial(kept_for_backups, self.contents, unreached)]
        return (await self.port.call_all(calls))[0] if unreached else set()

    async def drop(self, family: Family) -> int:
        """Delete mutations that waited too long for a missing id; returns their number."""
        return sum([await self._drop(document_id) for document_id in family.living])

    async def _drop(self, document_id: str) -> int:
        inbox: Query[InboxRow] = self.context.model.rows.inbox.by_id(document_id, ANY)
        rows = await all_rows(self.port, inbox)
        clients = await client_rows(self.port, self.context, document_id, [row.client for row in rows])
        since = self.port.now() - self.context.model.bounds.gap_seconds
        late = [r for r in behind_gaps(rows, clients) if r.at is None or r.at.timestamp() < since]
        if late:
            events, why = self.port.events, f"{len(late)} waited too long for one before them"
            events.emit(MutationsDropped(**self.context.event_fields(events, document_id), why=why))
            await clear(self.port, self.context, late)
        return len(late)

    async def rows(self) -> list[Condemned]:
        """The rows of condemned contents, of any run."""
        return await all_rows(self.port, self.context.model.rows.condemned.by_content(self.root, ANY))

    # --- condemning ---------------------------------------------------------------------------------------------------
    async def condemn(self, doomed: set[Content], rows: Sequence[Condemned]) -> set[Content | None]:
        """Put this run's rows for doomed contents, and take over other runs' rows. Returns the rows left to others."""
        left: set[Content | None] = set()
        for row in rows:
            content = content_of(row.folder, row.sha256)
            if row.deleting and self.take_over:
                await self._changed(row, {"run": {"S": self.name}}, _is("run", {"S": row.run}))
                doomed |= {content} if content is not None else set()
            elif row.deleting:
                left.add(content)
            elif content not in doomed:
                await self._remove(row, _is("deleting", {"BOOL": False}))
        taken = {content_of(row.folder, row.sha256) for row in rows if row.deleting}
        puts = [TryWrite(self._put(content)) for content in sorted(doomed - taken, key=_order)]
        if puts:
            await self.port.send_all(puts)
        return left

    def _put(self, content: Content) -> PutItem:
        undisturbed = is_absent(model_of(self.context.model.rows.condemned)) | _is("deleting", {"BOOL": False})
        return put_row_if(self._row(content), undisturbed)

    def _row(self, content: Content) -> Condemned:
        kind = self.context.model.rows.condemned
        sha256 = content.sha256
        return kind(document_id=self.root, folder=content.folder, sha256=sha256, run=self.name, deleting=False)

    async def is_open(self, family: Family) -> bool:
        """Whether a run before this one has not ended, as one of the epochs says."""
        epochs = [await self._epoch(row.branch) for row in family.branches if not row.deleted]
        return any(epoch is not None and epoch.open is not None for epoch in [family.root, *epochs])

    async def raise_epochs(self) -> None:
        """From now on no commit holds that began before, in any member of the family, and no branch is made of what
        was looked at before. The root is first: a branch that is made after that is open from its beginning."""
        await self._raise_epoch(self.root)
        for document_id in (await self.family()).living:
            if document_id != self.root:
                await self._raise_epoch(document_id)

    async def _epoch(self, document_id: str) -> GcEpoch | None:
        return await any_epoch_row(self.port, self.context, document_id)

    async def _raise_epoch(self, document_id: str) -> None:
        table = self.context.model.table.name
        race = Race(self.port, "collect_garbage", "another collection raised the document's epoch", table)
        race.hint = "Run one collection of a document at a time."
        while True:
            epoch = await self._epoch(document_id)
            if epoch is None or epoch.open == self.name:
                return  # the answer of an earlier try was lost
            values = {"epoch": {"N": str(epoch.epoch + 1)}, "open": {"S": self.name}}
            same = _is("epoch", {"N": str(epoch.epoch)})
            if await self._changed(epoch, values, same):
                return
            await race.lost()

    async def close(self) -> None:
        """Close the epoch if no row is left. Writers then skip the rows."""
        if await self.rows():
            return
        mine = _is("open", {"S": self.name})
        for document_id in dict.fromkeys([self.root, *(await self.family()).living]):
            epoch = await self._epoch(document_id)
            if epoch is not None and epoch.open == self.name:
                await self._changed(epoch, {"open": None}, mine)

    # --- deleting -----------------------------------------------------------------------------------------------------
    async def delete(self, doomed: set[Content]) -> tuple[int, int]:
        """Delete contents whose rows are still this run's. Returns the numbers deleted and not deletable."""
        mine = _is("run", {"S": self.name})
        deleted = failed = 0
        for content in sorted(doomed, key=_order):
            row = self._row(content)
            if not await self._changed(row, {"deleting": {"BOOL": True}}, mine):
                continue
            try:
                await self.port.call_all([partial(self.contents.delete, content)])
            except (Unavailable, Denied):
                failed += 1  # the delete may still take effect: the row stays
                continue
            await self._remove(row, mine)
            deleted += 1
        return deleted, failed

    async def release(self, reached: set[Content]) -> None:
        """Delete the rows of contents that are reachable after all."""
        held = _is("run", {"S": self.name}) & _is("deleting", {"BOOL": False})
        for content in sorted(reached, key=_order):
            await self._remove(self._row(content), held)

    async def _remove(self, row: Condemned, held: Condition) -> None:
        try:
            await self.port.send(delete_if(key_of(row), held))
        except RefusedWrite:
            return  # a writer or another run was first

    async def _changed(self, row: DocumentRow, values: Mapping[str, AttributeValue | None], held: Condition) -> bool:
        """Update attributes to constants (None removes one) under a condition. Returns False if the condition fails."""
        changes = [AttributeChange(name, value) for name, value in values.items()]
        try:
            await self.port.send(update_if(key_of(row), changes, held))
        except RefusedWrite:
            return False
        return True


def _order(content: Content) -> tuple[str, bytes]:
    return content.folder, content.digest


def _is(name: str, value: AttributeValue) -> Condition:
    return Condition("=", (Stored(name), Given(value)))
