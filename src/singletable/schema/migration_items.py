"""What the tools that change a table keep in it: the model that it was last brought to, who changes it now, and how
far each part of a fill has come; the records of erasures; who shares a rate; and how far a copy or an import has come.

    pk  _migration      sk  apply#model                     _type "_model"
                            apply#lease                     _type "_apply"
                            fill#<declaration>#<segment>    _type "_migration"
                            erasure#<random id>             _type "_erasure"
                            rate#<name>                     _type "_rate"
                            transfer#<id>                   _type "_transfer"

No query of another class returns one: no other class may have such a key or type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from singletable.operations import Key
from singletable.schema.capture import ANY
from singletable.schema.entities import Entity, Special, field
from singletable.schema.models import Model, model_of
from singletable.schema.system_items import KeyParts, system_key
from singletable.schema.table import (
    APPLY_TYPE,
    ERASURE_TYPE,
    MIGRATION_TYPE,
    RATE_TYPE,
    RECORD_TYPE,
    TRANSFER_TYPE,
    Table,
)

_NONE: Mapping[str, int] = {}


class _OwnItem(Entity):
    """An item that no class of an application is told of."""

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        return Special(is_admitted=False)


class FillPart(_OwnItem):
    """How far one segment of a fill has come."""

    declaration: str
    """The digest of what the table was filled for."""
    segment: int
    segments: int
    position: dict[str, str] | None = field(default=None, personal=True)
    """The key after which it goes on; None at its beginning."""
    is_over: bool = False
    seen: int = 0
    written: int = 0
    old_keys: dict[str, int] = field(default_factory=dict[str, int])
    """How many items lay under the keys that their classes had before, by type."""

    @property
    def after(self) -> Key | None:
        """The position as a request takes it."""
        return None if self.position is None else {name: {"S": text} for name, text in self.position.items()}

    def moved(self, after: Key | None, seen: int, written: int, old_keys: Mapping[str, int] = _NONE) -> FillPart:
        """The part after a page, which ended at a key."""
        place = None if after is None else {name: value["S"] for name, value in after.items()}
        return type(self)(
            declaration=self.declaration,
            segment=self.segment,
            segments=self.segments,
            position=place,
            is_over=after is None,
            seen=self.seen + seen,
            written=self.written + written,
            old_keys=dict(Counter(self.old_keys) + Counter(old_keys)),
        )


class ModelRecord(_OwnItem):
    """The model that a table was last brought to."""

    model: str
    """As JSON: what `singletable plan --check-in` writes."""
    brought_at: datetime
    by: str
    """Who brought it there, as they called themselves."""
    fence: int
    """The fence of the apply that wrote it."""


class ApplyLease(_OwnItem):
    """Who changes the table: at most one apply at a time."""

    fence: int
    """Raised whenever it is taken. Every write of its owner is conditional on it."""
    owner: str = ""
    """A token of the apply that has it; "" when it is free."""
    by: str = ""
    since: datetime | None = None
    beats: int = 0
    """Raised by its owner. Unchanged for a lease's length, the owner counts as dead."""
    doing: str = ""
    """The step that it is at, for people."""


class ErasureRecord(_OwnItem):
    """An erasure that goes on, or what is left of one that has ended: counts and times, and nothing of the subject."""

    erasure: str
    """Random: no key of the table says whose erasure it was."""
    pattern: str
    """The access pattern that named the subject, without its arguments."""
    by: str = ""
    started_at: datetime
    ended_at: datetime | None = None
    salt: bytes | None = None
    digest: bytes | None = None
    """The digest of the subject's key and the salt: a second call finds its record by it. None once it has ended."""
    writes: int = 0
    """Raised by each write of the record, on condition of the count before."""
    runs: int = 0
    """How often it was begun: more than once where it was killed."""
    deleted: dict[str, int] = field(default_factory=dict[str, int])
    cleared: dict[str, int] = field(default_factory=dict[str, int])
    doing: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What is being deleted now, by class, as salted digests: after a crash, those that are gone are counted."""
    again: list[str] = field(default_factory=list[str])
    """Documents whose deletion has begun, by their ids, until it has ended: such a one is in no list any more."""


@cache
def erasures_of(table: Table) -> type[Any]:
    """The entity of a table's erasures."""

    class TableErasure(ErasureRecord, table=table, type=ERASURE_TYPE):
        @system_key(table)
        @staticmethod
        def by_id(erasure: str = ANY) -> KeyParts:
            """The erasures of a table."""
            return (MIGRATION_TYPE,), ("erasure", f"{erasure}")

    return TableErasure


class SharedBudget(_OwnItem):
    """Who shares a rate. Each process has an attribute `m_<random id>` besides, a number that it raises."""

    name: str


@cache
def shared_rates_of(table: Table) -> type[Any]:
    """The entity of the rates that processes share."""

    class TableSharedBudget(SharedBudget, table=table, type=RATE_TYPE):
        @system_key(table)
        @staticmethod
        def by_name(name: str = ANY) -> KeyParts:
            """Who shares a rate."""
            return (MIGRATION_TYPE,), ("rate", f"{name}")

    return TableSharedBudget


class Transfer(_OwnItem):
    """How far a copy or an import into the table has come. It goes when that has ended."""

    transfer: str
    """The digest of what is brought here, and how."""
    state: str = field(personal=True)
    """As JSON, with the key that it has come to. Empty where that stays with the user who copies."""
    token: str
    """Random: by it a copy knows its own table from another."""


@cache
def transfers_of(table: Table) -> type[Any]:
    """The entity of what is being brought into a table."""

    class TableTransfer(Transfer, table=table, type=TRANSFER_TYPE):
        @system_key(table)
        @staticmethod
        def by_id(transfer: str = ANY) -> KeyParts:
            """What is being brought into a table."""
            return (MIGRATION_TYPE,), ("transfer", f"{transfer}")

    return TableTransfer


@cache
def record_of(table: Table) -> type[Any]:
    """The entity of a table's record of its model."""

    class TableModelRecord(ModelRecord, table=table, type=RECORD_TYPE):
        @system_key(table)
        @staticmethod
        def only() -> KeyParts:
            """The model that the table was last brought to."""
            return (MIGRATION_TYPE,), ("apply", "model")

    return TableModelRecord


@cache
def apply_lease_of(table: Table) -> type[Any]:
    """The entity of the lease of a table's applies."""

    class TableApplyLease(ApplyLease, table=table, type=APPLY_TYPE):
        @system_key(table)
        @staticmethod
        def only() -> KeyParts:
            """Who changes the table."""
            return (MIGRATION_TYPE,), ("apply", "lease")

    return TableApplyLease


@cache
def migration_models(table: Table) -> Mapping[str, Model[Any]]:
    """The models of all that migrations keep, by type."""
    return {model_of(kind).type: model_of(kind) for kind in _kinds(table)}


def _kinds(table: Table) -> tuple[type[Any], ...]:
    others = erasures_of(table), shared_rates_of(table), transfers_of(table)
    return fill_parts_of(table), record_of(table), apply_lease_of(table), *others


@cache
def fill_parts_of(table: Table) -> type[Any]:
    """The entity of a table's fills."""

    class TableFillPart(FillPart, table=table, type=MIGRATION_TYPE):
        @system_key(table)
        @staticmethod
        def by_segment(declaration: str = ANY, segment: int = ANY) -> KeyParts:
            """How far one segment of a fill has come."""
            return (MIGRATION_TYPE,), ("fill", f"{declaration}", f"{segment}")

    return TableFillPart
