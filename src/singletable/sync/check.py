"""Check: the items that sync keeps of clients. It reads the table and changes nothing.

* the group of every client exists, and the document of every group
* every mutation of a bound client was made in the document, and by the user, of its group
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar

from singletable.documents import Context
from singletable.flow import Port
from singletable.foundation import Entity, Finding, flows, model_for, ready
from singletable.sync.client_groups import Group, group_keys

E = TypeVar("E", bound=Entity)


async def check(port: Port, context: Context[Any]) -> list[Finding]:
    """All findings; [] for a sound table. Costs four scans. Documents have a check of their own."""
    await ready(port, context.model.table)
    keys, rows, word = group_keys(context.model.table), context.model.rows, context.model.words.document
    groups = {group.group: group async for group in _all(port, keys.group)}
    document_ids = {epoch.document_id async for epoch in _all(port, rows.epoch)}
    found = [
        _finding(group, "sync.group-homeless", "its project is missing")
        for group in groups.values()
        if group.document == word and group.project not in document_ids
    ]
    bound: dict[str, Group] = {}
    async for client in _all(port, keys.client):
        if client.group in groups:
            bound[client.client] = groups[client.group]
        else:
            found.append(_finding(client, "sync.client-alone", "its group is missing"))
    async for record in _all(port, rows.mutation):
        group = bound.get(record.client)
        made = (record.principal, word, record.document_id)
        if group is not None and made != (group.user, group.document, group.project):
            found.append(_finding(record, "sync.crossed", "its user or project is not that of its client's group"))
    return found


async def _all(port: Port, kind: type[E]) -> AsyncIterator[E]:
    positions = flows.scan_positions(None, 1)
    while positions:
        for page in await flows.read_scan_pages(port, kind, positions, 1, True):
            for each in page:
                yield each


def _finding(row: Entity, code: str, what: str) -> Finding:
    model = model_for(row)
    return Finding(code, what, model.type, model.place_of(row))
