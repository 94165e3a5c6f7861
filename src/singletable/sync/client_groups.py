"""Client groups and clients: the first request with an id binds it to its owner, for ever.

    SyncGroup#<group> / SyncGroup             the user and the document that the group belongs to
    SyncGroup#<group> / SyncClient#<client>   a client of the group; a guard item keeps it out of other groups

A group is a browser profile, a client is one of its tabs. Clients choose both ids, so the first user of an id owns it:
it is put only if the item is absent. A binding never changes, so a process may cache it. Where the table is restored
to a time before it, it is made again by the next push that needs it.

An erasure deletes the groups of a user, with their clients and the clients' guards:

Sync(documents, ..., belongs_to=User.id)     # what `authenticate` returns is this attribute of a user
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from singletable.documents.inspect import declare_principals
from singletable.errors import AlreadyExists, NotUnique
from singletable.expressions import first_name, owner_of
from singletable.flow import Port
from singletable.foundation import (
    ANY,
    Entity,
    KeyOf,
    KeyParts,
    LayerBelongings,
    Query,
    Reference,
    Remaining,
    Table,
    field,
    flows,
    system_key,
    target_of,
)

Name = TypeVar("Name")
Value = TypeVar("Value")
REMEMBERED = 20_000
"""The number of bindings of groups, and of clients, that a process caches."""

MOST_PAGES = 100
"""Pages of a group's clients, 1 MB each: a million tabs."""


class Group(Entity):
    """A client group and its owner."""

    group: str
    user: str = field(personal=True)
    document: str
    """The word of the document class: two classes of one table may have documents with the same id."""
    project: str


class Client(Entity):
    """A client and its group."""

    group: str
    client: str = field(unique=True)


@dataclass(frozen=True)
class GroupKeys:
    """The two entities of a table, and their keys."""

    group: type[Group]
    client: type[Client]
    by_group: Callable[[str], KeyOf[Group]]
    by_client: Callable[[str, str], KeyOf[Client]]
    clients_of: Callable[[str], Query[Client]]


_declared: WeakKeyDictionary[Table, GroupKeys] = WeakKeyDictionary()
_users: WeakKeyDictionary[Table, Any] = WeakKeyDictionary()


def group_keys(table: Table) -> GroupKeys:
    """The entities of client groups in a table, declared once for all document classes of the table."""
    keys = _declared.get(table)
    if keys is None:
        keys = _declared[table] = _declare(table)
    return keys


def declare_items(table: Table, *, belongs_to: Any = None) -> None:
    """Declare the items of `Sync` in a table, in a program without a `Sync`: for `db.check(table)`, and for erasures.

    `belongs_to` is the attribute of an entity that its users are named by, as in `User.id`.
    """
    group_keys(table)
    if belongs_to is not None:
        _users[table] = belongs_to
        declare_principals(table, belongs_to)


def users_of(table: Table) -> Any:
    """The attribute that names the users of a table's groups; None if no program declares it."""
    return _users.get(table)


def has_items(table: Table) -> bool:
    """Whether this program has declared the items of `Sync` in a table."""
    return table in _declared


def _declare(table: Table) -> GroupKeys:
    class SyncGroup(Group, table=table, type="_sync_group"):
        @system_key(table)
        @staticmethod
        def by_group(group: str) -> KeyParts:
            """A client group."""
            return ("SyncGroup", f"{group}"), ("SyncGroup",)

    class SyncClient(Client, table=table, type="_sync_client"):
        @system_key(table)
        @staticmethod
        def by_client(group: str, client: str = ANY) -> KeyParts:
            """The clients of a group."""
            return ("SyncGroup", f"{group}"), ("SyncClient", f"{client}")

    def by_client(group: str, client: str) -> KeyOf[Client]:
        return SyncClient.by_client(group, client)

    return GroupKeys(SyncGroup, SyncClient, SyncGroup.by_group, by_client, SyncClient.by_client)


class ClientGroupOwner(NamedTuple):
    """The owner of a group."""

    user: str
    document: str
    project: str


