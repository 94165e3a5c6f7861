"""Creates a document in one transaction: its entry in the parent's list, version 0, and its epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from singletable.documents.conditional_put import put_if_absent
from singletable.documents.context import Context
from singletable.documents.document import Document
from singletable.documents.drafts import checked_scalars
from singletable.documents.rows import Version, to_the_millisecond
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
    version = _first(port, context, parent, document_id, scalars)
    rows = context.model.rows
    listing = rows.listing(document_id=document_id, parent=parent, created=version.time)
    epoch = rows.epoch(document_id=document_id, parent=parent, epoch=1)
    actions: list[TransactAction] = [put_if_absent(version), put_if_absent(listing), put_if_absent(epoch)]
    try:
        await port.send(TransactWriteItems(actions, port.token()))
    except ReasonedCancellation:
        raise AlreadyExists(
            "there is, or was, a document of this id already",
            key=rows.version.by_number(document_id, 0),
            operation="create",
            hint="Ids are the whole table's, and not used again: read it with head(), or take another id.",
        ) from None
    return snapshot_of(context, version, {name: {} for name in context.model.collections})


def _first(port: Port, context: Context[Any], parent: str, document_id: str, scalars: Mapping[str, Any]) -> Version:
    fields = context.model.scalars.by_name
    for name in scalars:
        if name not in fields:
            raise InvalidValue(f"{context.kind.__name__} has no scalar {name!r}", attribute=name, operation="create")
    missing = [name for name, field in fields.items() if name not in scalars and not field.may_be_absent]
    if missing:
        raise InvalidValue(f"{context.kind.__name__}.{missing[0]} has no default: give it", attribute=missing[0])
    values = {name: scalars[name] if name in scalars else field.absent() for name, field in fields.items()}
    stored = checked_scalars(context, values)
    return context.model.rows.version(
        document_id=document_id,
        parent=parent,
        number=0,
        time=to_the_millisecond(port.now()),
        scalars={name: from_attribute_value(value) for name, value in stored.items()},
        collections={},
        mutations=[],
    )
