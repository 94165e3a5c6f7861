"""What a version is made from: the newest version, the epoch, the clients, and what can be applied now.

All reads are consistent. They are no snapshot: whatever was committed between them makes the transaction that is built
on them fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from singletable.documents.batches import MAX_MUTATIONS
from singletable.documents.home import Home
from singletable.documents.reading import client_rows, newest_operation, not_found
from singletable.documents.rows import ClientRecord, GcEpoch, InboxRow, Version
from singletable.operations import Key
from singletable.records.capture import ANY
from singletable.records.patterns import Query
from singletable.records.reading import get_operation
from singletable.records.selection import ask
from singletable.wire.port import Port


@dataclass(frozen=True)
class State:
    """What a version is made from."""

    version: Version
    epoch: GcEpoch
    clients: dict[str, ClientRecord]
    waiting: list[InboxRow]
    """Those that can be applied now, in the order in which they will be."""
    dead: list[InboxRow]
    """Those that a version has already."""


async def read_state(port: Port, home: Home[Any], project: str) -> State:
    """The newest version, and what can be applied to it. Two round trips, more where much can't be applied yet."""
    rows = home.model.rows
    inbox: Query[InboxRow] = rows.inbox.by_id(project, ANY)
    waiting = ask(inbox.consistent(), port.now())
    first: list[Any] = [
        newest_operation(port, home, project).operation(None, 1),
        get_operation(rows.epoch.by_project(project), consistent=True),
        waiting.operation(None, None),
    ]
    version, epoch, page = await port.send_all(first)
    if not version.items or epoch is None:
        raise not_found(home, project)
    clients: dict[str, ClientRecord] = {}
    found: list[InboxRow] = []
    dead: list[InboxRow] = []
    while True:
        clients |= await client_rows(port, home, project, [r.client for r in page.items if r.client not in clients])
        for row in page.items:
            (dead if row.id <= _last_id(clients, row.client) else found).append(row)
        chosen = in_turns(found, clients)
        after: Key | None = page.after
        if after is None or len(chosen) >= MAX_MUTATIONS:
            return State(version.items[0], epoch, clients, chosen[:MAX_MUTATIONS], dead)
        page = await port.send(waiting.operation(after, None))


def in_turns(rows: Sequence[InboxRow], clients: dict[str, ClientRecord]) -> list[InboxRow]:
    """Those without a gap before them: every client's first, then every client's second, and so on."""
    turns: list[tuple[int, str, InboxRow]] = []
    expected: dict[str, int] = {}
    for row in rows:
        last = _last_id(clients, row.client)
        if row.id == expected.setdefault(row.client, last + 1):
            turns.append((row.id - last, row.client, row))
            expected[row.client] += 1
    return [row for _, _, row in sorted(turns, key=lambda turn: turn[:2])]


def _last_id(clients: dict[str, ClientRecord], client: str) -> int:
    return clients[client].last_id if client in clients else 0