class Bindings:
    """The bindings that this process has read. Only facts that can't change are cached: never that an item is
    missing."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, ClientGroupOwner] = OrderedDict()
        self._clients: OrderedDict[str, str] = OrderedDict()
        self._foreign: OrderedDict[tuple[str, str], None] = OrderedDict()

    def owner_of(self, group: str) -> ClientGroupOwner | None:
        return self._groups.get(group)

    def group_of(self, client: str) -> str | None:
        return self._clients.get(client)

    def is_foreign(self, client: str, group: str) -> bool:
        """Whether the client is known to be in another group."""
        return (client, group) in self._foreign

    def remember_group(self, group: Group) -> None:
        _keep(self._groups, group.group, ClientGroupOwner(group.user, group.document, group.project))

    def remember_client(self, client: str, group: str) -> None:
        _keep(self._clients, client, group)

    def remember_foreign(self, client: str, group: str) -> None:
        _keep(self._foreign, (client, group), None)


def _keep(kept: OrderedDict[Name, Value], name: Name, value: Value) -> None:
    kept[name] = value
    kept.move_to_end(name)
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)


async def bind_group(port: Port, keys: GroupKeys, seen: Bindings, group: str, owner: ClientGroupOwner) -> bool:
    """Whether the group belongs to this owner. A new group is bound to it.

    Costs no request for a cached group, one for an existing group, two for a new one.
    """
    if seen.owner_of(group) is None:
        found = await flows.get(port, keys.by_group(group).consistent())
        seen.remember_group(found or await _create_group(port, keys, keys.group(group=group, **owner._asdict())))
    return seen.owner_of(group) == owner


async def _create_group(port: Port, keys: GroupKeys, group: Group) -> Group:
    try:
        await flows.create(port, group)
    except AlreadyExists:
        stored = await flows.get(port, keys.by_group(group.group).consistent())
        assert stored is not None, "a group is never deleted"
        return stored
    return group


async def bind_clients(
    port: Port,
    keys: GroupKeys,
    seen: Bindings,
    group: str,
    owner: ClientGroupOwner,
    first_ids: Mapping[str, int],
    recorded: Collection[str],
) -> bool:
    """Whether all these clients are in the group. A new client is bound to it if its mutations begin at 1.

    `recorded` are those with mutations that were applied in the document. They were bound before that, so a cached
    binding holds, and one that no group has is one of the application's own. The bindings of the others are always
    read: a table that was restored under this process may lack them, and their group.
    An unknown client whose mutations begin later has pushed to another server, or to a state that was lost.
    Costs no request for cached clients, one for those without a record, and one more for each new client.
    """
    if any(seen.group_of(client) not in (None, group) for client in first_ids):
        return False
    others = [client for client in first_ids if client not in recorded]
    known = await known_clients(port, keys, seen, group, [client for client in first_ids if client in recorded])
    if len(known) + len(others) < len(first_ids):
        return False
    if not others:
        return True
    rows: Sequence[Any] = await flows.get_many(
        port, [keys.by_group(group), *(keys.by_client(group, client) for client in others)], True
    )
    bound = {row.client for row in rows if isinstance(row, Client)}
    for client in bound:
        seen.remember_client(client, group)
    new = [client for client in others if client not in bound]
    if any(first_ids[client] != 1 for client in new):
        return False
    if len(bound) == len(rows):
        await _create_group(port, keys, keys.group(group=group, **owner._asdict()))
    return all([await _bind_client(port, keys, seen, group, client) for client in new])


async def _bind_client(port: Port, keys: GroupKeys, seen: Bindings, group: str, client: str) -> bool:
    try:
        with suppress(AlreadyExists):  # another push of the same client has bound it
            await flows.create(port, keys.client(group=group, client=client))
    except NotUnique:
        return False
    seen.remember_client(client, group)
    return True


async def known_clients(
    port: Port, keys: GroupKeys, seen: Bindings, group: str, clients: Iterable[str], *, applied: bool = False
) -> set[str]:
    """The given clients that are in the group. Costs no request for cached clients.

    `applied`: the clients have mutations in a version, so whether they are bound can't change any more; then clients of
    other groups are cached, too.
    """
    wanted = list(dict.fromkeys(clients))
    fresh = [client for client in wanted if seen.group_of(client) is None and not seen.is_foreign(client, group)]
    if fresh:
        found = await flows.get_many(port, [keys.by_client(group, client) for client in fresh], True)
        for binding in found:
            seen.remember_client(binding.client, group)
    own = {client for client in wanted if seen.group_of(client) == group}
    if applied:
        for client in fresh:
            if client not in own:
                seen.remember_foreign(client, group)
    return own


async def clients_of(port: Port, keys: GroupKeys, group: str) -> Sequence[str]:
    """All clients of a group, by a consistent query: one request for each 1 MB."""
    found = await flows.read_all(port, keys.clients_of(group).consistent(), MOST_PAGES)
    return [binding.client for binding in found]


class SyncBelongings(LayerBelongings):
    """Groups and clients of a table: items like others, found by what they refer to."""

    def __init__(self, table: Table) -> None:
        keys, users = group_keys(table), users_of(table)
        self.identity = ("sync",)
        self.kinds: frozenset[type[Any]] = frozenset({keys.group, keys.client})
        self.references = (Reference(keys.client, keys.group, {"group": "group"}, "belongs_to"),)
        if users is None:
            self.left_out = ("the client groups of sync: no Sync(..., belongs_to=User.id) says whose they are",)
        else:
            handle = target_of("Sync", "belongs_to", users)
            owner, name = owner_of(handle), first_name(handle)
            self.references = (Reference(keys.group, owner, {"user": name}, "belongs_to"), *self.references)

    def remains(self) -> Sequence[Remaining]:
        """The clients' own copies, which no server can reach."""
        what = "A client drops what was erased with its next pull; one that never pulls again keeps what it has."
        return (Remaining("documents at clients", what),)
