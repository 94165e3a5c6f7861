"""Transactions: writes and checks of up to 100 items, all of them or none, in one request at twice the units.

A transaction collects writes; `commit` sends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from singletable.errors import InvalidRequest
from singletable.expressions import Condition, Update
from singletable.records.entity_writes import CreateWrite, PutWrite, UpsertWrite
from singletable.records.item_writes import CheckWrite, DeleteWrite, UpdateWrite
from singletable.records.query_request import check_whole
from singletable.records.target import caller_copy_of, target_of
from singletable.records.write import Write
from singletable.schema import Entity, KeyOf, check_joins

W = TypeVar("W")


class HasWrites(Protocol):
    """Any value that can join a transaction: a task to schedule, an edge to link."""

    def writes(self) -> Sequence[Write]: ...


class WriteBlock(Generic[W]):
    """Collects writes; the shell sends them when its `with` block ends without an error, and takes none outside of
    it."""

    def __init__(self, *, in_block: bool = False) -> None:
        self.pending: list[W] = []
        self._may_begin, self._collects = in_block, not in_block

    def _collect(self, *writes: W) -> None:
        if not self._collects:
            raise InvalidRequest(
                "a write on a transaction outside of its block would never be sent",
                operation="transaction",
                hint="Write it inside the block: with db.transaction() as tx: ... (async with, for an AsyncDatabase).",
            )
        self.pending += writes

    def _begin(self) -> None:
        """Its block begins."""
        if not self._may_begin:
            raise InvalidRequest(
                "a transaction was entered a second time", operation="transaction", hint="Begin another transaction."
            )
        self._may_begin, self._collects = False, True

    def _end(self) -> None:
        """Its block has ended: what is written from now on would not be sent."""
        self._collects = False


class Transaction(WriteBlock[Write]):
    """Collects writes; the shell sends them when its `with` block ends without an error, and takes none outside of it.

    create, put, update, upsert, delete and check follow the same write rules as alone. Writes of one item are merged
    if one action can express them; otherwise they are refused by name.
    """

    def create(self, entity: Any) -> None:
        """Create an item, like `db.create`: AlreadyExists among the failures."""
        self._collect(CreateWrite(entity))

    def put(self, entity: Any, *, where: Condition | None = None) -> None:
        """Put an item, like `db.put`."""
        self._collect(PutWrite(entity, where))

    def update(
        self, target: KeyOf[Any] | Entity, *updates: Update, where: Condition | None = None, expected: int | None = None
    ) -> None:
        """Change an existing item, named by its key or its entity, whose count of writes must be the item's."""
        key, expected = target_of(target, expected)
        self._collect(UpdateWrite(key, updates, where, expected, caller_copy_of(target, key.model)))

    def upsert(self, entity: Any) -> None:
        """Set all of the entity's attributes on the item, which is created if it is missing."""
        self._collect(UpsertWrite(entity))

    def delete(
        self, target: KeyOf[Any] | Entity, *, where: Condition | None = None, expected: int | None = None
    ) -> None:
        """Delete an item. Without `where` and `expected`, a missing item is not an error."""
        key, expected = target_of(target, expected)
        self._collect(DeleteWrite(key, where, expected))

    def check(self, key: KeyOf[Any], *, where: Condition | None = None) -> None:
        """Check that the item exists, has its type, and meets the condition. It is not changed."""
        check_whole(key)
        self._collect(CheckWrite(key, where))

    def add(self, value: HasWrites) -> None:
        """Add the writes of a task, a link, or any other value that has writes."""
        check_joins(value)
        self._collect(*value.writes())
