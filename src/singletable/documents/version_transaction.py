"""The transaction that makes a version: the one commit point.

It puts the version, all parts of every changed collection and a record for each mutation, each only if absent. It
writes each client's last id, only if it is the one that was read. And it checks the epoch of garbage collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from singletable.documents.batches import SPILL_BYTES, EndedMutation
from singletable.documents.conditions import epoch_check, put_if_absent, put_row_if
from singletable.documents.context import Context
from singletable.documents.drafts import ENTRY_BYTES, WorkingVersion, entries_size
from singletable.documents.inbox import HeadState
from singletable.documents.rows import AppliedMutation, Version, to_the_millisecond
from singletable.expressions import Condition, Given, Stored
from singletable.operations import TransactAction
from singletable.values import from_attribute_value, text_size


def actions_of(
    context: Context[Any],
    state: HeadState,
    working: WorkingVersion,
    ended: Sequence[EndedMutation],
    now: float,
    id: str,
) -> list[TransactAction]:
    """The actions of the transaction that makes the version `id`. The batch ensures that they are at most 100 actions
    and 4 MB."""
    before = state.version
    number = before.number + 1
    numbers = {**before.collections, **{name: before.collections.get(name, 0) + 1 for name in working.changed}}
    version = context.model.rows.version(
        document_id=before.document_id,
        parent=before.parent,
        number=number,
        time=_time_after(before.time, now),
        scalars={name: from_attribute_value(value) for name, value in working.scalars.items()},
        collections=numbers,
        mutations=[
            AppliedMutation(e.submission.client, e.submission.id, e.submission.mutation.name, e.error is not None)
            for e in ended
        ],
        pool=before.pool,
        sources={n: place for n, place in (before.sources or {}).items() if n not in working.changed} or None,
        id=id,
    )
    actions: list[TransactAction] = [put_if_absent(version)]
    for name in working.changed:
        hashes = working.hashes_now(name)
        actions += collection_actions(context, before, name, numbers[name], hashes)
    actions += [_record(context, before.document_id, number, each) for each in ended]
    actions += _clients(context, state, number, ended)
    return [*actions, epoch_check(state.epoch)]


def collection_actions(
    context: Context[Any], of: Version, name: str, number: int, hashes: dict[str, bytes]
) -> list[TransactAction]:
    """The parts of one version of a collection: as few as possible."""
    parts = parts_of(hashes)
    kind = context.model.rows.collections[name]
    return [
        put_if_absent(
            kind(
                document_id=of.document_id,
                parent=of.parent,
                number=number,
                spill=spill,
                spills=len(parts),
                items=part,
                pool=of.pool,
            )
        )
        for spill, part in enumerate(parts)
    ]


def parts_of(hashes: dict[str, bytes]) -> list[dict[str, bytes]]:
    """Splits a map into parts that each fit into an item, in the order of the ids."""
    if entries_size(hashes) <= SPILL_BYTES:
        return [hashes]
    parts: list[dict[str, bytes]] = [{}]
    size = 0
    for id in sorted(hashes):
        size += text_size(id) + ENTRY_BYTES
        if size > SPILL_BYTES:
            parts.append({})
            size = text_size(id) + ENTRY_BYTES
        parts[-1][id] = hashes[id]
    return parts


def _record(context: Context[Any], document_id: str, number: int, ended: EndedMutation) -> TransactAction:
    submission = ended.submission
    return put_if_absent(
        context.model.rows.mutation(
            document_id=document_id,
            client=submission.client,
            id=submission.id,
            name=submission.mutation.name,
            arguments=None if ended.arguments_blob is not None else submission.mutation.arguments,
            arguments_blob=ended.arguments_blob,
            refers=ended.refers,
            principal=submission.principal,
            version=number,
            error=ended.error,
        )
    )


def _clients(
    context: Context[Any], state: HeadState, number: int, ended: Sequence[EndedMutation]
) -> list[TransactAction]:
    """The writes of each client's last id, on condition of the one that was read."""
    last = {each.submission.client: each.submission.id for each in ended}
    document_id = state.version.document_id
    actions: list[TransactAction] = []
    for client, id in last.items():
        row = context.model.rows.client(document_id=document_id, client=client, last_id=id, version=number)
        if client in state.clients:
            expected = Given({"N": str(state.clients[client].last_id)})
            actions.append(put_row_if(row, Condition("=", (Stored("last_id"), expected))))
        else:
            actions.append(put_if_absent(row))
    return actions


def _time_after(before: datetime, now: float) -> datetime:
    """The current time, to the millisecond; one millisecond after the version before if the clock is behind it."""
    return max(to_the_millisecond(now), before + timedelta(milliseconds=1))
