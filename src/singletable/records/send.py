"""Flows that write one item alone. `item_writes` and `entity_writes` have what each verb sends, `conditions` what a
refusal means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import (
    AlreadyExists,
    Applied,
    InvalidRequest,
    InvalidValue,
    NotFound,
    SingletableError,
    TooLarge,
    TransactionCancelled,
)
from singletable.expressions import Condition, Update
from singletable.flow import Port, Race
from singletable.operations import Item, RefusedWrite, applied
from singletable.records.commit import commit
from singletable.records.conditions import CHANGED, outcome_unknown
from singletable.records.entity_writes import CreateWrite, PutWrite, UpsertWrite
from singletable.records.first_use import ready
from singletable.records.index_keys import applied as entity_after
from singletable.records.item_writes import DeleteWrite, UpdateWrite
from singletable.records.placement import placement_of
from singletable.records.proof import found, is_outdated, stored_read
from singletable.records.read import get_operation
from singletable.records.target import caller_copy_of, target_of
from singletable.records.upgrade import NOT_STALE, fresh_after
from singletable.records.write import UNREAD, Moment, Write, WritePart, WriteResult, settles_nothing
from singletable.schema import model_for


async def create(port: Port, entity: Any) -> None:
    """Create an item. Raises AlreadyExists, NotUnique. One request."""
    await send_alone(port, CreateWrite(entity))


async def put(port: Port, entity: Any, *, where: Condition | None = None) -> None:
    """Create or overwrite an item. Raises ConditionFailed, VersionMoved, NotUnique.

    One request; with unique attributes a read and a transaction.
    """
    await send_alone(port, PutWrite(entity, where))


async def update(
    port: Port,
    target: Any,
    updates: tuple[Update, ...],
    *,
    where: Condition | None = None,
    expected: int | None = None,
    exactly_once: bool = False,
) -> Any:
    """Change attributes of an existing item, named by its key or by its entity; returns the updated item.

    Raises NotFound, ConditionFailed, VersionMoved, NotUnique. One request. One more read if an index key or a guard
    needs values that neither the target nor the updates contain, and before NotFound, as only a read proves absence.
    `exactly_once` makes it a transaction and a read.
    """
    key, expected = target_of(target, expected)
    return await send_alone(
        port, UpdateWrite(key, updates, where, expected, caller_copy_of(target, key.model)), exactly_once
    )


async def upsert(port: Port, entity: Any, updates: tuple[Update, ...], exactly_once: bool = False) -> Any:
    """Apply the updates to the item if it exists, else create it from the entity with the updates applied. Without
    updates, set all of the entity's attributes on it. Returns the item after the write.

    One request; with updates, one more if the item is missing.
    """
    model = model_for(entity)
    if not updates:
        written = await send_alone(port, UpsertWrite(entity))
        if written is None:  # over an expired item, as create: the item is the entity
            if model.counter is not None:
                setattr(entity, model.counter.name, 1)
            return entity
        return written
    key = model.key_of(entity)
    fresh = entity_after(model, entity, updates)
    prove_absence = False  # the create that follows finds out
    race = Race(port, "upsert", CHANGED, key=key)
    while True:
        try:
            return await send_alone(port, UpdateWrite(key, updates), exactly_once, prove_absence)
        except NotFound:
            try:
                await create(port, fresh)
            except AlreadyExists as taken:
                if taken.of_another_type:
                    raise
                prove_absence = True
                await race.lost()
            else:
                return fresh


async def delete(port: Port, target: Any, *, where: Condition | None = None, expected: int | None = None) -> Any:
    """Delete an item, named by its key or by its entity. Returns the deleted item, or None if it was missing.

    Raises ConditionFailed, VersionMoved. One request; with unique attributes a read and a transaction. One more read
    if a condition is given and the item is missing.
    """
    key, expected = target_of(target, expected)
    try:
        gone: Any = await send_alone(port, DeleteWrite(key, where, expected))
    except NotFound:
        return None
    return None if gone is None or key.model.is_expired(gone, port.now()) else gone


async def send_alone(port: Port, write: Write, exactly_once: bool = False, prove_absence: bool = True) -> Any:
    """Send one write: as a single request, or as a transaction if it has guards or must happen exactly once.

    If a refusal comes without the item, one more read finds out whether the item exists. Without `prove_absence` the
    item is taken to be missing.
    """
    await ready(port, write.model.table)
    send = placement_of(write.model).send or send_at_its_key
    try:
        return await send(port, write, exactly_once, prove_absence)
    except SingletableError as error:
        error.of_call(write.verb, write.model.table.name)
        port.tell(error)
        raise


async def send_at_its_key(port: Port, write: Write, exactly_once: bool, prove_absence: bool) -> Any:
    """Send one write of an item that lies under its key, in one form."""
    if exactly_once or (write.model.has_claims and write.always_guards):
        return await transacted(port, write)
    is_known = port.clock.is_known  # read first: another thread's answer may come between the two
    moment = Moment(port.now(), is_known, port.token() if write.stores_write_id else "", port.events)
    current: Any = write.caller_copy
    race: Race | None = None
    while True:
        part = write.main(current, moment)
        if part is None:
            assert current is UNREAD
            current = await read_current(port, write)
            if not moment.is_known:
                moment = replace(moment, now=port.now(), is_known=True)  # the answer has shown the time that decides
            continue
        for _ in write.claims(current):
            return await transacted(port, write, {0: current})
        try:
            action: Any = part.action
            answer = await port.send(action)
        except RefusedWrite as refused:
            if not moment.is_known and write.model.expires and not refused.unsettled:
                moment = replace(moment, now=port.now(), is_known=True)  # the answer has shown the time that decides
                continue
            evidence = await _evidence(port, write, part, refused, prove_absence)
            if part.settles(evidence.stored):
                write.done()
                return _settled(write, evidence.stored or {})
            race = race or Race(port, write.verb, CHANGED, key=write.key)
            if refused.unsettled:
                race.hint = "An earlier try may have been written, and written over. Read the item, then try again."
            current = await _after_refusal(port, write, part, current, evidence, moment)
            if await race.lost() and current is not UNREAD:
                current = await read_current(port, write)
        except Applied as error:
            write.done()
            error.key = write.key
            raise
        except (InvalidRequest, InvalidValue, TooLarge) as error:
            error.key, error.hint = write.key, error.hint or write.advice(error.what)
            raise
        else:
            write.done()
            return answer


async def read_current(port: Port, write: Write) -> Any:
    """The current entity of a write's item; None if it is missing or has expired, by the time that its answer shows."""
    entity: Any = await port.send(get_operation(write.key, consistent=True))
    return None if entity is None or write.model.is_expired(entity, port.now()) else entity


