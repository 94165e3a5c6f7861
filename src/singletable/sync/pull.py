"""Pull: the patch from the version that the client's cookie names to the newest version.

A patch is the difference of the two versions' maps, so an item that was changed and changed back costs nothing. New
values are read concurrently, and sent as the JSON that the blobs hold. The last mutation ids come from the mutation
lists of the versions in between, which never change. Without a cookie the patch is `clear` and the whole document, and
the ids come from the group's client records. Where a client record is newer than the head that was read, the head is
read again, as the patch would lack its effects.

A cookie names the version by its id, too: where the table has another one of that number, or none, the client has
followed another history. What it is answered is in `cookies`.

In a view an item is deleted on the client where it was shown and is not any more. To know that, the content that it had
is read, of the items that are hidden now or were deleted, and of no others: an id that was never shown is never sent.

One round trip where nothing has changed; else four: the head, the versions, the maps, the contents. In a view one more
where an item was changed or deleted that is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from singletable.documents import Context, InboxRow, Version
from singletable.documents.flows import (
    client_rows,
    hashes_of,
    hashes_of_all,
    newest,
    newest_of,
    newest_operation,
)
from singletable.documents.inspect import (
    ClientRecord,
    CollectionModel,
    Content,
    Contents,
    canonical,
    scalar_values,
    scalars_of,
)
from singletable.errors import Unavailable
from singletable.events import ClientResetNeeded
from singletable.flow import Port, Race
from singletable.foundation import ANY, Query, flows, prepare_query, ready
from singletable.schema import between
from singletable.sync.client_groups import Bindings, GroupKeys, clients_of, known_clients
from singletable.sync.cookies import Cookie, read_cookie
from singletable.sync.protocol import CLIENT_STATE_NOT_FOUND, Clear, Delete, Operation, Pull, Pulled, Put, Refusal
from singletable.sync.views import Sight, View

_INBOX_ROWS = 20
_OTHER_HISTORY = "it has followed another history of its document: the table was restored, or is a copy"


Hashes = Mapping[str, Mapping[str, bytes]]
"""The sha256 of each item's content, by collection and item id."""
Item = tuple[str, str]
"""A collection's name, and an item's id."""


@dataclass(frozen=True)
class PullStart:
    """The newest version, and some of the clients that have mutations in the inbox."""

    head: Version
    waiting: set[str]


@dataclass(frozen=True)
class Asker:
    """Who pulls."""

    group: str
    sight: Sight
    lead: int = 0
    """The difference between the order of its cookies and the numbers of versions."""

    def pulled(self, version: Version, last_ids: Mapping[str, int], patch: Sequence[Operation]) -> Pulled:
        """The answer after which the client has a version."""
        number, view = version.number, self.sight.name
        return Pulled(Cookie(number + self.lead, number, version.id or "", self.group, view), last_ids, patch)


