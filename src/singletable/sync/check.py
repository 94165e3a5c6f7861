"""Check: the items that sync keeps of clients, a page at a time. It reads only.

* the group of every client exists, and the document of every group
* every mutation of a bound client was made in the document, and by the user, of its group

A client's group is found by the guard that keeps the client out of other groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from singletable.documents import Context
from singletable.documents.inspect import DocumentModel
from singletable.errors import SingletableError
from singletable.flow import Port
from singletable.foundation import (
    Entity,
    Finding,
    ItemCheck,
    LayerChecks,
    Table,
    finding_in,
    flows,
    get_many,
    guard_key,
    items_at,
    model_of,
)
from singletable.operations import Item
from singletable.sync.client_groups import Group, group_keys

E = TypeVar("E", bound=Entity)


class SyncCheck(ItemCheck):
    """The check of groups and clients, and of the mutations of a table's documents."""

    beside = "groups with their clients and documents, and mutations with their clients"

    def __init__(self, table: Table, models: Sequence[DocumentModel]) -> None:
        self.table, self.models, self.keys = table, models, group_keys(table)

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        findings = await self._alone(port, items)
        for model in self.models:
            findings += [*await self._homeless(port, model, items), *await self._crossed(port, model, items)]
        return findings

    async def _homeless(self, port: Port, model: DocumentModel, items: Sequence[Item]) -> list[Finding]:
        groups = [group for group in _loaded(self.keys.group, items) if group.document == model.words.document]
        epochs = await get_many(port, [model.rows.epoch.by_document(group.project) for group in groups], True)
        there = {epoch.document_id for epoch in epochs}
        what = "its project is missing"
        return [finding_in(group, "sync.group-homeless", what) for group in groups if group.project not in there]

    async def _alone(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        clients = list(_loaded(self.keys.client, items))
        groups = await get_many(port, [self.keys.by_group(client.group) for client in clients], True)
        there = {group.group for group in groups}
        what = "its group is missing"
        return [finding_in(client, "sync.client-alone", what) for client in clients if client.group not in there]

    async def _crossed(self, port: Port, model: DocumentModel, items: Sequence[Item]) -> list[Finding]:
        records = list(_loaded(model.rows.mutation, items))
        groups = await self._groups_of(port, dict.fromkeys(record.client for record in records))
        what = "its user or project is not that of its client's group"
        return [
            finding_in(record, "sync.crossed", what)
            for record in records
            if (group := groups.get(record.client)) is not None
            and (group.user, group.document, group.project)
            != (record.principal, model.words.document, record.document_id)
        ]

    async def _groups_of(self, port: Port, clients: Mapping[str, None]) -> dict[str, Group]:
        """The groups of clients that have one: a round trip for the guards, one for what they name, one for groups."""
        kind = model_of(self.keys.client)
        guards = [guard_key(kind, "client", client) for client in clients]
        items = await items_at(port, self.table, [(key.partition, key.low) for key in guards])
        owners = [(item["owner"]["S"], item["owner_sort"]["S"]) for item in items.values() if "owner_sort" in item]
        bound = list(_loaded(self.keys.client, list((await items_at(port, self.table, owners)).values())))
        groups = await get_many(port, [self.keys.by_group(client.group) for client in bound], True)
        by_name = {group.group: group for group in groups}
        return {client.client: by_name[client.group] for client in bound if client.group in by_name}


def sync_checks(table: Table, models: Sequence[DocumentModel]) -> LayerChecks:
    """The checks of a table for the items of `Sync`."""
    return LayerChecks(table, (SyncCheck(table, models),))


async def check(port: Port, context: Context[Any]) -> list[Finding]:
    """All findings; [] for a sound table. Documents have a check of their own."""
    return await flows.check_layers(port, [sync_checks(context.model.table, [context.model])])


def _loaded(kind: type[E], items: Sequence[Item]) -> Iterator[E]:
    """The items of a class. One that can't be read is reported by the records' own check."""
    for item in items:
        with suppress(SingletableError):
            if (entity := model_of(kind).load(item)) is not None:
                yield entity
