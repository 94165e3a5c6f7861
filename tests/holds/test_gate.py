"""A hold as one process sees it: read every few seconds, for all slots once; and the boundary of a release."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from singletable import Meter, Table
from singletable.errors import Conflict
from singletable.flow import Kernel, Traits, Trouble
from singletable.holds import HoldItem, TableGate, hold, hold_of, release
from singletable.holds.gate import READ_SECONDS
from singletable.holds.table_hold import NOTICED_SECONDS
from singletable.operations import PutItem
from singletable.wire import CLOCK_SECONDS
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.support.shells import Shell

plain = Table("held-plain")
watched = Table("held-watched", stream="new_and_old")


@pytest.fixture
async def shell(kind: str, engine_url: str, clock: Clock) -> AsyncIterator[Shell]:
    async with opened_at(kind, engine_url, clock=clock) as made:
        yield made


async def test_the_hold_is_read_every_few_seconds(shell: Shell, clock: Clock) -> None:
    gate = TableGate(shell.port, plain)
    with Meter() as meter:
        assert not await shell.run(gate.is_held())
        assert (meter.requests, meter.read_units) == (1, 1.0)
        await shell.run(hold(shell.port, plain, "copied", in_use=False))
        before = meter.requests
        clock.advance(READ_SECONDS - 0.1)
        assert not await shell.run(gate.is_held())
        assert meter.requests == before
        clock.advance(0.2)
        assert await shell.run(gate.is_held())
        assert await shell.run(gate.is_held())
        assert meter.requests == before + 1


@pytest.mark.parametrize("step", ["set_back", "frozen"])
async def test_a_clock_that_stood_still_or_was_set_back_is_no_reason_to_trust_what_was_read(
    shell: Shell, clock: Clock, step: str
) -> None:
    gate = TableGate(shell.port, plain)
    assert not await shell.run(gate.is_held())
    await shell.run(hold(shell.port, plain, "copied", in_use=False))
    if step == "set_back":
        clock.set_back(1)
    else:
        clock.at += READ_SECONDS  # the clock of intervals stood still, as of a frozen process
    assert await shell.run(gate.is_held())


async def test_for_certain_reads_again_what_was_held_and_only_that(shell: Shell) -> None:
    gate = TableGate(shell.port, plain)
    await shell.run(hold(shell.port, plain, "copied", in_use=False))
    assert await shell.run(gate.is_held())
    await shell.run(release(shell.port, plain))
    assert await shell.run(gate.is_held())
    with Meter() as meter:
        assert not await shell.run(gate.is_held(for_certain=True))
        assert not await shell.run(gate.is_held(for_certain=True))
    assert meter.requests == 1


async def test_one_slot_reads_for_all(shell: Shell, clock: Clock) -> None:
    gate = TableGate(shell.port, plain)

    async def step() -> bool:
        return False

    for wait in (0.0, READ_SECONDS, READ_SECONDS + 9):
        clock.advance(wait)
        kernel = Kernel(shell.port, gate, lambda: False, "a test", Trouble(shell.port))
        with Meter() as meter:
            await shell.run(kernel.run([partial(kernel.repeat, step)] * 8))
        assert meter.requests == 1


async def test_workers_that_run_have_noticed_when_a_hold_returns(shell: Shell, clock: Clock) -> None:
    made = await shell.run(hold(shell.port, plain, "copied from aws"))
    assert sum(clock.slept) == pytest.approx(NOTICED_SECONDS, abs=0.1)
    assert NOTICED_SECONDS > READ_SECONDS
    assert (made.why, made.opened_at) == ("copied from aws", None)
    clock.advance(60)
    again = await shell.run(hold(shell.port, plain, "copied again"))
    assert (again.why, again.since) == (made.why, made.since)  # as a copy that was killed goes on


async def test_workers_have_noticed_a_hold_whose_write_took_long(
    shell: Shell, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = shell.port.send

    async def slow(operation: Any) -> Any:
        if isinstance(operation, PutItem):
            clock.advance(NOTICED_SECONDS)  # throttled, and sent again
        return await send(operation)

    monkeypatch.setattr(shell.port, "send", slow)
    await shell.run(hold(shell.port, plain, "copied"))
    assert sum(clock.slept) == pytest.approx(NOTICED_SECONDS, abs=0.1)


async def test_a_release_opens_at_a_whole_second_after_its_call(shell: Shell, clock: Clock) -> None:
    clock.at += 0.25
    await shell.run(hold(shell.port, watched, "copied", in_use=False))
    clock.slept.clear()
    released = await shell.run(release(shell.port, watched))
    assert released is not None
    assert released.opened_at is not None
    assert released.opened_at.timestamp() == math.floor(clock.at) + 1
    assert sum(clock.slept) >= released.opened_at.timestamp() - clock.at  # what changes after it is dated later
    assert await shell.run(release(shell.port, watched)) is None
    assert await shell.run(hold_of(shell.port, watched)) == released
    assert (await shell.run(hold(shell.port, watched, "restored", in_use=False))).opened_at is None
    assert await shell.run(TableGate(shell.port, watched).is_held())


@pytest.mark.parametrize("ahead", [-1.95, 0.0, 1.95])
async def test_the_boundary_has_a_margin_for_a_clock_that_is_off(shell: Shell, clock: Clock, ahead: float) -> None:
    await shell.run(hold(shell.port, watched, "copied", in_use=False))
    shell.port.traits = Traits()  # as of AWS
    clock.slept.clear()
    released = await shell.run(release(shell.port, watched))
    assert released is not None
    assert released.opened_at is not None
    called = clock.at - ahead
    assert math.floor(called) < released.opened_at.timestamp() <= math.floor(called + sum(clock.slept))
    assert sum(clock.slept) < 2 * CLOCK_SECONDS + 1.1


async def test_a_table_that_is_held_anew_meanwhile_is_not_released(shell: Shell, clock: Clock) -> None:
    await shell.run(hold(shell.port, watched, "copied", in_use=False))
    sleep = shell.port.sleep
    held_again = False

    async def meanwhile(seconds: float) -> None:
        nonlocal held_again
        if not held_again:
            held_again = True
            item = HoldItem.of(watched)(why="restored", since=clock.datetime(1), noticed_at=clock.datetime(1))
            await shell.put(item)
        await sleep(seconds)

    shell.port.sleep = meanwhile  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="held again"):
        await shell.run(release(shell.port, watched))
