"""The commit of a transaction: planned from what is known, sent, and planned again where what was known is out of date.

The request is repeated with the same bytes and the same token until a definite answer. A refusal then means one of two
things. It teaches what was not known, and the transaction is planned again, with a new token:

    known       an item that was read has changed, or is of an older schema version
    foreign     a guard that a write gives up belongs to another item; or, where that was known, to this one again
    elsewhere   an item lies in another place of its class: see `placement`

Or it is the caller's, as of a write alone: TransactionCancelled has each such failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import (
    AlreadyExists,
    Conflict,
    Failure,
    InvalidRequest,
    SingletableError,
    TooLarge,
    TransactionCancelled,
)
from singletable.expressions import words
from singletable.flow import Port, Race
from singletable.operations import (
    MAX_ACTIONS,
    DeleteItem,
    Item,
    Reason,
    ReasonedCancellation,
    TransactWriteItems,
    why_too_large,
)
from singletable.records.conditions import is_there
from singletable.records.first_use import ready
from singletable.records.placement import placement_of
from singletable.records.proof import found, is_outdated, stored_read
from singletable.records.read import get_operation
from singletable.records.unique_guards import Place, guard_actions
from singletable.records.upgrade import NOT_STALE, fresh_after
from singletable.records.write import UNREAD, Moment, Presence, Write, WritePart

PASSING_REASONS = frozenset({"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
_REFUSED = "ConditionalCheckFailed"


class PlannedAction(Struct, frozen=True):
    """One action of the request, and the write to which it belongs."""

    number: int
    part: WritePart
    is_main: bool
    given_up: Place | None = None
    """The guard of a unique value that the write gives up."""
    is_companion: bool = False
    """The action is on another place where the item may lie."""


async def commit(
    port: Port, pending: Sequence[Write], read: Mapping[int, Any] | None = None, needed_by: str = "a transaction"
) -> Mapping[int, Any]:
    """Send a transaction. One request; one more round trip if a write needs values that were not given.

    TransactionCancelled names the operations that failed and why. InvalidRequest and TooLarge are raised before
    anything is sent, and NotSupported if the engine is known to lack transactions. Returns the items that had to be
    read, by the number of their write; `read` has the ones that were read before.
    """
    writes = list(_merged(pending))
    if not writes:
        return {}
    port.traits.check("transactions", needed_by)
    for table in dict.fromkeys([write.model.table for write in writes]):
        await ready(port, table)
    for write in writes:
        if (check := placement_of(write.model).check_in_transaction) is not None:
            check(write)
    known: dict[int, Any] = {i: w.caller_copy for i, w in enumerate(writes) if w.caller_copy is not UNREAD}
    try:
        return await Commit(port, writes, known | dict(read or {})).send()
    except SingletableError as error:
        port.tell(error)
        raise


@dataclass(eq=False)
class Commit:
    """A transaction under way: its writes, and what is known of their items, by the number of the write."""

    port: Port
    writes: Sequence[Write]
    known: dict[int, Any]
    """The items that had to be read."""
    foreign: set[Place] = field(default_factory=set[Place])
    """Guards to be given up that belong to other items: the items may go without them."""
    elsewhere: dict[int, Any] = field(default_factory=dict[int, Any])
    """The items found in other places, by the number of their write."""
    brought: set[int] = field(default_factory=set[int])
    """The writes whose items were looked for in their other places."""
    moment: Moment = field(init=False)
    """The time of the try: what expires meanwhile has expired for the next one."""

    async def send(self) -> Mapping[int, Any]:
        race = Race(self.port, "transaction", "another writer changed items of the transaction")
        while True:
            is_known = self.port.clock.is_known  # read first: another thread's answer may come between the two
            self.moment = Moment(self.port.now(), is_known, "", self.port.events)
            plan = await self._plan()
            try:
                await self.port.send(TransactWriteItems([p.part.action for p in plan], self.port.token()))
            except ReasonedCancellation as cancelled:
                if not self.moment.is_known and any(write.model.expires for write in self.writes):
                    continue  # the answer has shown the time by which the conditions are judged
                await self._after_refusal(plan, cancelled.reasons)
                race.table = self.writes[0].model.table.name
                if self.brought:
                    race.hint = "No operation was applied; items may have been moved to their keys. Try again later."
                if await race.lost():
                    await self._read(list(self.known))
            else:
                for write in self.writes:
                    write.done()
                return self.known

    # --- the plan ----------------------------------------------------------------------------------------------------
    async def _plan(self) -> list[PlannedAction]:
        """The actions of all writes and guards, after reading in one round trip the items that some of them need."""
        parts = self._mains()
        needed = [number for number, part in enumerate(parts) if part is None]
        if needed:
            await self._read(needed)
            parts = self._mains()
        plan: list[PlannedAction] = []
        for number, part in enumerate(parts):
            assert part is not None
            plan.append(PlannedAction(number, part, True))
        plan += self._guards()
        plan += self._companions()
        if len(plan) > MAX_ACTIONS:
            raise InvalidRequest(
                f"a transaction of {len(plan)} items, guards of unique values, words of searches and old keys among "
                f"them; DynamoDB allows {MAX_ACTIONS}",
                operation="transaction",
                hint="Split it into independent transactions.",
            )
        return plan

    def _mains(self) -> list[WritePart | None]:
        """Each write's action. Raises TransactionCancelled for writes whose items are missing."""
        parts: list[WritePart | None] = []
        failures: list[Failure] = []
        for number, write in enumerate(self.writes):
            try:
                parts.append(write.main(self.known.get(number, UNREAD), self.moment))
            except Conflict as missing:
                failures.append(_failure(write, missing))
        if failures:
            raise _cancelled(self.writes, failures)
        return parts

    async def _read(self, needed: Sequence[int]) -> None:
        for number in needed:
            await self._bring(number)
        operations = [get_operation(self.writes[number].key, consistent=True) for number in needed]
        entities, now = await self.port.send_all(operations), self.port.now()
        if not self.moment.is_known:
            self.moment = Moment(now, True, "", self.port.events)  # the answers have shown the time that decides
        for number, entity in zip(needed, entities, strict=True):
            is_gone = entity is None or self.writes[number].model.is_expired(entity, now)
            self.known[number] = None if is_gone else entity

    def _guards(self) -> Iterator[PlannedAction]:
        claims = {
            id(claim): (number, claim)
            for number, write in enumerate(self.writes)
            for claim in write.claims(self.known.get(number, UNREAD))
        }
        if not claims:
            return
        actions = guard_actions([claim for _, claim in claims.values()], self.moment.gone_until, self.foreign)
        for claim, action, given_up in actions:
            yield PlannedAction(claims[id(claim)][0], WritePart(action, claim.refusal), False, given_up)

    def _companions(self) -> Iterator[PlannedAction]:
        """The actions in the other places where items may lie: one for each such place."""
        actions: dict[tuple[str, str, str], PlannedAction] = {}
        for number, write in enumerate(self.writes):
            companion = placement_of(write.model).companion
            placed = None if companion is None else companion(write, self.elsewhere.get(number, UNREAD))
            if placed is not None:
                key, part = placed
                place = key.model.table.name, key.partition, key.low
                if place not in actions or isinstance(part.action, DeleteItem):
                    actions[place] = PlannedAction(number, part, False, is_companion=True)
        return iter(actions.values())

    async def _bring(self, number: int) -> bool:
        """Bring a write's item under its key, if it may lie elsewhere. False if that was done before."""
        bring = placement_of(self.writes[number].model).bring
        if bring is None or number in self.brought:
            return False
        self.brought.add(number)
        await bring(self.port, self.writes[number].key)
        return True

    # --- a refusal ---------------------------------------------------------------------------------------------------
    async def _after_refusal(self, plan: Sequence[PlannedAction], reasons: Sequence[Reason]) -> None:
        """Learn from each refused action; raise TransactionCancelled if one of them teaches nothing.

        Items that a refusal came without are read first, in one round trip.
        """
        refused = [(p, reason) for p, reason in zip(plan, reasons, strict=True) if reason.code not in PASSING_REASONS]
        anew, failures = await self._after_companions(refused)
        proofs = await self._proofs(refused)
        for planned, reason in refused:
            number = planned.number
            if number in anew or planned.is_companion:
                continue
            is_proven = planned.is_main and number in proofs
            known_reason = replace(reason, stored=proofs[number]) if is_proven else reason
            if await self._teaches(planned, known_reason, anew):
                continue
            write = self.writes[number]
            error = _error(write, planned.part, known_reason)
            if is_proven and is_outdated(write, error, known_reason.stored, self.moment.now):
                anew.add(number)
            else:
                failures.setdefault(number, []).append(_failure(write, error))
        real = [failure for number, own in failures.items() if number not in anew for failure in own]
        if real:
            raise _cancelled(self.writes, real) from None

    async def _teaches(self, planned: PlannedAction, reason: Reason, anew: set[int]) -> bool:
        """Whether a refusal needs no error: by what it teaches, the action is planned another way."""
        if reason.code != _REFUSED:
            return False
        if planned.given_up is not None:
            self.foreign ^= {planned.given_up}  # it is another's; or, where that was known, it is this item's again
            return True
        if not planned.is_main:
            # The owner of the value depends on the items that are planned again; a real refusal is repeated.
            return bool(anew)
        if await self._is_out_of_date(planned.number, reason.stored):
            anew.add(planned.number)
            return True
        return False

    async def _is_out_of_date(self, number: int, stored: Item | None) -> bool:
        """Whether a write was refused for what was known of its item. That is then what it is now."""
        write, now = self.writes[number], self.moment.now
        if write.presence is Presence.PRESENT and not is_there(write.model, stored, now) and await self._bring(number):
            self.known.pop(number, None)
            return True
        fresh = await fresh_after(self.port, write, self.known.get(number, UNREAD), stored, now)
        if fresh is NOT_STALE:
            return False
        self.known[number] = fresh
        return True

    async def _after_companions(
        self, refused: Sequence[tuple[PlannedAction, Reason]]
    ) -> tuple[set[int], dict[int, list[Failure]]]:
        """The writes to plan again for what lies in their items' other places, and the failures of the others."""
        anew: set[int] = set()
        failures: dict[int, list[Failure]] = {}
        for planned, reason in refused:
            number, write = planned.number, self.writes[planned.number]
            after_companion = placement_of(write.model).after_companion
            if after_companion is None or not planned.is_companion or reason.code != _REFUSED:
                continue
            try:
                self.elsewhere[number] = await after_companion(self.port, write, reason.stored, self.moment.now)
            except AlreadyExists as error:
                failures.setdefault(number, []).append(_failure(write, error))
                continue
            self.known.pop(number, None)
            anew.add(number)
        return anew, failures

    async def _proofs(self, refused: Sequence[tuple[PlannedAction, Reason]]) -> Mapping[int, Item | None]:
        """The items of refused writes whose refusals came without them, by the writes' numbers. One round trip, or
        none."""
        numbers = [
            planned.number
            for planned, reason in refused
            if reason.code == _REFUSED
            and planned.is_main
            and planned.part.refusal_needs_item
            and found(reason.stored) is None
        ]
        if not numbers:
            return {}
        items = await self.port.send_all([stored_read(self.writes[number]) for number in numbers])
        return dict(zip(numbers, items, strict=True))


