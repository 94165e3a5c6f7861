"""Creates a document in one transaction: its entry in the parent's list, version 0, and its epoch.

A branch begins as a version of another document, whose contents stay where they are. Its version 0 names that version's
collections, so nothing of their size is read to be written again. From the first change of a collection on, the branch
has versions of it of its own. Its blobs are those of its family.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from singletable.documents.conditions import epoch_check, put_if_absent, race_with_garbage
from singletable.documents.context import Context
from singletable.documents.document import Document
from singletable.documents.drafts import checked_scalars
from singletable.documents.read import (
    any_epoch_row,
    collection_key,
    epoch_row,
    hashes_of,
    not_found,
    version_or_newest,
)
from singletable.documents.rows import GcEpoch, Place, Pool, Version, to_the_millisecond, version_id
from singletable.documents.snapshots import snapshot_of
from singletable.errors import AlreadyExists, InvalidValue
from singletable.flow import Port
from singletable.foundation import ready
from singletable.operations import ReasonedCancellation, TransactAction, TransactWriteItems
from singletable.values import from_attribute_value

D = TypeVar("D", bound=Document)


async def create(port: Port, context: Context[D], parent: str, document_id: str, scalars: Mapping[str, Any]) -> D:
    """Create a document of a parent, as version 0: its scalars, and empty collections. Raises AlreadyExists.

    One request of six units, and one more for each KB of the index that lists it.
    """
    context.contents(parent, document_id)  # raises InvalidValue for ids that can't be part of a path
    await ready(port, context.model.table)
    token, stored = port.token(), _stored_scalars(context, scalars)
    puts = _first_rows(context, document_id, parent, port.now(), stored, id=version_id(token))
    try:
        await port.send(TransactWriteItems([*map(put_if_absent, puts)], token))
    except ReasonedCancellation:
        raise _taken(context, document_id, "create") from None
    return snapshot_of(context, puts[0], {name: {} for name in context.model.collections})


def _stored_scalars(context: Context[Any], scalars: Mapping[str, Any]) -> dict[str, Any]:
    fields = context.model.scalars.by_name
    for name in scalars:
        if name not in fields:
            raise InvalidValue(f"{context.kind.__name__} has no scalar {name!r}", attribute=name, operation="create")
    missing = [name for name, field in fields.items() if name not in scalars and not field.may_be_absent]
    if missing:
        raise InvalidValue(f"{context.kind.__name__}.{missing[0]} has no default: give it", attribute=missing[0])
    values = {name: scalars[name] if name in scalars else field.absent() for name, field in fields.items()}
    return {name: from_attribute_value(value) for name, value in checked_scalars(context, values).items()}


def _first_rows(
    context: Context[Any],
    document_id: str,
    parent: str,
    now: float,
    scalars: Mapping[str, Any],
    *,
    pool: Pool | None = None,
    open: str | None = None,
    **origin: Any,
) -> list[Any]:
    """The first version of a document, its place in its parent's list, and its epoch."""
    rows, time = context.model.rows, to_the_millisecond(now)
    own: dict[str, Any] = {"document_id": document_id, "parent": parent}
    content: dict[str, Any] = {"scalars": scalars, "collections": {}, "mutations": [], **origin}
    return [
        rows.version(**own, number=0, time=time, pool=pool, **content),
        rows.listing(**own, created=time),
        rows.epoch(**own, epoch=1, open=open, pool=pool),
    ]


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
    source = await version_or_newest(port, context, document_id, version)
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
        raise _taken(context, new, "branch")
    puts = _puts(port, context, source, root, new, parent)
    checks = [epoch_check(epoch) for epoch in {epoch.document_id: epoch for epoch in (own, root)}.values()]
    actions: list[TransactAction] = [*map(put_if_absent, puts), *checks]
    try:
        await port.send(TransactWriteItems(actions, port.token()))
    except ReasonedCancellation as cancelled:
        if any(reason.code == "ConditionalCheckFailed" for reason in cancelled.reasons[: len(puts)]):
            raise _taken(context, new, "branch") from None
        return None
    version: Version = puts[0]
    return version


def _puts(port: Port, context: Context[Any], source: Version, root: GcEpoch, new: str, parent: str) -> list[Any]:
    """The branch's first version, its place in its parent's list, its epoch, and its place in the family."""
    pool, origin = Pool(root.parent, root.document_id), Place(source.document_id, source.number)
    named = dict.fromkeys((*source.collections, *(source.sources or ())))  # also what this program does not know
    keys = {name: collection_key(source, name) for name in named}
    sources = {name: Place(key.document_id, key.number) for name, key in keys.items() if key is not None}
    begun: dict[str, Any] = {"origin": origin, "sources": sources or None, "id": version_id(port.token())}
    # A collection of garbage that is open in the family is open for the branch too.
    puts = _first_rows(context, new, parent, port.now(), source.scalars, pool=pool, open=root.open, **begun)
    member = context.model.rows.branch(
        document_id=root.document_id, branch=new, parent=parent, origin=origin, sources=sources, created=puts[0].time
    )
    return [*puts, member]


def _taken(context: Context[Any], document_id: str, operation: str) -> AlreadyExists:
    return AlreadyExists(
        "there is, or was, a document of this id already",
        key=context.model.rows.version.by_number(document_id, 0),
        operation=operation,
        hint="Ids are the whole table's, and not used again: read it with head(), or take another id.",
    )
