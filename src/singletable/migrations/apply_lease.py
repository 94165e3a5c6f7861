"""The lease of an apply: at most one changes a table at a time, and one that lost its lease writes nothing more.

`flow.leases` says what a lease guarantees. The owner beats before it writes and while it waits. Another apply that sees
the lease change ends, and names the owner and its position.

DynamoDB takes no condition with UpdateTable. So an owner beats right before one, and ends where that is refused. What
it could still send is what the next owner's own plan would find done, or would do again.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.events import LeaseLost
from singletable.expressions import AttributeChange, Condition, Given, Stored
from singletable.flow import NOTHING_CONSUMED, Consumed, Port, Response, acquire, instant
from singletable.foundation import Table, check_if, model_for, model_of, put_if, update_if
from singletable.migrations.items import ApplyLease, ModelRecord
from singletable.migrations.model_document import ModelDocument, read_document
from singletable.migrations.refusals import ApplyRefused
from singletable.operations import (
    RAW,
    CheckItem,
    GetItem,
    PutItem,
    ReasonedCancellation,
    RefusedWrite,
    TransactWriteItems,
)

LEASE_SECONDS: Final = 30.0
"""An owner whose beats did not change for so long counts as dead."""
BEAT_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 1.0
_LARGE: Final = 100_000
"""Characters of a model from which on it is stored compressed: an item has 400 KB."""


class Held(Struct, frozen=True):
    """A lease as its owner took it."""

    owner: str
    fence: int


async def read_lease(port: Port, table: Table) -> Any:
    """The stored lease; None before the first apply. One consistent read."""
    return await read_single(port, ApplyLease.of(table))


async def read_record(port: Port, table: Table) -> Any:
    """The stored record of the model; None before the first apply. One consistent read."""
    return await read_single(port, ModelRecord.of(table))


async def take(port: Port, table: Table, by: str) -> Held:
    """Take the lease. ApplyRefused at once where another's beats are seen to change; takes it when they stop.

    A read and a write; while another holds it, a read a second.
    """
    candidate = _Candidate(table, by)
    await acquire(port, candidate, LEASE_SECONDS, _LOOK_SECONDS)
    return candidate.held


async def check_free(port: Port, table: Table, by: str) -> None:
    """ApplyRefused if another apply is seen to have the lease. A read; where its owner has died, half a minute and two
    writes more."""
    stored = await read_single(port, ApplyLease.of(table), GetIfTable)
    if stored is not None and stored.owner:
        await release(port, table, await take(port, table, by))


async def beat(port: Port, table: Table, held: Held, beats: int, doing: str) -> None:
    """Show that the owner lives, and what it does. ApplyRefused if the lease was lost. One write."""
    changes = AttributeChange("beats", {"N": str(beats)}), AttributeChange("doing", {"S": doing})
    try:
        await port.send(update_if(ApplyLease.of(table).only(), changes, _is_held(held)))
    except RefusedWrite:
        raise await _lost(port, table) from None


async def release(port: Port, table: Table, held: Held) -> None:
    """Leave the table to others; nothing where the lease was lost. One write."""
    changes = AttributeChange("owner", {"S": ""}), AttributeChange("doing", {"S": ""})
    try:
        await port.send(update_if(ApplyLease.of(table).only(), changes, _is_held(held)))
    except RefusedWrite:
        return


async def write_record(port: Port, table: Table, held: Held, record: ModelRecord) -> None:
    """Write down what the table was brought to, if the lease is still held. One transaction; ApplyRefused."""
    check, put = record_writes(table, held, record)
    if "transactions" in port.traits.lacks:
        await port.send(put)
        return
    try:
        await port.send(TransactWriteItems((check, put), port.token()))
    except ReasonedCancellation:
        raise await _lost(port, table) from None


def record_of(
    table: Table, held: Held, document: ModelDocument, by: str, now: float, former: ModelRecord | None
) -> ModelRecord:
    """The record of a table that was brought to a document, with the model that the `former` one has, if another."""
    before = None
    if former is not None:
        last = read_document(former.packed or former.model)
        before = former.before if last.is_declared_as(document) else last.packed
    text = document.text
    is_large = len(text) > _LARGE
    record: ModelRecord = ModelRecord.of(table)(
        model="" if is_large else text,
        packed=document.packed if is_large else None,
        brought_at=instant(int(now)),
        by=by,
        fence=held.fence,
        before=before,
    )
    return record


def record_writes(table: Table, held: Held, record: ModelRecord) -> tuple[CheckItem, PutItem]:
    """The check of the lease, and the record."""
    item = model_for(record).item(record)
    condition = _is_held(held)
    return check_if(ApplyLease.of(table).only(), condition), put_if(ModelRecord.of(table).only(), item, None)


class GetIfTable(GetItem[Any], frozen=True):
    """A read of an item whose table may be missing: None, and nothing is told."""

    def answer(self, response: Response) -> tuple[Any, Consumed]:
        try:
            return super().answer(response)
        except NotConfigured:
            return None, NOTHING_CONSUMED


async def read_single(port: Port, kind: Any, read: Any = GetItem) -> Any:
    """The one item of a kind; None if it is missing. It asks nothing of the table: a plan looks at any."""
    model = model_of(kind)
    item = await port.send(read(model.table.name, model.key_item(kind.only()), RAW, consistent=True))
    return None if item is None else model.load(item)


class _Candidate:
    """An apply that takes the lease: a `LeaseStore`."""

    held: Held

    def __init__(self, table: Table, by: str) -> None:
        self._table, self._by = table, by
        self.name = lease_name(table)

    @property
    def fence(self) -> int:
        return self.held.fence

    async def read(self, port: Port) -> Any:
        return await read_lease(port, self._table)

    def sign(self, stored: Any) -> object:
        return (stored.fence, stored.beats) if stored.owner else None

    def holder(self, stored: Any) -> str:
        return str(stored.by)

    async def try_take(self, port: Port, seen: Any) -> bool:
        """After a lost answer the refused repetition is examined."""
        kind = ApplyLease.of(self._table)
        self.held = Held(port.token(), (seen.fence if seen is not None else 0) + 1)
        since = instant(int(port.now()))
        lease = kind(fence=self.held.fence, owner=self.held.owner, by=self._by, since=since)
        if seen is None:
            condition = Condition("attribute_not_exists", (Stored("fence"),))
        else:
            condition = _is_held(Held(seen.owner, seen.fence)) & _equal("beats", seen.beats)
        try:
            await port.send(put_if(kind.only(), model_for(lease).item(lease), condition))
        except RefusedWrite:
            stored = await self.read(port)
            return stored is not None and stored.owner == self.held.owner
        return True

    def refusal(self, stored: Any) -> ApplyRefused:
        since = f" since {stored.since:%Y-%m-%d %H:%M:%S} UTC" if stored.since is not None else ""
        doing = f"; it is at: {stored.doing}" if stored.doing else ""
        return ApplyRefused(
            f"{stored.by or 'another apply'} changes the table{since}{doing}",
            reason="another apply",
            table=self._table.name,
            hint="Wait for its end. After a kill, the next one takes over by itself.",
        )


def lease_name(table: Table) -> str:
    """The lease as events name it."""
    return f"the apply of {table.name}"


def _is_held(held: Held) -> Condition:
    return _equal("fence", held.fence) & Condition("=", (Stored("owner"), Given({"S": held.owner})))


def _equal(name: str, number: int) -> Condition:
    return Condition("=", (Stored(name), Given({"N": str(number)})))


async def _lost(port: Port, table: Table) -> ApplyRefused:
    port.events.emit(LeaseLost(worker=port.events.process, lease=lease_name(table)))
    lease = await read_lease(port, table)
    by = lease.by if lease is not None else ""
    return ApplyRefused(
        f"the lease was lost to {by or 'another apply'}: this process was without a beat for {LEASE_SECONDS:g} seconds",
        reason="lease lost",
        table=table.name,
        hint="Nothing is half done. Look at the plan, and apply again if there is one.",
    )
