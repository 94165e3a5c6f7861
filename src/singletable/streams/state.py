"""The stored state of a consumer: the stream it reads, leases with their checkpoints, tries, dead
letters.

These are entities like any other, of a table of their own, `<table>-leases`; or of the very table whose changes are
read. Their types begin with "_": such items belong to the library, and handlers for `Search` never see them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal

from singletable.errors import NotConfigured
from singletable.flow import LEASES, Port
from singletable.foundation import ANY, Entity, KeyParts, Table, field, system_key

LeasesIn = Literal["own", "same"]


class ConsumerItem(Entity):
    """A consumer of a table's changes: the stream that it reads, and since when."""

    name: str
    stream: str
    start: str
    began_at: datetime


class LeaseItem(Entity):
    """The owner of a shard, and its checkpoint. A worker that finds another `fence` than its own has lost it."""

    consumer: str
    stream: str
    shard: str
    made_at: datetime
    owner: str = ""
    """The worker that holds it, a random mark; "" when it is free."""
    process: str = ""
    """The host and the id of the process that took it last: for people."""
    fence: int = 0
    """Raised whenever it is taken. Every write of its owner is conditional on it."""
    beats: int = 0
    """The heartbeat: raised by its owner. Unchanged for a lease's length, the owner counts as dead."""
    beat_at: datetime | None = None
    """When its owner wrote it last, by its clock: for people. Who lives is seen by `beats`."""
    wanted_by: str = ""
    """A worker that has fewer shards asks for this one."""
    position: str = ""
    """The checkpoint: the last sequence number up to which all is done; "" for none."""
    is_latest: bool = False
    """Begins at the end that the shard had when the lease was made."""
    is_over: bool = False
    """Everything of the shard is done, and its children may be read."""


class TryItem(Entity):
    """The failed tries of a change."""

    consumer: str
    stream: str
    shard: str
    sequence: str
    tries: int


class DeadLetterItem(Entity):
    """A part of a dead letter; the first part has the particulars."""

    consumer: str
    stream: str
    shard: str
    sequence: str
    part: int
    payload: bytes = field(personal=True)
    parts: int = 1
    kind: str = ""
    event: str = ""
    error: str = field(default="", personal=True)
    tries: int = 0
    at: datetime | None = None


@dataclass(frozen=True)
class StateEntities:
    """The entities in one table."""

    table: Table
    consumer: type[Any]
    lease: type[Any]
    attempt: type[Any]
    dead_letter: type[Any]


@cache
def state_entities(table: Table, leases: LeasesIn) -> StateEntities:
    """The entities for the changes of a table, stored in it or in a separate table."""
    stored_in = table if leases == "same" else Table(f"{table.name}{LEASES}")
    return StateEntities(stored_in, *_entities(stored_in))


@contextmanager
def leases_needed(port: Port, state: StateEntities) -> Generator[None, None, None]:
    """Add to NotConfigured how to create the table of leases, where only the application may create it."""
    try:
        yield
    except NotConfigured as error:
        if not port.traits.creates_tables:
            error.hint = "Create the table of leases with db.create_table(changes.leases)."
        raise


def _entities(table: Table) -> tuple[type[Any], ...]:
    class StoredConsumer(ConsumerItem, table=table, type="_consumer"):
        @system_key(table)
        @staticmethod
        def by_name(name: str) -> KeyParts:
            """A consumer."""
            return ("_consumer", f"{name}"), ("_consumer",)

    class StoredLease(LeaseItem, table=table, type="_lease"):
        @system_key(table)
        @staticmethod
        def by_shard(consumer: str, stream: str, shard: str = ANY) -> KeyParts:
            """The leases of a consumer, one for each shard."""
            return ("_lease", f"{consumer}", f"{stream}"), (f"{shard}",)

    class StoredTry(TryItem, table=table, type="_try"):
        @system_key(table)
        @staticmethod
        def by_sequence(consumer: str, stream: str, shard: str = ANY, sequence: str = ANY) -> KeyParts:
            """The changes that failed and are tried again."""
            return ("_try", f"{consumer}", f"{stream}"), (f"{shard}", f"{sequence}")

    class StoredDeadLetter(DeadLetterItem, table=table, type="_aside"):
        @system_key(table)
        @staticmethod
        def by_sequence(
            consumer: str, stream: str = ANY, shard: str = ANY, sequence: str = ANY, part: int = ANY
        ) -> KeyParts:
            """The dead letters, in the order of their shards."""
            return ("_aside", f"{consumer}"), (f"{stream}", f"{shard}", f"{sequence}", f"{part:03}")

    return StoredConsumer, StoredLease, StoredTry, StoredDeadLetter
