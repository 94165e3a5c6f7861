"""Transactions: up to 100 writes and checks, all of them or none, in one request at twice the units.

The request is repeated with the same bytes and the same token until a definite answer. Only after one, when what an
index key was computed from had changed meanwhile, is it planned anew and sent with a new token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from singletable.errors import Conflict, InvalidRequest, SingletableError, TransactionCancelled, TransactionConflict
from singletable.expressions import Condition, Update, words
from singletable.operations import (
    MAX_ACTIONS,
    Action,
    Cancelled,
    CheckItem,
    DeleteItem,
    Item,
    PutItem,
    Reason,
    TransactWriteItems,
)
from singletable.records.changes import KeysNeeded, Planned, check_updates, plan_keys, update_operation
from singletable.records.models import Model, model_for, model_of
from singletable.records.patterns import KeyOf
from singletable.records.reading import check_whole, get_operation
from singletable.records.rules import (
    absent_or_mine,
    already_exists,
    both,
    condition_failed,
    is_absent,
    is_type,
    not_found,
)
from singletable.records.tables import first_use
from singletable.records.writing import guard, put_operation, rewrite, upsert_operation
from singletable.wire.port import Port

_TRIES = 20


class Write(Protocol):
    """One part of a transaction. Layers above bring their own through `Transaction.add`."""

    @property
    def verb(self) -> str: ...

    @property
    def model(self) -> Model[Any]: ...

    @property
    def key(self) -> KeyOf[Any]: ...

    @property
    def where(self) -> Condition | None: ...

    def action(self, current: Any | None) -> Action | KeysNeeded:
        """The action, or what must be read of the item first."""
        ...

    def refusal(self, stored: Item | None) -> SingletableError:
        """What the failure of the action's condition means."""
        ...


class HasWrites(Protocol):
    """Any value that can join a transaction: a task to schedule, an edge to link."""

    def writes(self) -> Sequence[Write]: ...


@dataclass(frozen=True)
class Failure:
    """One operation that stood in the transaction's way. `number` counts from 1, in the order they were given."""

    number: int
    verb: str
    key: KeyOf[Any]
    error: SingletableError
    """What the operation alone would have raised, with the stored item where there is one."""
    condition: str = ""
    """The condition that failed, in words, without values."""

    def __str__(self) -> str:
        said = f" where {self.condition}" if self.condition else ""
        return f"operation {self.number}, {self.verb} {self.key.shown}{said}: {self.error.what}"


class Transaction:
    """Collects writes; the shell sends them when its `with` block ends without an error.

    create, put, update, upsert, delete and check mean what they mean alone (see the write rules), together with all
    the others. Each item stands in it once.
    """

    def __init__(self) -> None:
        self.pending: list[Write] = []

    def create(self, entity: Any) -> None:
        self.pending.append(Create(model_for(entity), entity))

    def put(self, entity: Any, *, where: Condition | None = None) -> None:
        self.pending.append(Put(model_for(entity), entity, where))

    def update(self, key: KeyOf[Any], *updates: Update, where: Condition | None = None) -> None:
        check_whole(key)
        model: Model[Any] = model_of(key.captured.owner)
        check_updates(model, updates)
        self.pending.append(Change(model, key, updates, where))

    def upsert(self, entity: Any) -> None:
        """Give the item, there or not, all of the entity's attributes."""
        self.pending.append(Upsert(model_for(entity), entity))

    def delete(self, key: KeyOf[Any], *, where: Condition | None = None) -> None:
        """Without `where`, an item that is not there is no error."""
        check_whole(key)
        self.pending.append(Remove(model_of(key.captured.owner), key, where))

    def check(self, key: KeyOf[Any], where: Condition | None = None) -> None:
        """The item is there, of its type, and meets the condition; it is not changed."""
        check_whole(key)
        self.pending.append(Check(model_of(key.captured.owner), key, where))

    def add(self, value: HasWrites) -> None:
        """Take in the writes of any value that has some."""
        self.pending.extend(value.writes())


