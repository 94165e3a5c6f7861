"""Deletes a document: it is hidden at once, then removed. To continue an interrupted deletion, call it again.

    hide      one transaction: the epoch says `deleted`, and is raised, so that no commit and no branch that began
              before holds; a last version, which says so too, hides the others; its places in its parent's list and
              in its family go
    clear     its items, but for the versions of collections that a living branch began with
    sweep     what deleted members of the family kept for branches that are deleted now; with the last member, all blobs
    reveal    nothing: the epoch stays, so that the id is not used again

Its blobs that other members of the family don't reach go with their next garbage collection; an erasure runs one.
Blobs that a backup needs stay, and go when the backup is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from singletable.documents.collectors import check_collector, forget_collector
from singletable.documents.conditions import COMMITTED, put_if_absent, put_row_if, same_epoch
from singletable.documents.contents import Content, Contents
from singletable.documents.context import Context
from singletable.documents.families import Family, family_of, pages, root_of
from singletable.documents.family_look import forget_notes
from singletable.documents.garbage import Collected, collect_garbage
from singletable.documents.manifests import kept_for_backups
from singletable.documents.read import any_epoch_row, newest, not_found
from singletable.documents.rows import Branch, GcEpoch, Version, to_the_millisecond
from singletable.documents.snapshots import check_known
from singletable.errors import NotFound
from singletable.flow import Port, Race
from singletable.foundation import (
    ANY,
    Query,
    delete_if,
    delete_rows,
    get,
    prepare_query,
    ready,
)
from singletable.operations import ReasonedCancellation, TransactAction, TransactWriteItems
from singletable.values import changed

_TRIES = 50
"""More than others: a commit of a processor has fewer round trips, and so is first more often."""
_CONTENTS_AT_ONCE = 256


async def delete(port: Port, context: Context[Any], document_id: str, *, collects: bool = False) -> Collected | None:
    """Delete a document: hidden when the first transaction has happened, deleted when this returns. NotFound.

    Called again it goes on where it stopped, as after Incomplete, which a table raises that is throttled for long.
    Three round trips until it is hidden; then it reads all of its items, and writes a unit or more for each. The
    contents that branches share with it stay; those that no branch reaches are deleted too where it `collects`, at the
    cost of a collection of garbage, whose result is returned. Raises InvalidRequest, and hides nothing, where another
    table collects in its blobs.
    """
    await ready(port, context.model.table)
    epoch = await any_epoch_row(port, context, document_id)
    if epoch is None:
        raise not_found(context, document_id)
    await check_collector(port, context, epoch)
    if not epoch.deleted:
        epoch = await _hide(port, context, epoch)
    elif await is_deleted(port, context, document_id):
        raise not_found(context, document_id)
    await _clear(port, context, document_id)
    family = await _sweep(port, context, epoch)
    collected = await collect_family(port, context, family) if collects else None
    await _take_versions(port, context, document_id)
    return collected


async def collect_family(port: Port, context: Context[Any], family: Family) -> Collected | None:
    """Collect the garbage of a family; None where no member is left."""
    for document_id in family.living:
        with suppress(NotFound):  # deleted meanwhile
            return await collect_garbage(port, context, document_id)
    return None


async def is_deleted(port: Port, context: Context[Any], document_id: str) -> bool:
    """Whether its deletion has ended: its last version goes last."""
    versions: Query[Version] = context.model.rows.version.by_number(document_id, ANY)
    found = await port.send(prepare_query(versions.consistent(), port.now()).operation(None, 1))
    return not found.items


async def _hide(port: Port, context: Context[Any], epoch: GcEpoch) -> GcEpoch:
    race = Race(port, "delete", COMMITTED, context.model.table.name, tries=_TRIES)
    while True:
        last = await newest(port, context, epoch.document_id)
        check_known(context.model, "delete", last)
        hidden = changed(epoch, epoch=epoch.epoch + 1, deleted=True)
        actions = [*_hiding(context, epoch, hidden, last, port.now()), *await _leaving(port, context, epoch)]
        try:
            await port.send(TransactWriteItems(actions, port.token()))
        except ReasonedCancellation:
            current = await any_epoch_row(port, context, epoch.document_id)
            assert current is not None, "an epoch is never deleted"
            if current.deleted:
                return current
            epoch = current
            await race.lost()
        else:
            return hidden


def _hiding(context: Context[Any], epoch: GcEpoch, hidden: GcEpoch, last: Version, now: float) -> list[TransactAction]:
    """The epoch, if it is what was read; the version that hides the others; and the place in the parent's list."""
    rows = context.model.rows
    final = changed(
        last, number=last.number + 1, time=to_the_millisecond(now), scalars={}, mutations=[],
        collections={}, sources=None, origin=None, deleted=True,
    )  # fmt: skip
    return [
        put_row_if(hidden, same_epoch(epoch)),
        put_if_absent(final),
        delete_if(rows.listing.by_parent(last.parent, last.document_id), None),
    ]


