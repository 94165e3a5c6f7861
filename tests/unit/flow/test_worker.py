"""The kernel of workers: each transition of its table, and what slots and the heartbeat do in each state."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import re
import threading  # noqa: TID251
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from singletable import connect, connect_async
from singletable.errors import Denied, Unavailable
from singletable.flow.transitions import NotAllowed
from singletable.flow.trouble import Trouble
from singletable.flow.worker import TRANSITIONS, UNGATED, Heartbeat, Kernel, WorkerEvent, WorkerState
from tests.support.shells import disguised
from tests.support.virtual_time import VirtualLoop

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(params=["blocking", "awaiting"])
async def shell(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A database of either shell that sends nothing: its port brings clocks and concurrency."""
    made: Any = connect_async(NOWHERE) if request.param == "awaiting" else disguised(connect(NOWHERE))
    yield made
    await made.close()


def kernel_of(shell: Any, stop: Callable[[], bool] = lambda: False, **options: Any) -> Kernel:
    trouble = Trouble(shell.port, options.pop("first_seconds", 0.2))
    return Kernel(shell.port, options.pop("gate", UNGATED), stop, "the test", trouble, **options)


@dataclass(eq=False)
class Held:
    """A lease as the heartbeat sees it."""

    renewed_at: float
    is_lost: bool = False
    renewals: int = 0


# --- the table --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("event", WorkerEvent)
@pytest.mark.parametrize("state", WorkerState)
async def test_each_transition_happens_or_is_refused(shell: Any, state: WorkerState, event: WorkerEvent) -> None:
    kernel = kernel_of(shell)
    kernel.state = state
    if (state, event) in TRANSITIONS.table:
        kernel._on(event)
        assert kernel.state is TRANSITIONS.table[state, event]
    else:
        with pytest.raises(NotAllowed, match=event.name):
            kernel._on(event)
        assert kernel.state is state


async def test_only_a_working_worker_goes_on(shell: Any) -> None:
    kernel = kernel_of(shell)
    for state in WorkerState:
        kernel.state = state
        assert kernel.goes_on() is (state is WorkerState.WORKING)


# --- slots ------------------------------------------------------------------------------------------------------------
async def test_slots_end_when_nothing_is_left(shell: Any) -> None:
    kernel, left = kernel_of(shell), [1, 2, 3, 4, 5]

    async def slot() -> bool:
        async def step() -> bool:
            return bool(left and left.pop())

        return await kernel.repeat(step)

    assert await shell.run(kernel.run([slot, slot])) == [True, True]
    assert (left, kernel.state) == ([], WorkerState.ENDED)


async def test_a_stop_ends_every_slot_after_its_step(shell: Any) -> None:
    steps: list[int] = []
    kernel = kernel_of(shell, stop=lambda: len(steps) >= 3)

    async def slot() -> bool:
        async def step() -> bool:
            steps.append(1)
            await shell.port.sleep(0.001)
            return True

        return await kernel.repeat(step)

    assert await shell.run(kernel.run([slot, slot])) == [False, False]
    assert 3 <= len(steps) <= 4
    assert kernel.state is WorkerState.ENDED


async def test_an_error_ends_the_other_slots_and_is_raised(shell: Any) -> None:
    kernel = kernel_of(shell)
    ended: list[bool] = []

    async def fails() -> bool:
        raise Denied("no")

    async def slot() -> None:
        async def step() -> bool:
            await shell.port.sleep(0.001)
            return True

        ended.append(await kernel.repeat(step))

    async def failing() -> None:
        await kernel.repeat(fails)

    with pytest.raises(Denied):
        await shell.run(kernel.run([slot, failing]))
    assert (ended, kernel.state) == ([False], WorkerState.FAILED)


async def test_a_passing_error_is_outlived_but_by_a_drain(shell: Any, caplog: pytest.LogCaptureFixture) -> None:
    errors: list[Exception] = [Unavailable("down"), Unavailable("down")]

    async def step() -> bool:
        if errors:
            raise errors.pop()
        return False

    def slot_of(kernel: Kernel) -> Callable[[], Awaitable[bool]]:
        return lambda: kernel.repeat(step)

    caplog.set_level("INFO", "singletable.workers")
    patient = kernel_of(shell, first_seconds=0.001)
    assert await shell.run(patient.run([slot_of(patient)])) == [True]
    _, line, _ = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"the test: Unavailable: down; going on in [0-9.e-]+ s", line)
    errors.append(Unavailable("down"))
    drain = kernel_of(shell, outlives_passing=False)
    with pytest.raises(Unavailable):
        await shell.run(drain.run([slot_of(drain)]))