async def commit(port: Port, pending: Sequence[Write]) -> None:
    """Send a transaction. One request; one round trip more where an update needs values that nobody gave.

    TransactionCancelled names which operations failed and why; InvalidRequest and TooLarge before anything is sent.
    """
    if not pending:
        return
    _check(pending)
    if port.traits.creates_tables:
        for table in dict.fromkeys(write.model.table for write in pending):
            await first_use(port, table)
    known: dict[int, Any] = {}
    for _ in range(_TRIES):
        actions = await _actions(port, pending, known)
        try:
            await port.send(TransactWriteItems(actions, port.token()))
        except Cancelled as cancelled:
            await _after_refusal(port, pending, known, cancelled)
        else:
            return
    raise TransactionConflict(
        f"items of the transaction were changed by others between each of {_TRIES} reads and writes",
        table=pending[0].model.table.name,
        operation="transaction",
        hint="Try again later.",
    )


async def _actions(port: Port, pending: Sequence[Write], known: dict[int, Any]) -> list[Action]:
    """Every write's action, after reading in one round trip what some of them need."""
    made = [write.action(known.get(i)) for i, write in enumerate(pending)]
    needed = [i for i, action in enumerate(made) if isinstance(action, KeysNeeded)]
    if needed:
        found = await port.send_all([get_operation(pending[i].key, consistent=True) for i in needed])
        for i, entity in zip(needed, found, strict=True):
            if entity is None:
                missing = not_found(pending[i].model, pending[i].key, pending[i].verb)
                raise _cancelled(pending, [_failure(i, pending[i], missing)])
            known[i] = entity
            made[i] = pending[i].action(entity)
    return [action for action in made if not isinstance(action, KeysNeeded)]


async def _after_refusal(port: Port, pending: Sequence[Write], known: dict[int, Any], cancelled: Cancelled) -> None:
    """Take what changed into account and go on, where that is all that stood in the way; else raise."""
    failures: list[Failure] = []
    for i, (write, reason) in enumerate(zip(pending, cancelled.reasons, strict=True)):
        if reason.code == "None":
            continue
        if reason.code == "ConditionalCheckFailed" and await _replan(port, write, reason, known, i):
            continue
        failures.append(_failure(i, write, _error(write, reason)))
    if failures:
        raise _cancelled(pending, failures) from None


async def _replan(port: Port, write: Write, reason: Reason, known: dict[int, Any], i: int) -> bool:
    """Whether the refusal came from what was read before, or from an older schema version: then plan with the new."""
    if not isinstance(write, Change) or reason.stored is None or not write.model.is_mine(reason.stored):
        return False
    version = write.model.version_of(reason.stored)
    if version < write.model.version:
        known[i] = await rewrite(port, write.model, reason.stored, version)
        return True
    if version > write.model.version or i not in known:
        return False
    found: Any = write.model.load(reason.stored)
    stale = any(getattr(found, n) != getattr(known[i], n) for n in write.held_names(known[i]))
    known[i] = found
    return stale


def _error(write: Write, reason: Reason) -> SingletableError:
    if reason.code == "ConditionalCheckFailed":
        return write.refusal(reason.stored)
    if reason.code == "ValidationError":
        table = write.model.table.name
        return InvalidRequest(f"DynamoDB refused the {write.verb}", key=write.key, table=table, operation=write.verb)
    return Conflict(f"the {write.verb} failed with {reason.code}", key=write.key, table=write.model.table.name)


def _failure(i: int, write: Write, error: SingletableError) -> Failure:
    return Failure(i + 1, write.verb, write.key, error, words(write.where) if write.where is not None else "")


def _cancelled(pending: Sequence[Write], failures: list[Failure]) -> TransactionCancelled:
    return TransactionCancelled(
        f"nothing of the transaction of {len(pending)} operations was done: " + "; ".join(map(str, failures)),
        failures=tuple(failures),
        table=", ".join(dict.fromkeys(write.model.table.name for write in pending)),
        operation="transaction",
        hint="Each failure is on the error as `failures`, with the stored item: decide by it, then try again.",
    )


def _check(pending: Sequence[Write]) -> None:
    if len(pending) > MAX_ACTIONS:
        raise InvalidRequest(
            f"a transaction of {len(pending)} items; DynamoDB takes {MAX_ACTIONS}",
            operation="transaction",
            hint="Split it into transactions that can stand alone.",
        )
    places: dict[tuple[str, str, str], Write] = {}
    for write in pending:
        place = (write.model.table.name, write.key.partition, write.key.low)
        other = places.setdefault(place, write)
        if other is not write:
            raise InvalidRequest(
                f"{other.verb} and {write.verb} of the same item in one transaction",
                key=write.key,
                table=write.model.table.name,
                operation="transaction",
                hint="Say in one operation what is to become of the item.",
            )


