"""The inputs of a new version: the newest version, the epoch, the clients, and the mutations that can be applied now.

All reads are consistent, but not a snapshot: if anything was committed between them, the transaction that is built on
them fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.documents.batches import MAX_MUTATIONS
from singletable.documents.context import Context
from singletable.documents.read import client_rows, newest_of, newest_operation, not_found
from singletable.documents.rows import ClientRecord, GcEpoch, InboxRow, Version
from singletable.flow import Port
from singletable.foundation import ANY, Query, get_operation, prepare_query
from singletable.operations import Key


@dataclass(frozen=True)
class HeadState:
    """The inputs of a new version."""

    version: Version
    epoch: GcEpoch
    clients: dict[str, ClientRecord]
    waiting: list[InboxRow]
    """The mutations that can be applied now, in the order in which they are applied."""
    dead: list[InboxRow]
    """The rows whose mutation is in a version already."""
    unknown: list[InboxRow]
    """The mutations that wait for a program that knows their names."""


async def read_head_state(port: Port, context: Context[Any], document_id: str, held: Collection[str] = ()) -> HeadState:
    """Read the newest version and the mutations that can be applied to it. The clients in `held` are skipped.

    Two round trips; more if the inbox has many mutations that can't be applied yet.
    """
    rows, now = context.model.rows, port.now()
    inbox: Query[InboxRow] = rows.inbox.by_id(document_id, ANY)
    waiting = prepare_query(inbox.consistent(), port.now())
    first: list[Any] = [
        newest_operation(port, context, document_id).operation(None, 1),
        get_operation(rows.epoch.by_document(document_id), consistent=True),
        waiting.operation(None, None),
    ]
    version, epoch, page = await port.send_all(first)
    before = newest_of(context, document_id, version.items)
    if epoch is None:
        raise not_found(context, document_id)
    clients: dict[str, ClientRecord] = {}
    waiting_rows: list[InboxRow] = []
    dead: list[InboxRow] = []
    while True:
        clients |= await client_rows(
            port, context, document_id, [r.client for r in page.items if r.client not in clients]
        )
        for row in page.items:
            (dead if row.id <= _last_id(clients, row.client) else waiting_rows).append(row)
        chosen, unknown = interleave(waiting_rows, clients, lambda row: awaits_mutator(context, row, now), held)
        after: Key | None = page.after
        if after is None or len(chosen) >= MAX_MUTATIONS:
            return HeadState(before, epoch, clients, chosen[:MAX_MUTATIONS], dead, unknown)
        page = await port.send(waiting.operation(after, None))


def interleave(
    rows: Sequence[InboxRow],
    clients: dict[str, ClientRecord],
    is_unknown: Callable[[InboxRow], bool] = lambda row: False,
    held: Collection[str] = (),
) -> tuple[list[InboxRow], list[InboxRow]]:
    """The rows without a gap before them: every client's first, then every client's second, and so on.

    The second list is the rows with unknown names. A client's rows after such a row wait too.
    """
    turns: list[tuple[int, str, InboxRow]] = []
    unknown: list[InboxRow] = []
    expected: dict[str, int] = {}
    for row in rows:
        last = _last_id(clients, row.client)
        if row.client in held or row.id != expected.setdefault(row.client, last + 1):
            continue
        if is_unknown(row):
            unknown.append(row)
        else:
            turns.append((row.id - last, row.client, row))
            expected[row.client] += 1
    return [row for _, _, row in sorted(turns, key=lambda turn: turn[:2])], unknown


def behind_gaps(rows: Sequence[InboxRow], clients: dict[str, ClientRecord]) -> list[InboxRow]:
    """The rows that wait for a missing id."""
    behind: list[InboxRow] = []
    expected: dict[str, int] = {}
    for row in rows:
        if row.id == expected.setdefault(row.client, _last_id(clients, row.client) + 1):
            expected[row.client] += 1
        elif row.id > expected[row.client]:
            behind.append(row)
    return behind


def awaits_mutator(context: Context[Any], row: InboxRow, now: float) -> bool:
    """Whether the mutation waits for another program that may know its name, and its time is not over.

    False for a name that is reserved for the library, and for a row of a replay or of an older library.
    """
    if row.name in context.model.mutators or row.name.startswith("$") or row.own or row.at is None:
        return False
    return now - row.at.timestamp() < context.model.bounds.unknown_seconds


def _last_id(clients: dict[str, ClientRecord], client: str) -> int:
    return clients[client].last_id if client in clients else 0
