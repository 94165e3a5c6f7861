"""Transactions: writes and checks of up to 100 items, all of them or none, in one request at twice the units.

The request is repeated with the same bytes and the same token until a definite answer. If that answer is a
refusal because an item had changed since it was read, the request is planned again and sent with a new token.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import (
    AlreadyExists,
    Conflict,
    InvalidRequest,
    SingletableError,
    TooLarge,
    TransactionCancelled,
    TransactionConflict,
    carried,
)
from singletable.expressions import Condition, Update, words
from singletable.flow import Port
from singletable.operations import MAX_ACTIONS, Cancelled, DeleteItem, Item, Reason, TransactWriteItems, is_too_large
from singletable.records.conditions import TRIES, is_there
from singletable.records.entity_writes import CreateWrite, PutWrite, UpsertWrite
from singletable.records.first_use import ready
from singletable.records.index_keys import check_updates
from singletable.records.item_writes import CheckWrite, DeleteWrite, UpdateWrite
from singletable.records.merge import merged
from singletable.records.placement import placement_of
from singletable.records.proof import found, is_outdated, stored_read
from singletable.records.read import check_whole, get_operation
from singletable.records.target import caller_copy_of, target_of
from singletable.records.unique_guards import Place, guard_actions
from singletable.records.upgrade import NOT_STALE, fresh_after
from singletable.records.write import UNREAD, Moment, Part, Presence, Write
from singletable.schema.entities import Entity
from singletable.schema.mistakes import check_joins
from singletable.schema.patterns import KeyOf

_PASSING = frozenset({"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


class HasWrites(Protocol):
    """Any value that can join a transaction: a task to schedule, an edge to link."""

    def writes(self) -> Sequence[Write]: ...


class Failure(Struct, frozen=True):
    """One operation because of which the transaction failed. `number` counts from 1, in the caller's order."""

    number: int
    verb: str
    key: KeyOf[Any]
    error: SingletableError
    """The error that the operation alone would have raised, with the stored item if it exists."""
    condition: str = ""
    """The caller's condition, in words, without values."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Failure, (self.number, self.verb, carried(self.key), self.error, self.condition)

    @property
    def shown(self) -> str:
        """Where it happened, for developers."""
        return f"{self.key.shown}{f' where {self.condition}' if self.condition else ''}"

    def __str__(self) -> str:
        return f"operation {self.number}, {self.verb}: {self.error.what}"


class Transaction:
    """Collects writes; the shell sends them when its `with` block ends without an error, and takes none outside of it.

    create, put, update, upsert, delete and check follow the same write rules as alone. Writes of one item are merged
    if one action can express them; otherwise they are refused by name.
    """

    def __init__(self, *, in_block: bool = False) -> None:
        self.pending: list[Write] = []
        self._may_begin, self._collects = in_block, not in_block

    def create(self, entity: Any) -> None:
        """As `db.create`: AlreadyExists among the failures."""
        self._collect(CreateWrite(entity))

    def put(self, entity: Any, *, where: Condition | None = None) -> None:
        """As `db.put`."""
        self._collect(PutWrite(entity, where))

    def update(
        self, target: KeyOf[Any] | Entity, *updates: Update, where: Condition | None = None, expected: int | None = None
    ) -> None:
        """Change an existing item, named by its key or its entity, whose count of writes must be the item's."""
        key, expected = target_of(target, expected)
        check_updates(key.model, updates)
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

    def _collect(self, *writes: Write) -> None:
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


class Planned(Struct, frozen=True):
    """One action of the request, and the operation to which it belongs."""

    number: int
    part: Part
    is_main: bool
    given_up: Place | None = None
    """The guard of a unique value that the operation gives up."""
    is_companion: bool = False
    """The action is on another place where the item may lie."""


class Plans(Struct):
    """What is known while a transaction is planned again and again."""

    known: dict[int, Any]
    """The items that had to be read, by the number of their write."""
    foreign: set[Place] = set()
    """Guards to be given up that belong to other items: the items may go without them."""
    elsewhere: dict[int, Any] = {}
    """What lies in the other places of items, where it was found."""
    brought: set[int] = set()
    """The writes whose items were looked for in their other places."""


async def commit(
    port: Port, pending: Sequence[Write], read: Mapping[int, Any] | None = None, needed_by: str = "a transaction"
) -> Mapping[int, Any]:
    """Send a transaction. One request; one more round trip if a write needs values that were not given.

    TransactionCancelled names the operations that failed and why. InvalidRequest and TooLarge are raised before
    anything is sent, and NotSupported where the engine is known to have no transactions. Returns the items that had to
    be read, by the number of their write; `read` has those that were read before.
    """
    writes = list(_merged(pending))
    if not writes:
        return {}
    port.traits.check("transactions", needed_by)
    for table in dict.fromkeys(write.model.table for write in writes):
        await ready(port, table)
    for write in writes:
        if (check := placement_of(write.model).check_in_transaction) is not None:
            check(write)
    moment = Moment(port.now())
    known: dict[int, Any] = {i: w.caller_copy for i, w in enumerate(writes) if w.caller_copy is not UNREAD} | dict(
        read or {}
    )
    plans = Plans(known)
    for _ in range(TRIES):
        plan = await _plan(port, writes, plans, moment)
        try:
            await port.send(TransactWriteItems([p.part.action for p in plan], port.token()))
        except Cancelled as cancelled:
            await _after_refusal(port, writes, plan, plans, cancelled, moment)
        else:
            for write in writes:
                write.done()
            return known
    raise TransactionConflict(
        f"other writers changed items of the transaction between each of {TRIES} reads and writes",
        table=writes[0].model.table.name,
        operation="transaction",
        hint="Try again later.",
    )