# --- the writes -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Create:
    model: Model[Any]
    entity: Any
    verb: str = "create"
    where: Condition | None = None

    @property
    def key(self) -> KeyOf[Any]:
        return self.model.key_of(self.entity)

    def action(self, current: Any | None) -> Action:
        return PutItem(self.model.table.name, self.model.item(self.entity), guard(self.model, is_absent(self.model)))

    def refusal(self, stored: Item | None) -> SingletableError:
        return already_exists(self.model, self.key, stored)


@dataclass(frozen=True)
class Put:
    model: Model[Any]
    entity: Any
    where: Condition | None
    verb: str = "put"

    @property
    def key(self) -> KeyOf[Any]:
        return self.model.key_of(self.entity)

    def action(self, current: Any | None) -> Action:
        return put_operation(self.model, self.entity, self.where)

    def refusal(self, stored: Item | None) -> SingletableError:
        if stored is not None and not self.model.is_mine(stored):
            return already_exists(self.model, self.key, stored)
        return condition_failed(self.model, self.key, self.verb, self.where, stored)


@dataclass(frozen=True)
class Upsert:
    model: Model[Any]
    entity: Any
    verb: str = "upsert"
    where: Condition | None = None

    @property
    def key(self) -> KeyOf[Any]:
        return self.model.key_of(self.entity)

    def action(self, current: Any | None) -> Action:
        return upsert_operation(self.model, self.entity)

    def refusal(self, stored: Item | None) -> SingletableError:
        if stored is not None and self.model.is_mine(stored):
            return self.model.newer(self.model.version_of(stored))
        return already_exists(self.model, self.key, stored)


@dataclass(frozen=True)
class Change:
    model: Model[Any]
    key: KeyOf[Any]
    updates: tuple[Update, ...]
    where: Condition | None
    verb: str = field(default="update")

    def action(self, current: Any | None) -> Action | KeysNeeded:
        planned = plan_keys(self.model, self.key, self.updates, current)
        if isinstance(planned, KeysNeeded):
            return planned
        return update_operation(self.model, self.key, self.updates, self.where, planned)

    def held_names(self, current: Any) -> Iterator[str]:
        """The attributes whose values the action holds as they were read."""
        planned = plan_keys(self.model, self.key, self.updates, current)
        return iter(planned.held_names if isinstance(planned, Planned) else ())

    def refusal(self, stored: Item | None) -> SingletableError:
        if stored is None or not self.model.is_mine(stored):
            return not_found(self.model, self.key, self.verb)
        version = self.model.version_of(stored)
        if version > self.model.version:
            return self.model.newer(version)
        return condition_failed(self.model, self.key, self.verb, self.where, stored)


@dataclass(frozen=True)
class Remove:
    model: Model[Any]
    key: KeyOf[Any]
    where: Condition | None
    verb: str = "delete"

    def action(self, current: Any | None) -> Action:
        condition = absent_or_mine(self.model) if self.where is None else is_type(self.model) & self.where
        key = self.model.key_item(self.key)
        return DeleteItem(self.model.table.name, key, guard(self.model, condition), self.model)

    def refusal(self, stored: Item | None) -> SingletableError:
        if stored is None or not self.model.is_mine(stored):
            return not_found(self.model, self.key, self.verb)
        return condition_failed(self.model, self.key, self.verb, self.where, stored)


@dataclass(frozen=True)
class Check:
    model: Model[Any]
    key: KeyOf[Any]
    where: Condition | None
    verb: str = "check"

    def action(self, current: Any | None) -> Action:
        condition = both(is_type(self.model), self.where)
        return CheckItem(self.model.table.name, self.model.key_item(self.key), guard(self.model, condition))

    def refusal(self, stored: Item | None) -> SingletableError:
        if stored is None or not self.model.is_mine(stored):
            return not_found(self.model, self.key, self.verb)
        return condition_failed(self.model, self.key, self.verb, self.where, stored)
