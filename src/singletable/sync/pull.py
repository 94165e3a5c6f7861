"""Pull: what a client lacks, as a patch from the version that its cookie names to the newest one.

The cookie is the version's number. A patch is the difference of the two versions' maps, so an item that was changed and
changed back costs nothing; its new values are read side by side, and go out as the JSON that the blobs hold. The last
mutation ids come from the mutation lists of the versions in between, which never change. From a cookie that names no
version that is kept, `clear` and everything, with the ids of the group's client records: read again where one of those
is newer than the head that was read, as its effects would be missing.

One round trip when nothing is new; else four: the head, the versions, the maps, the contents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from singletable.documents.canonical_json import canonical
from singletable.documents.contents import Content, Contents
from singletable.documents.context import Home
from singletable.documents.document import CollectionModel
from singletable.documents.read import (
    client_rows,
    hashes_of,
    hashes_of_all,
    mutations_after,
    newest,
    newest_operation,
    not_found,
)
from singletable.documents.rows import ClientRecord, InboxRow, Version
from singletable.documents.snapshots import scalar_values, scalars_of
from singletable.errors import Unavailable
from singletable.flow import Port
from singletable.foundation import ANY, Query, ask, flows, ready
from singletable.schema import between
from singletable.sync.client_groups import Bindings, GroupKeys, clients_of, known_clients
from singletable.sync.protocol import Clear, Delete, Operation, Pull, Pulled, Put

_TRIES = 10
_LOOK = 20

Hashes = Mapping[str, Mapping[str, bytes]]
"""Collection to item id to the sha256 of its content."""


@dataclass(frozen=True)
class Sight:
    """The newest version, and some of the clients whose mutations wait in the inbox."""

    head: Version
    waiting: set[str]


@dataclass(frozen=True)
class Puller:
    """What pulls of one document class need."""

    home: Home[Any]
    keys: GroupKeys
    seen: Bindings
    most_versions: int

    async def look(self, port: Port, project: str) -> Sight:
        """What a pull begins with. One round trip. NotFound where there is no such project."""
        await ready(port, self.home.model.table)
        inbox: Query[InboxRow] = self.home.model.rows.inbox.by_id(project, ANY)
        look: list[Any] = [
            newest_operation(port, self.home, project).operation(None, 1),
            ask(inbox.consistent(), port.now()).operation(None, _LOOK),
        ]
        versions, waiting = await port.send_all(look)
        if not versions.items:
            raise not_found(self.home, project)
        return Sight(versions.items[0], {row.client for row in waiting.items})

    async def pull(self, port: Port, asked: Pull, head: Version) -> Pulled:
        """The answer to a pull of a group that is the caller's, up to a head or one that is newer."""
        if asked.cookie.__class__ is int and asked.cookie == head.number:
            return Pulled(head.number, {}, ())
        between_them = await self._versions(port, asked.cookie, head)
        if between_them is None:
            return await self._everything(port, asked.group, head)
        base, *since = between_them
        if since and since[0].number == base.number + 1:
            last_ids = await self._own(port, asked.group, mutations_after(since))
        else:
            head, last_ids = await self._from_records(port, asked.group, head)
        return Pulled(head.number, last_ids, await self._patch(port, base, head))

    async def _versions(self, port: Port, cookie: Any, head: Version) -> list[Version] | None:
        """The cookie's version and those after it; without those when they are too many, None for an unknown cookie."""
        if cookie.__class__ is not int or not 0 <= cookie < head.number:
            return None
        last = head.number if head.number - cookie <= self.most_versions else cookie
        rows: Query[Version] = self.home.model.rows.version.by_number(head.project, between(cookie, last))
        found = await flows.everything(port, rows.consistent())
        return found if found and found[0].number == cookie else None

    async def _everything(self, port: Port, group: str, head: Version) -> Pulled:
        head, last_ids = await self._from_records(port, group, head)
        hashes = await hashes_of(port, self.home, head, tuple(self.home.model.collections))
        nothing: Hashes = {name: {} for name in hashes}
        patch = [Clear(), self._scalars(head), *await self._differences(port, head, nothing, hashes)]
        return Pulled(head.number, last_ids, patch)

    async def _from_records(self, port: Port, group: str, head: Version) -> tuple[Version, dict[str, int]]:
        """A head, and the last ids of the group's clients that belong to it.

        Clients are listed after the head is read: whoever has an effect in it is among them.
        """
        for _ in range(_TRIES):
            clients = await clients_of(port, self.keys, group)
            records: Mapping[str, ClientRecord] = await client_rows(port, self.home, head.project, clients)
            if all(record.version <= head.number for record in records.values()):
                return head, {client: record.last_id for client, record in records.items()}
            head = await newest(port, self.home, head.project)
        raise Unavailable("the project is changing faster than it can be read", operation="pull", hint="Try again.")

    async def _own(self, port: Port, group: str, last_ids: Mapping[str, int]) -> dict[str, int]:
        """Those of the group's own clients: nobody is told of the clients of others."""
        own = await known_clients(port, self.keys, self.seen, group, last_ids, applied=True)
        return {client: id for client, id in last_ids.items() if client in own}

    async def _patch(self, port: Port, base: Version, head: Version) -> list[Operation]:
        changed = [n for n in self.home.model.collections if base.collections.get(n) != head.collections.get(n)]
        before, after = await hashes_of_all(port, self.home, [(base, changed), (head, changed)])
        scalars = [self._scalars(head)] if base.scalars != head.scalars else []
        return [*scalars, *await self._differences(port, head, before, after)]

    async def _differences(self, port: Port, head: Version, before: Hashes, after: Hashes) -> list[Operation]:
        model = self.home.model
        gone = [Delete(f"{name}/{id}") for name in after for id in before[name] if id not in after[name]]
        new = [
            (f"{name}/{id}", model.collections[name], Content(model.collections[name].folder, digest))
            for name in after
            for id, digest in after[name].items()
            if before[name].get(id) != digest
        ]
        contents = self.home.contents(head.organisation, head.project)
        calls = [partial(_json_of, contents, collection, content) for _, collection, content in new]
        values = await port.call_all(calls) if calls else []
        return [*gone, *(Put(key, msgspec.Raw(value)) for (key, _, _), value in zip(new, values, strict=True))]

    def _scalars(self, version: Version) -> Put:
        values = scalar_values(self.home, scalars_of(version))
        return Put(self.home.model.words.document.lower(), msgspec.Raw(canonical(values)))


def _json_of(contents: Contents, collection: CollectionModel[Any], content: Content) -> bytes:
    """As this program has it: brought up where it is of an older version."""
    return collection.codec.json_of(contents.read(content))