class Evidence(Struct, frozen=True):
    """The facts of a refusal."""

    stored: Item | None
    unsettled: bool
    """The answer to an earlier try was lost."""
    was_read: bool
    """The item did not come with the refusal; it was read after it."""


async def _evidence(port: Port, write: Write, part: WritePart, refused: RefusedWrite, prove_absence: bool) -> Evidence:
    stored = found(refused.stored)
    may_settle = refused.unsettled and (part.refusal_needs_item or part.settles is not settles_nothing)
    if stored is not None or not (may_settle or (prove_absence and part.refusal_needs_item)):
        return Evidence(stored, refused.unsettled, was_read=False)
    try:
        return Evidence(await port.send(stored_read(write)), refused.unsettled, was_read=True)
    except SingletableError as error:
        if refused.unsettled:
            raise outcome_unknown(write.key, write.verb) from error
        raise


async def _after_refusal(
    port: Port, write: Write, part: WritePart, current: Any, known: Evidence, moment: Moment
) -> Any:
    """The item to plan the write with again; or raise what the refusal means."""
    stored = known.stored
    fresh = await fresh_after(port, write, current, stored, moment.now)
    if fresh is not NOT_STALE:
        return fresh
    if known.unsettled and not part.certain and not write.is_moot(stored, moment.now):
        raise outcome_unknown(write.key, write.verb) from None
    error = part.refusal(stored)
    if known.was_read and is_outdated(write, error, stored, moment.now):
        return current
    raise error from None


async def transacted(port: Port, write: Write, read: Mapping[int, Any] | None = None) -> Any:
    """One write as a transaction: with its guards, or for a token that settles a lost answer."""
    try:
        beside = "a unique value" if write.model.uniques else "a search" if write.model.searches else ""
        known = await commit(port, [write], read, beside or placement_of(write.model).needed_by)
    except TransactionCancelled as cancelled:
        raise cancelled.failures[0].error from None
    if write.answer is WriteResult.AFTER:
        return await _read_back(port, write)
    return known.get(0) if write.answer is WriteResult.BEFORE else None


async def _read_back(port: Port, write: Write) -> Any:
    """The item that a transaction wrote; Applied if it can't be read."""
    try:
        item = await port.send(stored_read(write))
    except SingletableError as error:
        raise _applied(write, None, error) from error
    return None if item is None else _settled(write, item)


def _settled(write: Write, item: Item) -> Any:
    """The entity of an item that was written, read apart from the write."""
    try:
        return write.model.load(item)
    except Exception as error:  # also from the class's own code
        raise _applied(write, item, error) from error


def _applied(write: Write, item: Item | None, error: Exception) -> Applied:
    raised = applied(item, error, write.verb, write.model.table.name)
    raised.key = write.key
    return raised
