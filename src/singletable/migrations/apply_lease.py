"""The lease of an apply: at most one changes a table at a time, and one that lost its lease writes nothing more.

    state    event       next    who, and when
    FREE     TAKE        HELD    any apply; raises the fence
    HELD     TAKE        HELD    another apply, once the beats did not change for a lease's length
    HELD     BEAT        HELD    its owner, before it writes and while it waits
    HELD     RELEASE     FREE    its owner, at its end

No clocks are compared. Another apply watches the beats by its own monotonic clock: if they change, it ends, and names
the owner and its position; if they don't for a lease's length, it takes the lease.

DynamoDB takes no condition with UpdateTable. So an owner beats right before one, and ends where that is refused. What
it could still send is what the next owner's own plan would find done, or would do again.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from singletable.expressions import AttributeChange, Condition, Given, Stored
from singletable.flow import Port, instant
from singletable.foundation import Table, apply_lease_of, check_if, model_for, model_of, put_if, record_of, update_if
from singletable.migrations.model_document import ModelDocument
from singletable.migrations.refusals import ApplyRefused
from singletable.operations import RAW, Cancelled, CheckItem, GetItem, PutItem, Refused, TransactWriteItems

LEASE_SECONDS: Final = 30.0
"""An owner whose beats did not change for so long counts as dead."""
BEAT_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 1.0


class Held(Struct, frozen=True):
    """A lease as its owner took it."""

    owner: str
    fence: int


async def read_lease(port: Port, table: Table) -> Any:
    """The stored lease; None before the first apply. One consistent read."""
    return await _read(port, apply_lease_of(table))


async def read_record(port: Port, table: Table) -> Any:
    """The stored record of the model; None before the first apply. One consistent read."""
    return await _read(port, record_of(table))


async def take(port: Port, table: Table, by: str) -> Held:
    """Take the lease. ApplyRefused at once where another's beats are seen to change; takes it when they stop.

    A read and a write; while another holds it, a read a second.
    """
    seen, since = None, port.monotonic()
    while True:
        lease = await read_lease(port, table)
        beats = None if lease is None or not lease.owner else (lease.fence, lease.beats)
        if beats is None or (beats == seen and port.monotonic() - since >= LEASE_SECONDS):
            held = await _take(port, table, lease, by)
            if held is not None:
                return held
            seen, since = None, port.monotonic()
            continue
        if seen is not None and beats != seen:
            raise _another(table, lease)
        seen = beats
        await port.sleep(_LOOK_SECONDS)


async def beat(port: Port, table: Table, held: Held, beats: int, doing: str) -> None:
    """Show that the owner lives, and what it does. ApplyRefused if the lease was lost. One write."""
    changes = _change("beats", {"N": str(beats)}), _change("doing", {"S": doing})
    try:
        await port.send(update_if(apply_lease_of(table).only(), changes, _is_held(held)))
    except Refused:
        raise await _lost(port, table) from None


async def release(port: Port, table: Table, held: Held) -> None:
    """Leave the table to others; nothing where the lease was lost. One write."""
    changes = _change("owner", {"S": ""}), _change("doing", {"S": ""})
    try:
        await port.send(update_if(apply_lease_of(table).only(), changes, _is_held(held)))
    except Refused:
        return


async def write_record(port: Port, table: Table, held: Held, document: ModelDocument, by: str) -> None:
    """Write down what the table was brought to, if the lease is still held. One transaction; ApplyRefused."""
    check, put = record_writes(table, held, document, by, port.now())
    if "transactions" in port.traits.lacks:
        await port.send(put)
        return
    try:
        await port.send(TransactWriteItems((check, put), port.token()))
    except Cancelled:
        raise await _lost(port, table) from None


def record_writes(table: Table, held: Held, document: ModelDocument, by: str, now: float) -> tuple[CheckItem, PutItem]:
    """The check of the lease, and the record."""
    kind = record_of(table)
    at = instant(int(now))
    record = kind(model=document.text, brought_at=at, by=by, fence=held.fence)
    item = model_for(record).item(record)
    return check_if(apply_lease_of(table).only(), _is_held(held)), put_if(kind.only(), item, None)


async def _read(port: Port, kind: Any) -> Any:
    model = model_of(kind)
    item = await port.send(GetItem(model.table.name, model.key_item(kind.only()), RAW, consistent=True))
    return None if item is None else model.load(item)


async def _take(port: Port, table: Table, seen: Any, by: str) -> Held | None:
    """Take the lease; None if another was first. After a lost answer the refused repetition is examined."""
    kind = apply_lease_of(table)
    held = Held(port.token(), (seen.fence if seen is not None else 0) + 1)
    since = instant(int(port.now()))
    lease = kind(fence=held.fence, owner=held.owner, by=by, since=since)
    if seen is None:
        condition = Condition("attribute_not_exists", (Stored("fence"),))
    else:
        condition = _equal("fence", seen.fence) & _equal("beats", seen.beats)
        condition = condition & Condition("=", (Stored("owner"), Given({"S": seen.owner})))
    try:
        await port.send(put_if(kind.only(), model_for(lease).item(lease), condition))
    except Refused:
        there = await read_lease(port, table)
        return held if there is not None and there.owner == held.owner else None
    return held


def _is_held(held: Held) -> Condition:
    return _equal("fence", held.fence) & Condition("=", (Stored("owner"), Given({"S": held.owner})))


def _equal(name: str, number: int) -> Condition:
    return Condition("=", (Stored(name), Given({"N": str(number)})))


def _change(name: str, value: Any) -> AttributeChange:
    return AttributeChange(name, value)


def _another(table: Table, lease: Any) -> ApplyRefused:
    since = f" since {lease.since:%Y-%m-%d %H:%M:%S} UTC" if lease.since is not None else ""
    doing = f"; it is at: {lease.doing}" if lease.doing else ""
    return ApplyRefused(
        f"{lease.by or 'another apply'} changes the table{since}{doing}",
        reason="another apply",
        table=table.name,
        hint="Wait for its end. After a kill, the next one takes over by itself.",
    )


async def _lost(port: Port, table: Table) -> ApplyRefused:
    lease = await read_lease(port, table)
    by = lease.by if lease is not None else ""
    return ApplyRefused(
        f"the lease was lost to {by or 'another apply'}: this process was without a beat for {LEASE_SECONDS:g} seconds",
        reason="lease lost",
        table=table.name,
        hint="Nothing is half done. Look at the plan, and apply again if there is one.",
    )