async def _plan(port: Port, writes: Sequence[Write], plans: Plans, moment: Moment) -> list[Planned]:
    """The actions of all writes and guards, after reading in one round trip the items that some of them need."""
    known = plans.known
    parts = _mains(writes, known, moment)
    needed = [i for i, part in enumerate(parts) if part is None]
    if needed:
        for i in needed:
            await _bring(port, writes, plans, i)
        read = await port.send_all([get_operation(writes[i].key, consistent=True) for i in needed])
        for i, entity in zip(needed, read, strict=True):
            gone = entity is None or writes[i].model.is_expired(entity, moment.now)
            known[i] = None if gone else entity
        parts = _mains(writes, known, moment)
    plan: list[Planned] = []
    for i, part in enumerate(parts):
        assert part is not None
        plan.append(Planned(i, part, True))
    plan += _guards(writes, known, moment, plans.foreign)
    plan += _companions(writes, plans.elsewhere)
    if len(plan) > MAX_ACTIONS:
        raise InvalidRequest(
            f"a transaction of {len(plan)} items, guards of unique values and old keys among them; DynamoDB allows "
            f"{MAX_ACTIONS}",
            operation="transaction",
            hint="Split it into independent transactions.",
        )
    return plan


def _mains(writes: Sequence[Write], known: Mapping[int, Any], moment: Moment) -> list[Part | None]:
    """Each write's action. Raises TransactionCancelled for writes whose items are missing."""
    parts: list[Part | None] = []
    failures: list[Failure] = []
    for i, write in enumerate(writes):
        try:
            parts.append(write.main(known.get(i, UNREAD), moment))
        except Conflict as missing:
            failures.append(_failure(write, missing))
    if failures:
        raise _cancelled(writes, failures)
    return parts


def _guards(
    writes: Sequence[Write], known: Mapping[int, Any], moment: Moment, foreign: Collection[Place]
) -> Iterator[Planned]:
    claims = {id(c): (i, c) for i, write in enumerate(writes) for c in write.claims(known.get(i, UNREAD))}
    if not claims:
        return
    for claim, action, given_up in guard_actions([c for _, c in claims.values()], moment.now, foreign):
        yield Planned(claims[id(claim)][0], Part(action, claim.refusal), False, given_up)


def _companions(writes: Sequence[Write], elsewhere: Mapping[int, Any]) -> Iterator[Planned]:
    """The actions in the places where items may lie besides their keys: one for each such place."""
    actions: dict[tuple[str, str, str], Planned] = {}
    for i, write in enumerate(writes):
        companion = placement_of(write.model).companion
        planned = None if companion is None else companion(write, elsewhere.get(i, UNREAD))
        if planned is not None:
            key, part = planned
            place = key.model.table.name, key.partition, key.low
            if place not in actions or isinstance(part.action, DeleteItem):
                actions[place] = Planned(i, part, False, is_companion=True)
    return iter(actions.values())


def _may_be_elsewhere(write: Write, reason: Reason, moment: Moment) -> bool:
    """Whether a write was refused because nothing lies under its key."""
    return write.presence is Presence.PRESENT and not is_there(write.model, reason.stored, moment.now)


async def _bring(port: Port, writes: Sequence[Write], plans: Plans, number: int) -> bool:
    """Bring a write's item under its key, if it may lie elsewhere. False where that was done before."""
    bring = placement_of(writes[number].model).bring
    if bring is None or number in plans.brought:
        return False
    plans.brought.add(number)
    await bring(port, writes[number].key)
    return True


