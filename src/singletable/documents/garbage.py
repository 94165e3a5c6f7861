"""Garbage: contents in the blob store that no version, no record of a mutation and no row of the inbox reaches.

They come from lost races, rejected mutations and contents that were stored and never submitted. Collecting them needs
no clock, and no writer has to stop:

    list      the store's contents, then everything that reaches one; the rest is doomed
    condemn   a row for each doomed content, with the name of this run
    raise     the epoch: whoever began in an older one can't commit any more, and starts afresh
    look      again at what was committed meanwhile, and take the rows of what is reached now away
    delete    a row becomes `deleting` under the condition that it is this run's still, then the content goes, then
              the row

A writer that needs a condemned content takes its row away under the condition that it isn't `deleting`; at `deleting`
it waits until the row is gone, and puts the content again. A run that was overtaken finds its rows gone, or another
run's. A row that a dead run left at `deleting` stays, since a run that only sleeps could still delete: `take_over`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from singletable.documents.conditional_put import TolerantPut, clear
from singletable.documents.contents import ARGUMENTS, Content, Contents, content_of
from singletable.documents.context import Context
from singletable.documents.head_state import behind_gaps
from singletable.documents.read import client_rows, epoch_row, newest, record_rows, versions_since
from singletable.documents.rows import CollectionVersion, Condemned, InboxRow, MutationRecord, Version
from singletable.documents.submission import refs_in
from singletable.errors import Denied, TransactionConflict, Unavailable
from singletable.expressions import AttributeChange, Condition, Expressions, Given, Stored
from singletable.flow.port import Port
from singletable.foundation import ANY, Query, after, guard, is_absent, model_of, prepare_query, ready
from singletable.operations import DeleteItem, Guard, Key, PutItem, Refused, UpdateItem
from singletable.operations.answers import RAW
from singletable.values import AttributeValue

R = TypeVar("R")

log = logging.getLogger("singletable.documents")

_TRIES = 20


@dataclass(frozen=True)
class Collected:
    """What a collection of garbage did."""

    stored: int
    """Contents in the store when it began, of the collections that the class has."""
    deleted: int
    kept: int
    """Condemned, and reached after all."""
    left: int
    """Rows of an earlier run that are at `deleting`, and contents that could not be deleted."""
    dropped: int = 0
    """Mutations that waited too long for a missing id before them. Their clients can submit them again."""


@dataclass
class _Reached:
    """What is reached, and how far was looked."""

    version: Version
    contents: set[Content] = field(default_factory=set[Content])


async def collect_garbage(port: Port, context: Context[Any], document_id: str, *, take_over: bool = False) -> Collected:
    """Delete the contents that nothing reaches. Safe beside any number of writers and other collections.

    First it takes out of the inbox what has waited for a missing id for longer than the document's bounds say.

    It reads every item of the document but its versions', lists its blobs, and for each doomed one writes a unit three
    times. `take_over` also finishes what a run left at `deleting`: only when no other run of this document lives.
    NotFound.
    """
    await ready(port, context.model.table)
    epoch = await epoch_row(port, context, document_id)
    contents = context.contents(epoch.parent, document_id)
    known = {ARGUMENTS, *(model.folder for model in context.model.collections.values())}
    # The contents of a collection that the class has no more stay: versions that are kept can reach them.
    (stored,) = await port.call_all([lambda: {content for content in contents.list() if content.folder in known}])
    run = _Run(port, context, document_id, contents, port.token(), take_over)
    dropped = await run.drop()
    reached = _Reached(await newest(port, context, document_id))
    await run.look(reached, None)
    doomed = stored - reached.contents
    left = await run.condemn(doomed, await run.rows())
    doomed -= left
    if not doomed and epoch.open is None:
        return Collected(len(stored), 0, 0, len(left), dropped)
    await run.raise_epoch()
    since, reached.contents = reached.version, set()
    await run.look(reached, since)
    deleted, failed = await run.delete(doomed - reached.contents)
    await run.release(doomed & reached.contents)
    await run.close()
    return Collected(len(stored), deleted, len(doomed) - deleted - failed, len(left) + failed, dropped)


@dataclass
class _Run:
    """One collection of one document's garbage."""

    port: Port
    context: Context[Any]
    document_id: str
    contents: Contents
    name: str
    take_over: bool

    # --- looking ------------------------------------------------------------------------------------------------------
    async def look(self, reached: _Reached, since: Version | None) -> None:
        """Add what is reached; after a version, only by what was committed since, and by what waits."""
        rows, document_id = self.context.model.rows, self.document_id
        # What waits first: a row that is gone by then has become a record, which is read afterwards.
        inbox: Query[InboxRow] = rows.inbox.by_id(document_id, ANY)
        async for waiting in self._pages(inbox):
            reached.contents |= await self._of_mutations(waiting)
        if since is None:
            read_all: Query[MutationRecord] = rows.mutation.by_id(document_id, ANY)
            async for records in self._pages(read_all):
                reached.contents |= await self._of_mutations(records)
        else:
            reached.version = await newest(self.port, self.context, document_id)
            versions = await versions_since(self.port, self.context, document_id, since.number, reached.version.number)
            places = [(each.client, each.id) for version in versions for each in version.mutations]
            found = await record_rows(self.port, self.context, document_id, places)
            reached.contents |= await self._of_mutations(found)
        for name, row in rows.collections.items():
            number: Any = ANY if since is None else after(since.collections.get(name, 0))
            parts: Query[CollectionVersion] = row.by_number(document_id, number)
            folder = self.context.model.collections[name].folder
            async for page in self._pages(parts):
                reached.contents |= {Content(folder, digest) for part in page for digest in part.items.values()}

    async def _of_mutations(self, rows: Sequence[InboxRow] | Sequence[MutationRecord]) -> set[Content]:
        """Arguments in blobs, and what arguments refer to."""
        blobs = {Content(ARGUMENTS, row.arguments_blob) for row in rows if row.arguments_blob is not None}
        wanted = [row.arguments_blob for row in rows if row.arguments_blob is not None and row.refers]
        calls: list[Callable[[], bytes]] = [partial(self.contents.read, Content(ARGUMENTS, d)) for d in wanted]
        texts = [data.decode() for data in (await self.port.call_all(calls) if calls else [])]
        texts += [row.arguments for row in rows if row.arguments is not None]
        return blobs | {ref for text in texts for ref in refs_in(text)}

    async def drop(self) -> int:
        """Delete mutations that waited too long for a missing id; returns their number."""
        inbox: Query[InboxRow] = self.context.model.rows.inbox.by_id(self.document_id, ANY)
        rows = [row async for page in self._pages(inbox) for row in page]
        clients = await client_rows(self.port, self.context, self.document_id, [row.client for row in rows])
        since = self.port.now() - self.context.model.bounds.gap_seconds
        late = [r for r in behind_gaps(rows, clients) if r.at is None or r.at.timestamp() < since]
        if late:
            log.warning("%d mutations waited too long for one before them, and are dropped", len(late))
            await clear(self.port, self.context, late)
        return len(late)

    async def rows(self) -> list[Condemned]:
        """What is condemned, by any run."""
        condemned: Query[Condemned] = self.context.model.rows.condemned.by_content(self.document_id, ANY)
        return [row async for page in self._pages(condemned) for row in page]

    async def _pages(self, query: Query[R]) -> AsyncIterator[list[R]]:
        prepared = prepare_query(query.consistent(), self.port.now())
        position: Key | None = None
        while True:
            page = await self.port.send(prepared.operation(position, None))
            yield page.items
            position = page.after
            if position is None:
                return

    # --- condemning ---------------------------------------------------------------------------------------------------
    async def condemn(self, doomed: set[Content], rows: Sequence[Condemned]) -> set[Content | None]:
        """Rows of this run for what is doomed; those of other runs become ours. Gives what is left to others."""
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
        puts = [TolerantPut(self._put(content)) for content in sorted(doomed - taken, key=_order)]
        if puts:
            await self.port.send_all(puts)
        return left

    def _put(self, content: Content) -> PutItem:
        model = model_of(self.context.model.rows.condemned)
        row = self._row(content)
        undisturbed = is_absent(model) | _is("deleting", {"BOOL": False})
        return PutItem(model.table.name, model.item(row), guard(model, undisturbed))

    def _row(self, content: Content) -> Condemned:
        kind = self.context.model.rows.condemned
        sha256 = content.sha256
        return kind(document_id=self.document_id, folder=content.folder, sha256=sha256, run=self.name, deleting=False)

    async def raise_epoch(self) -> None:
        """From now on no commit holds that began before."""
        for _ in range(_TRIES):
            epoch = await epoch_row(self.port, self.context, self.document_id)
            if epoch.open == self.name:
                return  # an answer was lost
            values = {"epoch": {"N": str(epoch.epoch + 1)}, "open": {"S": self.name}}
            same = _is("epoch", {"N": str(epoch.epoch)})
            if await self._changed(epoch, values, same):
                return
        raise TransactionConflict(
            f"other collections raised the epoch at each of {_TRIES} tries",
            table=self.context.model.table.name,
            operation="collect_garbage",
            hint="Run one collection of a document at a time.",
        )

    async def close(self) -> None:
        """Writers need look at no rows any more, where none is left."""
        epoch = await epoch_row(self.port, self.context, self.document_id)
        if epoch.open == self.name and not await self.rows():
            mine = _is("open", {"S": self.name})
            await self._changed(epoch, {"open": None}, mine)

    # --- deleting -----------------------------------------------------------------------------------------------------
    async def delete(self, doomed: set[Content]) -> tuple[int, int]:
        """Delete what is still ours; returns the numbers deleted and not deletable."""
        mine = _is("run", {"S": self.name})
        deleted = failed = 0
        for content in sorted(doomed, key=_order):
            row = self._row(content)
            if not await self._changed(row, {"deleting": {"BOOL": True}}, mine):
                continue
            try:
                await self.port.call_all([partial(self.contents.delete, content)])
            except (Unavailable, Denied):
                failed += 1  # it may be deleted yet: the row stays
                continue
            await self._remove(row, mine)
            deleted += 1
        return deleted, failed

    async def release(self, reached: set[Content]) -> None:
        """Take the rows of what is reached after all away."""
        held = _is("run", {"S": self.name}) & _is("deleting", {"BOOL": False})
        for content in sorted(reached, key=_order):
            await self._remove(self._row(content), held)

    async def _remove(self, row: Condemned, held: Condition) -> None:
        model = model_of(self.context.model.rows.condemned)
        try:
            await self.port.send(
                DeleteItem(model.table.name, model.key_item(model.key_of(row)), guard(model, held), RAW)
            )
        except Refused:
            return  # a writer or another run was first

    async def _changed(self, row: Any, values: Mapping[str, AttributeValue | None], held: Condition) -> bool:
        """One update of constants, None for one that goes, under a condition; False where that does not hold."""
        model = model_of(row.__class__)
        expressions = Expressions()
        text = expressions.update((), [AttributeChange(name, value) for name, value in values.items()])
        under = Guard(expressions.condition(held), expressions.names, expressions.values)
        key = model.key_item(model.key_of(row))
        try:
            await self.port.send(UpdateItem(model.table.name, key, text, under, RAW, repeatable=True))
        except Refused:
            return False
        return True


def _order(content: Content) -> tuple[str, bytes]:
    return content.folder, content.digest


def _is(name: str, value: AttributeValue) -> Condition:
    return Condition("=", (Stored(name), Given(value)))
