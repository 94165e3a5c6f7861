"""The items of sync that an erasure deletes: a user's client groups, with their clients and the clients' guards.

Sync(documents, ..., belongs_to=User.id)     # what `authenticate` returns is this attribute of a user
"""

from __future__ import annotations

from typing import Any

from singletable.expressions import first_name, owner_of
from singletable.foundation import LayerBelongings, Reference, Table, target_of
from singletable.sync.client_groups import group_keys, users_of


class SyncBelongings(LayerBelongings):
    """Groups and clients of a table: items like others, found by what they refer to."""

    def __init__(self, table: Table) -> None:
        keys, users = group_keys(table), users_of(table)
        self.kinds: frozenset[type[Any]] = frozenset({keys.group, keys.client})
        self.references = (Reference(keys.client, keys.group, {"group": "group"}, "belongs_to"),)
        if users is None:
            self.left_out = ("the client groups of sync: no Sync(..., belongs_to=User.id) says whose they are",)
        else:
            handle = target_of("Sync", "belongs_to", users)
            owner, name = owner_of(handle), first_name(handle)
            self.references = (Reference(keys.group, owner, {"user": name}, "belongs_to"), *self.references)