def _error(write: Write, part: WritePart, reason: Reason) -> SingletableError:
    if reason.code == "ConditionalCheckFailed":
        return part.refusal(reason.stored)
    if (too_large := why_too_large(reason.code, reason.message)) is not None:
        what, hint = too_large
        return TooLarge(what, hint=hint, key=write.key, operation=write.verb)
    what = f"DynamoDB refused the {write.verb}: {reason.code}"
    return InvalidRequest(what, key=write.key, operation=write.verb, hint=write.advice(reason.message))


def _failure(write: Write, error: SingletableError) -> Failure:
    return Failure(write.number, write.verb, error, write.key, words(write.where) if write.where is not None else "")


def _cancelled(writes: Sequence[Write], failures: list[Failure]) -> TransactionCancelled:
    tables = dict.fromkeys(write.model.table.name for write in writes)
    return not_applied(", ".join(tables), len(writes), failures)


def not_applied(table: str, count: int, failures: Sequence[Failure]) -> TransactionCancelled:
    """The error of a transaction of some operations, of which these were refused."""
    return TransactionCancelled(
        f"the transaction of {count} operations was not applied: " + "; ".join(map(str, failures)),
        failures=tuple(failures),
        table=table,
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
            write = _joined(places[place], write)
            write.number = number
        places[place] = write
    if len(places) > MAX_ACTIONS:
        raise InvalidRequest(
            f"a transaction of {len(places)} items, from {len(pending)} operations; DynamoDB allows {MAX_ACTIONS}",
            operation="transaction",
            hint="Split it into independent transactions.",
        )
    return iter(places.values())


def _joined(one: Write, other: Write) -> Write:
    """Two writes of one item as one, as DynamoDB accepts one action for each item. InvalidRequest if none does both."""
    joined = one.joined_with(other) or other.joined_with(one)
    if joined is None and other.updates:
        joined = one.with_update(other)
    if joined is None:
        raise InvalidRequest(
            f"{one.verb} and {other.verb} of the same item in one transaction",
            key=other.key,
            operation="transaction",
            hint="Use one operation for the item.",
        )
    return joined
