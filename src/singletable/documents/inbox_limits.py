"""Limits for mutations that wait in an inbox because they can't be applied: a missing id is before them, their name is
unknown, or their id is far ahead.

No processor can apply them now, and every processor reads them, so their number is checked when one more arrives.
Mutations that only wait for the next processor are not limited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from singletable.documents.context import Context
from singletable.documents.mutations import Submission
from singletable.documents.read import client_rows
from singletable.documents.rows import ClientRecord, InboxRow
from singletable.errors import InvalidRequest, Unavailable
from singletable.flow import Port
from singletable.foundation import ANY, Query, get_many, model_for, prepare_query

Known = Mapping[str, ClientRecord]
_Place = tuple[str, int]


async def first_missing(
    port: Port, context: Context[Any], document_id: str, new: Sequence[Submission], known: Known
) -> dict[str, int]:
    """The first id of each client with a gap that is neither submitted now, nor in the inbox, nor applied.

    No request if each client continues from its last id; otherwise one, and one more if an id is missing.
    """
    wanted = _before(new, known)
    if not wanted:
        return {}
    keys = [context.model.rows.inbox.by_id(document_id, client, id) for client, id in wanted]
    rows: list[InboxRow] = await get_many(port, keys, consistent=True)
    # The inbox first: a row that leaves it after this read is covered by the record, which is read next.
    missing = wanted - {(row.client, row.id) for row in rows}
    if missing:
        missing &= _before(new, await client_rows(port, context, document_id, [client for client, _ in missing]))
    return dict(sorted(missing, reverse=True))  # the first of each client


def _before(new: Sequence[Submission], known: Known) -> set[_Place]:
    """The ids directly before the submitted ones, without the ids that are submitted or applied themselves."""
    given = {(each.client, each.id) for each in new}
    return {
        (client, id - 1) for client, id in given if id - 1 > last_of(known, client) and (client, id - 1) not in given
    }


def last_of(known: Known, client: str) -> int:
    return known[client].last_id if client in known else 0


def check_ahead(context: Context[Any], new: Sequence[Submission], known: Known) -> None:
    """Raises InvalidRequest for an id that is too far ahead of its client's last one."""
    for each in new:
        if each.id - last_of(known, each.client) > context.model.bounds.ahead:
            raise InvalidRequest(
                f"the mutation {each.id} is more than {context.model.bounds.ahead} ahead of its client's last one",
                table=context.model.table.name,
                operation="submit",
                hint="Nothing was submitted. Submit those before it and process them first, or raise Bounds(ahead=).",
            )


async def check_room(
    port: Port, context: Context[Any], document_id: str, new: Sequence[Submission], *, has_gap: bool
) -> None:
    """Raises Unavailable if some mutations can't be applied now and too many wait already. One request in that case."""
    names = {each.mutation.name for each in new}
    if not has_gap and all(name in context.model.mutators or name.startswith("$") for name in names):
        return
    most = context.model.bounds.waiting
    inbox: Query[InboxRow] = context.model.rows.inbox.by_id(document_id, ANY)
    page = await port.send(prepare_query(inbox.consistent(), port.now()).operation(None, most))
    if len(page.items) >= most:
        raise Unavailable(
            f"{most} mutations wait in the document's inbox, and one comes that can't be applied now either",
            key=model_for(page.items[0]).key_of(page.items[0]),
            operation="submit",
            hint="Nothing was submitted. check() says what they wait for; collect_garbage() takes old ones away.",
        )
