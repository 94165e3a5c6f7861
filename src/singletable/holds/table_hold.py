"""Holding a table, and releasing it. Flows.

    MISSING or RELEASED   hold      HELD       by what makes a copy, before its first item
    HELD                  hold      HELD       by the same again, after a kill
    HELD                  release   RELEASED   by a person

A worker reads the hold every `gate.READ_SECONDS`: one that runs notices it within this time. `hold` returns later.

The boundary of a release is a whole second of the service's clock that begins after the call: the service dates changes
by whole seconds, rounded down. The table stays held until that second has begun. Both have a margin for a clock that
differs from the service's. So nothing that changed before the call is handled, and nothing after its return is missed.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from math import floor
from typing import Any, Final

from singletable.errors import AlreadyExists, ConditionFailed, Conflict, NotFound
from singletable.expressions import attr
from singletable.flow import HeldMarks, Port, instant, pause
from singletable.foundation import Table, flows
from singletable.holds.item import HoldItem
from singletable.wire import CLOCK_SECONDS

NOTICED_SECONDS: Final = 5.0
"""A worker reads the hold every three seconds, and may be at a request."""
_SLEEP_SECONDS: Final = 0.001
"""A sleep by one clock may end just before its time by the other."""


async def hold(port: Port, table: Table, why: str, *, in_use: bool = True) -> HoldItem:
    """Hold a table: no worker of it begins anything until `release`. Returns the hold.

    Call it before the first item is written, or before the table is handed out. `why` says what the table is, as
    `copied from aws`. With `in_use` it waits until workers that run have noticed, five seconds; without, the table was
    just made, and has none. One that is held stays so, with its reason. A read and a write.
    """
    stored = await _read(port, table)
    if stored is not None and stored.opened_at is None:
        await _sleep_until(port, stored.noticed_at.timestamp())
        return stored
    seconds = NOTICED_SECONDS if in_use else 0.0
    stored = _fresh(port, table, why, seconds)
    await flows.put(port, stored)
    await _sleep_until(port, port.now() + seconds)  # the put may have taken long
    return stored


async def hold_of(port: Port, table: Table) -> HoldItem | None:
    """The hold of a table, or the last one, which says when it was released; None if there was none. A read.

    The first look at a table of a copied data file writes down in it that it is held.
    """
    copy = port.traits.held_copy
    if copy is not None and (await port.call_all([partial(copy.why, table.name)]))[0] is not None:
        await _write_down(port, table, copy)
    return await _read(port, table)


async def why_held(port: Port, table: Table) -> str:
    """Why a table is held, and since when, for people; empty for one that is not. A read, and nothing is written; none
    for a foreign table without `own_items`, which nothing can hold."""
    if table.definition.foreign and table.own_items is None:
        return ""
    copy = port.traits.held_copy
    if copy is not None and (why := (await port.call_all([partial(copy.why, table.name)]))[0]) is not None:
        return str(why)
    stored = await _read(port, table)
    if stored is None or stored.opened_at is not None:
        return ""
    return f"{stored.why}, since {stored.since:%Y-%m-%d %H:%M} UTC"


async def _write_down(port: Port, table: Table, copy: HeldMarks) -> None:
    """Hold a table that is marked, once: another program may do it now, and release the table.

    It removes the mark before that. So the mark is read after the item, and the put is refused where that has changed.
    """
    stored = await _read(port, table)
    (why,) = await port.call_all([partial(copy.why, table.name)])
    if why is None:
        return
    if stored is None or stored.opened_at is not None:
        with suppress(AlreadyExists, ConditionFailed):
            fresh = _fresh(port, table, why, 0.0)
            is_same = None if stored is None else attr(HoldItem.of(table).since) == stored.since
            await (flows.create(port, fresh) if is_same is None else flows.put(port, fresh, where=is_same))
    await port.call_all([partial(copy.settle, table.name)])


async def _read(port: Port, table: Table) -> HoldItem | None:
    stored: HoldItem | None = await flows.get(port, HoldItem.of(table).only().consistent())
    return stored


def _fresh(port: Port, table: Table, why: str, seconds: float) -> HoldItem:
    now = instant(port.now())
    made: HoldItem = HoldItem.of(table)(why=why, since=now, noticed_at=now + timedelta(seconds=seconds))
    return made


async def release(port: Port, table: Table) -> HoldItem | None:
    """Release a table; None if it is not held. Waits for the boundary, up to five seconds, if it has a stream.

    Called again after a kill, it begins again. Raises Conflict if the table was held again meanwhile. A read, a write.
    """
    stored = await hold_of(port, table)
    if stored is None or stored.opened_at is not None:
        return None
    await _sleep_until(port, stored.noticed_at.timestamp())
    margin = 0.0 if port.traits.creates_tables else CLOCK_SECONDS
    opens = floor(port.now() + margin) + 1
    if table.definition.stream is not None:
        await _sleep_until(port, opens + margin)
    kind: Any = HoldItem.of(table)
    is_same = (attr(kind.since) == stored.since) & ~attr(kind.opened_at).exists()
    try:
        released: HoldItem = await flows.update(
            port, kind.only(), (attr(kind.opened_at).set(instant(opens)),), where=is_same
        )
    except (ConditionFailed, NotFound):
        raise Conflict(
            "the table was held again, or released, meanwhile",
            table=table.name,
            operation="release",
            hint="Look at what holds it, and release it again.",
        ) from None
    return released


async def _sleep_until(port: Port, seconds: float) -> None:
    """Until a time of the wall clock."""
    left = seconds - port.now()
    if left > 0:
        await pause(port, left + _SLEEP_SECONDS, "each worker has to see the hold")
