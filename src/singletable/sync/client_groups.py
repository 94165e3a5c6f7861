"""Client groups and clients: whose they are, settled at first sight and never changed.

    SyncGroup#<group> / SyncGroup             the user and the project it belongs to
    SyncGroup#<group> / SyncClient#<client>   a client of it; a client is in one group, held by a guard item

A group is a browser profile, a client one of its tabs. Both ids are the client's to choose, so the first to show one
has it: by a put that needs the item to be absent. What is bound stays bound, so a process may remember it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from singletable.errors import AlreadyExists, NotUnique
from singletable.flow import Port
from singletable.foundation import ANY, Entity, Key, KeyOf, Query, Table, field, flows

Name = TypeVar("Name")
Value = TypeVar("Value")
Recorded = Callable[[Sequence[str]], Awaitable[set[str]]]
"""Those of some clients of whose mutations the document has a record."""
REMEMBERED = 20_000
"""Groups, and clients, whose bindings a process keeps in memory."""

MOST_PAGES = 100
"""Of a group's clients, 1 MB each: a million tabs."""


class Group(Entity):
    """A client group, and whose it is."""

    group: str
    user: str
    document: str
    """The word of the document class: two classes of a table may each have a project of the same id."""
    project: str


class Client(Entity):
    """A client, and its group."""

    group: str
    client: str = field(unique=True)


@dataclass(frozen=True)
class GroupKeys:
    """The two entities in a table, and the keys they are found by."""

    group: type[Group]
    client: type[Client]
    by_group: Callable[[str], KeyOf[Group]]
    by_client: Callable[[str, str], KeyOf[Client]]
    clients_of: Callable[[str], Query[Client]]


_declared: WeakKeyDictionary[Table, GroupKeys] = WeakKeyDictionary()


def group_keys(table: Table) -> GroupKeys:
    """The entities of client groups in a table, declared once however many documents the table holds."""
    found = _declared.get(table)
    if found is None:
        found = _declared[table] = _declare(table)
    return found


def declare_items(table: Table) -> None:
    """Tell a table of the items that `Sync` keeps in it, in a program that makes none: for `db.check(table)`."""
    group_keys(table)


def _declare(table: Table) -> GroupKeys:
    joint = table.separator

    class SyncGroup(Group, table=table, type="_sync_group"):
        @table.key
        @staticmethod
        def by_group(group: str) -> Key:
            """A client group."""
            return f"SyncGroup{joint}{group}", "SyncGroup"

    class SyncClient(Client, table=table, type="_sync_client"):
        @table.key
        @staticmethod
        def by_client(group: str, client: str = ANY) -> Key:
            """The clients of a group."""
            return f"SyncGroup{joint}{group}", f"SyncClient{joint}{client}"

    def by_client(group: str, client: str) -> KeyOf[Client]:
        return SyncClient.by_client(group, client)

    return GroupKeys(SyncGroup, SyncClient, SyncGroup.by_group, by_client, SyncClient.by_client)


class Owner(NamedTuple):
    """Whose a group is, and in which project."""

    user: str
    document: str
    project: str


class Bindings:
    """What this process has seen of bindings. Only what can't change is remembered: what is missing may come."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, Owner] = OrderedDict()
        self._clients: OrderedDict[str, str] = OrderedDict()
        self._foreign: OrderedDict[tuple[str, str], None] = OrderedDict()

    def owner_of(self, group: str) -> Owner | None:
        return self._groups.get(group)

    def group_of(self, client: str) -> str | None:
        return self._clients.get(client)

    def is_foreign(self, client: str, group: str) -> bool:
        """Whether a client is known not to be of a group."""
        return (client, group) in self._foreign

    def remember_group(self, group: Group) -> None:
        _keep(self._groups, group.group, Owner(group.user, group.document, group.project))

    def remember_client(self, client: str, group: str) -> None:
        _keep(self._clients, client, group)

    def remember_foreign(self, client: str, group: str) -> None:
        _keep(self._foreign, (client, group), None)


def _keep(kept: OrderedDict[Name, Value], name: Name, value: Value) -> None:
    kept[name] = value
    kept.move_to_end(name)
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)


async def bind_group(port: Port, keys: GroupKeys, seen: Bindings, group: str, owner: Owner) -> bool:
    """Whether a group is this user's in this project; a group that nobody had becomes so.

    No request for a group that this process has seen; else one, and one more at first sight.
    """
    if seen.owner_of(group) is None:
        found = await flows.get(port, keys.by_group(group).consistent())
        seen.remember_group(found or await _create_group(port, keys, keys.group(group=group, **owner._asdict())))
    return seen.owner_of(group) == owner


async def _create_group(port: Port, keys: GroupKeys, group: Group) -> Group:
    try:
        await flows.create(port, group)
    except AlreadyExists:
        found = await flows.get(port, keys.by_group(group.group).consistent())
        assert found is not None, "a group is never deleted"
        return found
    return group


async def bind_clients(
    port: Port, keys: GroupKeys, seen: Bindings, group: str, first_ids: Mapping[str, int], recorded: Recorded
) -> bool:
    """Whether all these clients are of the group; those that nobody had become so, if their mutations begin at 1.

    A client that is not known and begins later has pushed to somebody else, or to a state of ours that is lost. One
    that the documents know, and no group even after that was read, is the application's own.
    No request for clients that this process has seen; else one or two, and one more for each at first sight.
    """
    if any(seen.group_of(client) not in (None, group) for client in first_ids):
        return False
    known = await known_clients(port, keys, seen, group, first_ids)
    missing = [client for client in first_ids if client not in known]
    if any(first_ids[client] != 1 for client in missing):
        return False
    at_work = await recorded(missing) if missing else set[str]()
    if at_work - await known_clients(port, keys, seen, group, at_work):
        return False
    return all([await _bind_client(port, keys, seen, group, client) for client in missing if client not in at_work])


async def _bind_client(port: Port, keys: GroupKeys, seen: Bindings, group: str, client: str) -> bool:
    try:
        with suppress(AlreadyExists):  # another push of the same client was quicker
            await flows.create(port, keys.client(group=group, client=client))
    except NotUnique:
        return False
    seen.remember_client(client, group)
    return True


async def known_clients(
    port: Port, keys: GroupKeys, seen: Bindings, group: str, clients: Iterable[str], *, applied: bool = False
) -> set[str]:
    """Those of the clients that are of the group. No request for those that this process has seen.

    Clients whose mutations are in a version (`applied`) are bound for good, or never: then those of other groups are
    remembered too.
    """
    wanted = list(dict.fromkeys(clients))
    fresh = [client for client in wanted if seen.group_of(client) is None and not seen.is_foreign(client, group)]
    if fresh:
        found = await flows.get_many(port, [keys.by_client(group, client) for client in fresh], True)
        for each in found:
            seen.remember_client(each.client, group)
    own = {client for client in wanted if seen.group_of(client) == group}
    if applied:
        for client in fresh:
            if client not in own:
                seen.remember_foreign(client, group)
    return own


async def clients_of(port: Port, keys: GroupKeys, group: str) -> Sequence[str]:
    """All clients of a group, consistently; a request for each 1 MB of them."""
    found = await flows.everything(port, keys.clients_of(group).consistent(), MOST_PAGES)
    return [each.client for each in found]
