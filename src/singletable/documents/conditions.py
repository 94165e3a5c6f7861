"""The conditions of a document's writes: rows that are missing, the epoch of garbage collection, contents that exist.

A commit has the `GcEpoch` in which its processor began as a condition, so that no garbage collection deletes a blob
that it refers to. In an epoch that a garbage collection has opened, a blob may be condemned. Then its row is deleted on
condition that the blob is not being deleted, and the blob is put again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from singletable.documents.contents import Content, Contents
from singletable.documents.context import Context
from singletable.documents.families import root_of
from singletable.documents.rows import Condemned, DocumentRow, GcEpoch, InboxRow
from singletable.errors import NotFound, OutcomeUnknown, Unavailable
from singletable.expressions import Condition, Given, Stored
from singletable.flow import Port, Race, pause
from singletable.foundation import (
    check_if,
    delete_if,
    get_many,
    get_operation,
    is_absent,
    model_for,
    model_of,
    plain_guard,
    put_if,
)
from singletable.operations import MAX_BATCH_WRITE, CheckItem, PutItem, RefusedWrite, batch_write
from singletable.schema import KeyOf, key_of


def put_if_absent(row: DocumentRow) -> PutItem:
    """The put of a row, on condition that it is missing."""
    model = model_for(row)
    return PutItem(model.table.name, model.item(row), plain_guard(model, is_absent))


def put_row_if(row: DocumentRow, condition: Condition | None) -> PutItem:
    """The put of a row under a condition on what is stored."""
    return put_if(key_of(row), model_for(row).item(row), condition)


async def clear(
    port: Port, context: Context[Any], rows: Sequence[InboxRow], awaited: Sequence[KeyOf[InboxRow]] = ()
) -> bool:
    """Delete rows of the inbox. Rows left by throttling or a crash have no effect; the next call deletes them.

    Returns whether one of the `awaited` rows is there, or may be; they are read beside the deletions.
    """
    model = model_of(context.model.rows.inbox)
    keys = [model.key_item(model.key_of(row)) for row in rows]
    batches = [keys[i : i + MAX_BATCH_WRITE] for i in range(0, len(keys), MAX_BATCH_WRITE)]
    reads: list[Any] = [get_operation(key, consistent=True) for key in awaited]
    if not batches and not reads:
        return False
    deletes: list[Any] = [batch_write(model.table.name, deletes=batch) for batch in batches]
    try:
        answers = await port.send_all([*reads, *deletes])
    except (Unavailable, OutcomeUnknown):
        return bool(reads)
    return any(row is not None for row in answers[: len(reads)])


_TRIES = 40
_LONGEST_WAIT_SECONDS = 1.0
COMMITTED = "another processor committed, or a garbage collection began"
"""The condition that refuses a transaction which writes the next version."""


async def ensure_contents(
    port: Port, context: Context[Any], epoch: GcEpoch, contents: Contents, needed: Mapping[Content, bytes | None]
) -> None:
    """Put every content that has data. One whose data is None must exist already; otherwise NotFound is raised.

    Puts run concurrently. Two more round trips for contents that a garbage collection has condemned.
    """
    if epoch.open is not None:
        await _release_condemned(port, context, root_of(epoch), needed)
    calls: list[Callable[[], None]] = [_write_or_require(contents, content, data) for content, data in needed.items()]
    if calls:
        await port.call_all(calls)


def _write_or_require(contents: Contents, content: Content, data: bytes | None) -> Callable[[], None]:
    return partial(_require, contents, content) if data is None else partial(contents.write, content, data)


def _require(contents: Contents, content: Content) -> None:
    if not contents.has(content):
        raise NotFound(
            f"the content {content.sha256} of {content.folder} is not in the blob store",
            operation="submit",
            hint="Store it again, and submit what refers to it soon after: until then nothing keeps it.",
        )


def race_with_garbage(port: Port, context: Context[Any], operation: str) -> Race:
    """The tries of a transaction that holds `epoch_check`."""
    return Race(port, operation, "a garbage collection began", context.model.table.name)


def epoch_check(epoch: GcEpoch) -> CheckItem:
    """The check of a transaction that no garbage collection raised the epoch since its processor began."""
    return check_if(key_of(epoch), same_epoch(epoch))


def same_epoch(epoch: GcEpoch) -> Condition:
    """The condition that the epoch is what was read."""
    return Condition("=", (Stored("epoch"), Given({"N": str(epoch.epoch)})))


async def _release_condemned(
    port: Port, context: Context[Any], root: str, needed: Mapping[Content, bytes | None]
) -> None:
    """Delete the rows of condemned contents. Wait while a content is being deleted, until its row is missing."""
    kind = context.model.rows.condemned
    keys = [kind.by_content(root, content.folder, content.sha256) for content in needed]
    for tried in range(_TRIES):
        rows: list[Condemned] = await get_many(port, keys, consistent=True)
        for row in rows:
            if not row.deleting:
                await _remove(port, row)
        if not rows:
            return
        if any(row.deleting for row in rows):
            seconds, table = min(_LONGEST_WAIT_SECONDS, 0.01 * 2**tried), context.model.table.name
            await pause(port, seconds, "a garbage collection deletes a content that is needed again", table)
    raise Unavailable(
        "a blob that is needed is being deleted by a garbage collection that does not end",
        table=context.model.table.name,
        operation="process",
        hint="Nothing was done, and nothing is lost. If that collection has died, run one with take_over=True.",
    )


async def _remove(port: Port, row: Condemned) -> None:
    """Delete a row, unless its content is being deleted. The caller reads it again."""
    undisturbed = Condition("=", (Stored("deleting"), Given({"BOOL": False})))
    try:
        await port.send(delete_if(key_of(row), undisturbed))
    except RefusedWrite:
        return
