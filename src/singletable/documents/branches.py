"""Branching: a new document that begins as a version of another, whose contents stay where they are.

Version 0 of the branch names that version's collections, so nothing of their size is read to be written again. From
the first change of a collection on, the branch has versions of it of its own. Its blobs are those of its family.
"""

from __future__ import annotations

from typing import Any, TypeVar

from singletable.documents.conditional_put import put_if_absent
from singletable.documents.context import Context
from singletable.documents.document import Document
from singletable.documents.read import (
    any_epoch_row,
    collection_key,
    epoch_row,
    hashes_of,
    newest,
    not_found,
    version_row,
)
from singletable.documents.retention import epoch_check, race_with_garbage
from singletable.documents.rows import GcEpoch, Place, Pool, Version, to_the_millisecond
from singletable.documents.snapshots import snapshot_of
from singletable.errors import AlreadyExists
from singletable.flow import Port
from singletable.operations import ReasonedCancellation, TransactAction, TransactWriteItems

D = TypeVar("D", bound=Document)


async def branch(
    port: Port,
    context: Context[D],
    document_id: str,
    new: str,
    version: int | None = None,
    parent: str | None = None,
) -> D:
    """A new document that begins as a version of another was. NotFound, AlreadyExists.

    Four round trips of reads, one of them for the hashes that are returned, and one transaction of four items and
    two checks: under 2 KB and the scalars, whatever the document's size. No blob is read or written.
    """
    source = await (
        newest(port, context, document_id) if version is None else version_row(port, context, document_id, version)
    )
    context.contents(parent or source.parent, new)  # InvalidValue for ids that no path can hold
    race = race_with_garbage(port, context, "branch")
    while (first := await _try_branch(port, context, source, new, parent or source.parent)) is None:
        await race.lost()
    return snapshot_of(context, first, await hashes_of(port, context, first, tuple(context.model.collections)))


async def _try_branch(port: Port, context: Context[Any], source: Version, new: str, parent: str) -> Version | None:
    """Version 0 of the branch; None if garbage collection raised an epoch meanwhile."""
    own = await epoch_row(port, context, source.document_id)
    root = own if own.pool is None else await any_epoch_row(port, context, own.pool.document_id)
    if root is None:
        raise not_found(context, source.document_id)
    if new in (own.document_id, root.document_id):  # a transaction would be refused that checks what it puts
        raise _taken(context, new)
    puts = _puts(port, context, source, root, new, parent)
    checks = [epoch_check(epoch) for epoch in {epoch.document_id: epoch for epoch in (own, root)}.values()]
    actions: list[TransactAction] = [*map(put_if_absent, puts), *checks]
    try:
        await port.send(TransactWriteItems(actions, port.token()))
    except ReasonedCancellation as cancelled:
        if any(reason.code == "ConditionalCheckFailed" for reason in cancelled.reasons[: len(puts)]):
            raise _taken(context, new) from None
        return None
    version: Version = puts[0]
    return version


def _puts(port: Port, context: Context[Any], source: Version, root: GcEpoch, new: str, parent: str) -> list[Any]:
    """The branch's first version, its place in its parent's list, its epoch, and its place in the family."""
    rows, pool = context.model.rows, Pool(root.parent, root.document_id)
    now = to_the_millisecond(port.now())
    keys = {name: collection_key(source, name) for name in context.model.collections}
    sources = {name: Place(key.document_id, key.number) for name, key in keys.items() if key is not None}
    origin = Place(source.document_id, source.number)
    first = rows.version(
        document_id=new,
        parent=parent,
        number=0,
        time=now,
        scalars=source.scalars,
        collections={},
        mutations=[],
        pool=pool,
        origin=origin,
        sources=sources or None,
    )
    return [
        first,
        rows.listing(document_id=new, parent=parent, created=now),
        # A collection of garbage that is open in the family is open for the branch too.
        rows.epoch(document_id=new, parent=parent, epoch=1, open=root.open, pool=pool),
        rows.branch(
            document_id=root.document_id, branch=new, parent=parent, origin=origin, sources=sources, created=now
        ),
    ]


def _taken(context: Context[Any], new: str) -> AlreadyExists:
    return AlreadyExists(
        "there is, or was, a document of this id already",
        key=context.model.rows.version.by_number(new, 0),
        operation="branch",
        hint="Take another id: the id of a deleted document is not used again.",
    )