async def _after_refusal(
    port: Port,
    writes: Sequence[Write],
    plan: Sequence[Planned],
    plans: Plans,
    cancelled: Cancelled,
    moment: Moment,
) -> None:
    """Note what changed, if concurrent changes were the only reason for the refusal; else raise.

    A guard that is to be given up, and belongs to another item, is noted in `foreign`: the item may go without it.
    Items that a refusal came without are read first, in one round trip.
    """
    known, foreign = plans.known, plans.foreign
    failures: dict[int, list[Failure]] = {}
    anew = await _after_companions(port, writes, plan, plans, cancelled, moment, failures)
    proofs = await _proofs(port, writes, plan, cancelled.reasons)
    for planned, given in zip(plan, cancelled.reasons, strict=True):
        write = writes[planned.number]
        is_proven = planned.is_main and planned.number in proofs
        reason = replace(given, stored=proofs[planned.number]) if is_proven else given
        if reason.code in _PASSING or planned.number in anew or planned.is_companion:
            continue
        refused = reason.code == "ConditionalCheckFailed"
        if refused and planned.given_up is not None:
            foreign ^= {planned.given_up}  # it is another's; or, where that was known, it is this item's again
            continue
        if refused and planned.is_main:
            read = known.get(planned.number, UNREAD)
            if _may_be_elsewhere(write, reason, moment) and await _bring(port, writes, plans, planned.number):
                known.pop(planned.number, None)
                anew.add(planned.number)
                continue
            fresh = await fresh_after(port, write, read, reason.stored, moment.now)
            if fresh is not NOT_STALE:
                known[planned.number] = fresh
                anew.add(planned.number)
                continue
        if refused and anew and not planned.is_main:
            continue  # the owner of the value depends on the items that are planned again; a real refusal is repeated
        error = _error(write, planned.part, reason)
        if is_proven and is_outdated(write, error, reason.stored, moment.now):
            anew.add(planned.number)
            continue
        failures.setdefault(planned.number, []).append(_failure(write, error))
    real = [failure for number, own in failures.items() if number not in anew for failure in own]
    if real:
        raise _cancelled(writes, real) from None


async def _after_companions(
    port: Port,
    writes: Sequence[Write],
    plan: Sequence[Planned],
    plans: Plans,
    cancelled: Cancelled,
    moment: Moment,
    failures: dict[int, list[Failure]],
) -> set[int]:
    """The writes to plan again because of what lies in their items' other places. Notes the failures of the others."""
    anew: set[int] = set()
    for planned, reason in zip(plan, cancelled.reasons, strict=True):
        write = writes[planned.number]
        after_companion = placement_of(write.model).after_companion
        if planned.is_companion and after_companion is not None and reason.code == "ConditionalCheckFailed":
            try:
                plans.elsewhere[planned.number] = await after_companion(port, write, reason.stored, moment.now)
            except AlreadyExists as error:
                failures.setdefault(planned.number, []).append(_failure(write, error))
                continue
            plans.known.pop(planned.number, None)
            anew.add(planned.number)
    return anew


async def _proofs(
    port: Port, writes: Sequence[Write], plan: Sequence[Planned], reasons: Sequence[Reason]
) -> Mapping[int, Item | None]:
    """The items of refused writes whose refusals came without them, by the writes' numbers. One round trip, or none."""
    numbers = [
        planned.number
        for planned, reason in zip(plan, reasons, strict=True)
        if reason.code == "ConditionalCheckFailed"
        and planned.is_main
        and planned.part.refusal_needs_item
        and found(reason.stored) is None
    ]
    if not numbers:
        return {}
    items = await port.send_all([stored_read(writes[number]) for number in numbers])
    return dict(zip(numbers, items, strict=True))


def _error(write: Write, part: Part, reason: Reason) -> SingletableError:
    if reason.code == "ConditionalCheckFailed":
        return part.refusal(reason.stored)
    if is_too_large(reason.message):
        what, hint = (
            "the item would be over 400 KB",
            "Keep large content outside the item, or split it over several.",
        )
        return TooLarge(what, hint=hint, key=write.key, operation=write.verb)
    what = f"DynamoDB refused the {write.verb}: {reason.code}"
    return InvalidRequest(what, key=write.key, operation=write.verb, hint=write.advice(reason.message))


def _failure(write: Write, error: SingletableError) -> Failure:
    return Failure(write.number, write.verb, write.key, error, words(write.where) if write.where is not None else "")


def _cancelled(writes: Sequence[Write], failures: list[Failure]) -> TransactionCancelled:
    return TransactionCancelled(
        f"the transaction of {len(writes)} operations was not applied: " + "; ".join(map(str, failures)),
        failures=tuple(failures),
        table=", ".join(dict.fromkeys(write.model.table.name for write in writes)),
        operation="transaction",
        hint="The error's `failures` has each failure with the stored item. Decide by it, then try again.",
    )


def _merged(pending: Sequence[Write]) -> Iterator[Write]:
    """One write for each item, in the order of its first. InvalidRequest for more items than DynamoDB accepts."""
    places: dict[tuple[str, str, str], Write] = {}
    for number, write in enumerate(pending, 1):
        place = (write.model.table.name, write.key.partition, write.key.low)
        write.number = number
        if place in places:
            number = places[place].number
            write = merged(places[place], write)
            write.number = number
        places[place] = write
    if len(places) > MAX_ACTIONS:
        raise InvalidRequest(
            f"a transaction of {len(places)} items, from {len(pending)} operations; DynamoDB allows {MAX_ACTIONS}",
            operation="transaction",
            hint="Split it into independent transactions.",
        )
    return iter(places.values())
