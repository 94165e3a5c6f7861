"""Puts that apply only if the row is missing, or under another condition, and deletes of inbox rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from singletable.documents.context import Context
from singletable.documents.rows import DocumentRow, InboxRow
from singletable.errors import OutcomeUnknown, Unavailable
from singletable.expressions import Condition
from singletable.flow import Port
from singletable.foundation import is_absent, model_for, model_of, plain_guard, put_if
from singletable.operations import MAX_BATCH_WRITE, BatchWriteItem, PutItem
from singletable.schema import key_of


def put_if_absent(row: DocumentRow) -> PutItem:
    """The put of a row, on condition that it is missing."""
    model = model_for(row)
    return PutItem(model.table.name, model.item(row), plain_guard(model, is_absent))


def put_row_if(row: DocumentRow, condition: Condition | None) -> PutItem:
    """The put of a row under a condition on what is stored."""
    return put_if(key_of(row), model_for(row).item(row), condition)


async def clear(port: Port, context: Context[Any], rows: Sequence[InboxRow]) -> None:
    """Delete rows of the inbox. Rows left by throttling or a crash have no effect; the next call deletes them."""
    model = model_of(context.model.rows.inbox)
    keys = [model.key_item(model.key_of(row)) for row in rows]
    batches = [keys[i : i + MAX_BATCH_WRITE] for i in range(0, len(keys), MAX_BATCH_WRITE)]
    if batches:
        with suppress(Unavailable, OutcomeUnknown):
            await port.send_all([BatchWriteItem(model.table.name, deletes=batch) for batch in batches])