async def _leaving(port: Port, context: Context[Any], epoch: GcEpoch) -> list[TransactAction]:
    """Its place in its family, marked: what it began with is needed for it no more."""
    if epoch.pool is None:
        return []
    key = context.model.rows.branch.by_branch(epoch.pool.document_id, epoch.document_id)
    row: Branch | None = await get(port, key.consistent())
    if row is None:
        return []
    return [put_row_if(changed(row, deleted=True), None)]


# --- clearing ---------------------------------------------------------------------------------------------------------
async def _clear(port: Port, context: Context[Any], document_id: str) -> None:
    """Everything but collections, which branches may need, the version that hides the document, and its family."""
    rows = context.model.rows
    for query in (
        rows.inbox.by_id(document_id, ANY),
        rows.mutation.by_id(document_id, ANY),
        rows.client.by_client(document_id, ANY),
        rows.tag.by_name(document_id, ANY),
    ):
        await _delete_all(port, query)


async def _take_versions(port: Port, context: Context[Any], document_id: str) -> None:
    """The versions, and then the one that hid them."""
    versions: Query[Version] = context.model.rows.version.by_number(document_id, ANY)
    last: list[Version] = []
    async for page in pages(port, versions):
        await delete_rows(port, [row for row in page if not row.deleted])
        last += [row for row in page if row.deleted]
    await delete_rows(port, last)


async def _delete_all(port: Port, query: Query[Any]) -> None:
    async for page in pages(port, query):
        await delete_rows(port, page)


# --- what a family kept -----------------------------------------------------------------------------------------------
async def _sweep(port: Port, context: Context[Any], epoch: GcEpoch) -> Family:
    """The items of deleted members that no living branch began with; with the last member everything. Returns the
    family."""
    family = await family_of(port, context, root_of(epoch))
    assert family is not None, "an epoch is never deleted"
    needed = family.needed
    for document_id in family.deleted:
        for name, kind in context.model.rows.collections.items():
            kept = {key.number for key in needed if (key.document_id, key.name) == (document_id, name)}
            async for page in pages(port, kind.by_number(document_id, ANY)):
                await delete_rows(port, [part for part in page if part.number not in kept])
    await delete_rows(port, _forgotten(family, {key.document_id for key in needed}))
    if not family.living:
        await _delete_all(port, context.model.rows.condemned.by_content(family.root.document_id, ANY))
        await delete_blobs(port, context.contents_of(family.root))
        await forget_notes(port, context.contents_of(family.root))
        await forget_collector(port, context, family.root)
    return family


def _forgotten(family: Family, needed: Iterable[str]) -> list[Branch]:
    """Deleted branches without any items left."""
    return [row for row in family.branches if row.deleted and row.branch not in needed]


async def delete_blobs(port: Port, contents: Contents, but: str = "") -> int:
    """Delete the contents of a family without living members, except those that backups other than `but` keep.

    Returns their number.
    """
    (unneeded,) = await port.call_all([partial(_unneeded, contents, but)])
    for i in range(0, len(unneeded), _CONTENTS_AT_ONCE):
        await port.call_all([partial(contents.delete, each) for each in unneeded[i : i + _CONTENTS_AT_ONCE]])
    return len(unneeded)


def _unneeded(contents: Contents, but: str) -> list[Content]:
    stored = set(contents.list())
    return list(stored - kept_for_backups(contents, stored, but))
