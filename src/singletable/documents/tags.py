"""Tags: names of versions. A name is given once; it is taken away to be given again."""

from __future__ import annotations

from typing import Any

from singletable.documents.conditions import epoch_check, put_if_absent, race_with_garbage
from singletable.documents.context import Context
from singletable.documents.mutations import MAX_TEXT_BYTES
from singletable.documents.read import epoch_row, version_or_newest
from singletable.documents.rows import Tag
from singletable.errors import AlreadyExists, InvalidValue
from singletable.flow import Port, instant
from singletable.foundation import ANY, KeyOf, OnUnreadable, Page, Query, delete_if, page
from singletable.operations import ReasonedCancellation, TransactWriteItems


async def tag(port: Port, context: Context[Any], document_id: str, name: str, version: int | None = None) -> Tag:
    """Name a version, the newest by default. Three requests, which write four units. NotFound, AlreadyExists."""
    if not 0 < len(name.encode(errors="replace")) <= MAX_TEXT_BYTES:
        raise InvalidValue(f"a tag has 1 to {MAX_TEXT_BYTES} bytes", attribute="name", operation="tag")
    version_now = await version_or_newest(port, context, document_id, version)
    at = instant(int(port.now()))
    row = context.model.rows.tag(document_id=document_id, name=name, number=version_now.number, time=at)
    race = race_with_garbage(port, context, "tag")
    while True:
        epoch = await epoch_row(port, context, document_id)
        try:
            await port.send(TransactWriteItems([put_if_absent(row), epoch_check(epoch)], port.token()))
        except ReasonedCancellation as cancelled:
            if cancelled.reasons[0].code == "ConditionalCheckFailed":
                raise AlreadyExists(
                    f"there is a tag {name!r} already",
                    key=context.model.rows.tag.by_name(document_id, name),
                    operation="tag",
                    hint="untag() takes it away.",
                ) from None
            await race.lost()
        else:
            return row


async def untag(port: Port, context: Context[Any], document_id: str, name: str) -> None:
    """Take a name away, if it is there. The version stays. NotFound without the document. Two requests."""
    await epoch_row(port, context, document_id)
    key: KeyOf[Tag] = context.model.rows.tag.by_name(document_id, name)
    await port.send(delete_if(key, None))


async def tags(
    port: Port,
    context: Context[Any],
    document_id: str,
    limit: int,
    after: str | None,
    principal: str | None = None,
    unreadable: OnUnreadable = None,
) -> Page[Tag]:
    """Some names of a document's versions, in the order of the names. Two requests. NotFound."""
    await epoch_row(port, context, document_id)
    named: Query[Tag] = context.model.rows.tag.by_name(document_id, ANY)
    return await page(port, named.consistent(), limit, after, context.seal, principal, unreadable=unreadable)