# --- the heartbeat ----------------------------------------------------------------------------------------------------
async def test_leases_are_renewed_while_a_slot_works(shell: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "singletable.workers")
    now = shell.port.monotonic()
    held, lost = Held(now), Held(now, is_lost=True)

    async def renew(lease: Held) -> None:
        lease.renewed_at = shell.port.monotonic()
        lease.renewals += 1
        if lease.renewals == 1:
            raise Unavailable("down")

    async def slot() -> None:
        while held.renewals < 3:
            await shell.port.sleep(0.001)

    await shell.run(kernel_of(shell).run([slot], Heartbeat(0.03, lambda: [held, lost], renew)))
    assert (held.renewals >= 3, lost.renewals) == (True, 0)
    assert "a lease was not renewed" in caplog.text


async def test_a_renewal_that_fails_is_not_repeated_at_every_look(shell: Any) -> None:
    """Within a tenth of the lease's length: a look at the leases comes every few milliseconds here."""
    now = shell.port.monotonic()
    held = Held(now - 2.0)

    async def renew(lease: Held) -> None:
        lease.renewals += 1
        raise Unavailable("down")

    async def slot() -> None:
        while shell.port.monotonic() < now + 0.1:
            await shell.port.sleep(0.001)

    await shell.run(kernel_of(shell).run([slot], Heartbeat(3.0, lambda: [held], renew)))
    assert held.renewals == 1


@pytest.mark.parametrize("random", [0.0, 0.5, 0.9])
def test_a_renewal_is_tried_in_the_last_tenth_of_the_lease(random: float) -> None:
    """However long it was refused: a service that is well again by then keeps the lease."""
    loop, tries = VirtualLoop(), list[float]()

    async def renew(lease: Held) -> None:
        tries.append(loop.time())
        raise Unavailable("down")

    async def work() -> None:
        db = connect_async(NOWHERE)
        db.port.monotonic, db.port.random = loop.time, lambda: random
        held = Held(loop.time())

        async def slot() -> None:
            await db.port.sleep(30.0)

        await db.run(kernel_of(db).run([slot], Heartbeat(30.0, lambda: [held], renew)))
        await db.close()

    loop.run_until_complete(work())
    loop.close()
    assert 27.0 <= tries[-1] < 30.0
    assert len(tries) <= 10


async def test_a_failing_heartbeat_ends_the_slots(shell: Any) -> None:
    kernel = kernel_of(shell)
    held = Held(shell.port.monotonic())

    async def renew(lease: Held) -> None:
        raise Denied("no")

    async def slot() -> bool:
        async def step() -> bool:
            await shell.port.sleep(0.001)
            return True

        return await kernel.repeat(step)

    with pytest.raises(Denied):
        await shell.run(kernel.run([slot], Heartbeat(0.003, lambda: [held], renew)))
    assert kernel.state is WorkerState.FAILED


async def test_the_heartbeat_goes_on_while_a_stopping_slot_finishes(shell: Any) -> None:
    stopped = threading.Event()
    kernel = kernel_of(shell, stop=stopped.is_set)
    held = Held(shell.port.monotonic())

    async def renew(lease: Held) -> None:
        lease.renewed_at = shell.port.monotonic()
        lease.renewals += 1

    async def slot() -> None:
        async def step() -> bool:
            stopped.set()
            return True

        await kernel.repeat(step)
        before = held.renewals
        while held.renewals < before + 2:
            await shell.port.sleep(0.001)

    await shell.run(kernel.run([slot], Heartbeat(0.003, lambda: [held], renew)))
    assert kernel.state is WorkerState.ENDED


@pytest.mark.timeout(20)
def test_a_worker_whose_thread_does_not_start_raises_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The heartbeat goes on until the last slot is out, so it must not begin before every slot has a thread."""
    start, begun = threading.Thread.start, list[str]()

    def start_one(thread: threading.Thread) -> None:
        if thread.name.endswith("_1"):
            raise RuntimeError("can't start new thread")
        start(thread)

    async def slot() -> None:
        begun.append("slot")

    async def renew(lease: Held) -> None:
        begun.append("heartbeat")

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with connect(NOWHERE) as db:
        kernel = Kernel(db.port, UNGATED, lambda: False, "the test", Trouble(db.port))
        with pytest.raises(RuntimeError, match="can't start new thread"):
            db.run(kernel.run([slot], Heartbeat(0.001, lambda: [Held(0.0)], renew)))
    assert begun == []