@dataclass(frozen=True)
class Puller:
    """Answers the pulls of one document class."""

    context: Context[Any]
    keys: GroupKeys
    seen: Bindings
    most_versions: int

    async def read_start(self, port: Port, document_id: str) -> PullStart:
        """Begin a pull; one round trip. Raises NotFound if the document is missing."""
        await ready(port, self.context.model.table)
        inbox: Query[InboxRow] = self.context.model.rows.inbox.by_id(document_id, ANY)
        operations: list[Any] = [
            newest_operation(port, self.context, document_id).operation(None, 1),
            prepare_query(inbox.consistent(), port.now()).operation(None, _INBOX_ROWS),
        ]
        versions, waiting = await port.send_all(operations)
        return PullStart(newest_of(self.context, document_id, versions.items), {row.client for row in waiting.items})

    async def pull(self, port: Port, asked: Pull, head: Version, view: View | None = None) -> Pulled | Refusal:
        """The answer to a pull of the caller's own group, up to `head` or a newer version.

        A refusal for a group that has followed another history of the document.
        """
        asker = Asker(asked.group, Sight.of(self.context.model, view, port.events))
        if asked.cookie is None:
            return await self._everything(port, head, asker)
        cookie = read_cookie(asked.cookie)
        versions = [] if cookie is None else await self._versions(port, cookie, head)
        if cookie is None or not versions:
            if await self._has_followed(port, asked.group, cookie):
                fields = self.context.event_fields(port.events, head.document_id)
                port.events.emit(ClientResetNeeded(**fields, why=_OTHER_HISTORY))
                return CLIENT_STATE_NOT_FOUND
            return await self._everything(port, head, replace(asker, lead=0 if cookie is None else cookie.order + 1))
        asker = replace(asker, lead=cookie.lead)
        if cookie.view != asker.sight.name:
            return await self._everything(port, head, asker)
        if cookie.version == head.number:
            return asker.pulled(head, {}, ())
        if versions[0].rewritten:
            return await self._everything(port, head, asker)
        return await self._difference(port, versions, head, asker)

    async def _versions(self, port: Port, cookie: Cookie, head: Version) -> list[Version]:
        """The cookie's version and those after it, unless these are too many. [] for a cookie of another history."""
        if cookie.version >= head.number:
            return [head] if cookie.names(head) else []
        last = head.number if head.number - cookie.version <= self.most_versions else cookie.version
        rows: Query[Version] = self.context.model.rows.version.by_number(
            head.document_id, between(cookie.version, last)
        )
        versions = await flows.read_all(port, rows.consistent())
        return list(versions) if versions and cookie.names(versions[0]) else []

    async def _has_followed(self, port: Port, group: str, cookie: Cookie | None) -> bool:
        """Whether a group with a cookie of another history has last mutation ids of that history.

        It has none where the cookie was made for another group: its browser has begun it with that group's view. An
        older server's cookie does not name the group; then a group with clients may have some.
        """
        if cookie is not None and cookie.group is not None:
            return cookie.group == group
        return bool(await clients_of(port, self.keys, group))

    async def _difference(self, port: Port, versions: Sequence[Version], head: Version, asker: Asker) -> Pulled:
        base, *since = versions
        if since and since[0].number == base.number + 1:
            last_known = {applied.client: applied.id for version in since for applied in version.mutations}
            last_ids = await self._own(port, asker.group, last_known)
        else:
            head, last_ids = await self._from_records(port, asker.group, head)
        return asker.pulled(head, last_ids, await self._patch(port, base, head, asker.sight))

    async def _everything(self, port: Port, head: Version, asker: Asker) -> Pulled:
        head, last_ids = await self._from_records(port, asker.group, head)
        hashes = await hashes_of(port, self.context, head, tuple(asker.sight.where))
        nothing: Hashes = {name: {} for name in hashes}
        patch = [Clear(), self._scalars(head), *await self._differences(port, head, nothing, hashes, asker.sight)]
        return asker.pulled(head, last_ids, patch)

    async def _from_records(self, port: Port, group: str, head: Version) -> tuple[Version, dict[str, int]]:
        """A version, and the last ids of the group's clients as of that version.

        Clients are listed after the head was read, so every client with an effect in it is among them.
        """
        race = Race(port, "pull", "a client's mutation was applied", self.context.model.table.name)
        race.hint, race.raises = "Pull again.", Unavailable
        while True:
            clients = await clients_of(port, self.keys, group)
            records: Mapping[str, ClientRecord] = await client_rows(port, self.context, head.document_id, clients)
            if all(record.version <= head.number for record in records.values()):
                return head, {client: record.last_id for client, record in records.items()}
            await race.lost()
            head = await newest(port, self.context, head.document_id)

    async def _own(self, port: Port, group: str, last_ids: Mapping[str, int]) -> dict[str, int]:
        """The ids of the group's own clients: another group's clients are never revealed."""
        own = await known_clients(port, self.keys, self.seen, group, last_ids, applied=True)
        return {client: id for client, id in last_ids.items() if client in own}

    async def _patch(self, port: Port, base: Version, head: Version, sight: Sight) -> list[Operation]:
        changed = [n for n in sight.where if base.collections.get(n) != head.collections.get(n)]
        before, after = await hashes_of_all(port, self.context, [(base, changed), (head, changed)])
        scalars = [self._scalars(head)] if base.scalars != head.scalars else []
        return [*scalars, *await self._differences(port, head, before, after, sight)]

    async def _differences(
        self, port: Port, head: Version, before: Hashes, after: Hashes, sight: Sight
    ) -> list[Operation]:
        """Deletions of what was shown and is not any more, then what is new, with its contents."""
        gone = [(name, id) for name in after for id in before[name] if id not in after[name]]
        new = [(name, id) for name in after for id, digest in after[name].items() if before[name].get(id) != digest]
        values = await self._shown(port, head, after, new, sight)
        hidden = [item for item, value in zip(new, values, strict=True) if value is None and item[1] in before[item[0]]]
        left = [*gone, *hidden]
        were_shown = await self._were_shown(port, head, before, left, sight)
        deletes = [Delete(f"{name}/{id}") for (name, id), was in zip(left, were_shown, strict=True) if was]
        puts = [
            Put(f"{name}/{id}", msgspec.Raw(value))
            for (name, id), value in zip(new, values, strict=True)
            if value is not None
        ]
        return [*deletes, *puts]

    async def _shown(
        self, port: Port, head: Version, hashes: Hashes, items: Sequence[Item], sight: Sight
    ) -> list[bytes | None]:
        """The contents of items as JSON; None for a hidden one."""
        contents = self.context.contents_of(head)
        calls = [partial(_shown_json, contents, self._content(hashes, item), item[0], sight) for item in items]
        return await port.call_all(calls) if calls else []

    async def _were_shown(
        self, port: Port, head: Version, hashes: Hashes, items: Sequence[Item], sight: Sight
    ) -> list[bool]:
        """Whether the client was sent each item. Reads no content of a collection that is shown as a whole."""
        looked_at = [item for item in items if sight.where[item[0]] is not None]
        values = await self._shown(port, head, hashes, looked_at, sight)
        hidden = {item for item, value in zip(looked_at, values, strict=True) if value is None}
        return [item not in hidden for item in items]

    def _content(self, hashes: Hashes, item: Item) -> tuple[CollectionModel[Any], Content]:
        collection = self.context.model.collections[item[0]]
        return collection, Content(collection.folder, hashes[item[0]][item[1]])

    def _scalars(self, version: Version) -> Put:
        values = scalar_values(self.context, scalars_of(version))
        return Put(self.context.model.words.document.lower(), msgspec.Raw(canonical(values)))


def _shown_json(
    contents: Contents, stored: tuple[CollectionModel[Any], Content], name: str, sight: Sight
) -> bytes | None:
    """The content as JSON, upcast from an older schema version; None if the view hides it."""
    collection, content = stored
    shown = collection.codec.json_of(contents.read(content))
    is_shown = sight.where[name] is None or sight.shows(name, collection.codec.decode_json(shown))
    return shown if is_shown else None
