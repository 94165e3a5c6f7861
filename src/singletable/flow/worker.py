"""The kernel of every worker: concurrent slots, a heartbeat, and one rule for errors and for stopping.

A worker of tasks, of a queue or of a stream is a set of slots. A slot is a flow that repeats one step: look, claim,
handle, write the result. The heartbeat renews the leases of what the slots hold, each when a third of its length is
over. Clocks, sleep and concurrency come from the port, so the same kernel runs in threads and in an event loop.

Before each step it asks its gate: while the table of the worker is held nothing is begun, a worker waits, and a drain
ends. There is no kernel without a gate: what serves no table, or may go on, says `UNGATED`.

It stops at a signal, or when its caller's function returns true, and finishes what it has begun. `TRANSITIONS` has its
states. The heartbeat goes on in every state until the last slot is out, because a stopping slot still holds its leases.

Errors. After a step that raises one of `errors.PASSING` all slots pause, longer at each failure (`trouble`); a renewal
that does is repeated, with growing pauses too. A kind of error is logged once a minute. Any other error ends the
worker, and `run` raises it once all slots have returned.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from types import FrameType
from typing import Any, Final, Generic, Protocol, TypeVar

from singletable.errors import PASSING, InvalidRequest, SingletableError
from singletable.events import WorkerPaused, WorkerStarted, WorkerStopped
from singletable.flow.port import Port
from singletable.flow.transitions import Transitions
from singletable.flow.trouble import Trouble, growing
from singletable.fork_safe_lock import ForkSafeLock

Stop = Callable[[], bool]
"""Called again and again: whether to stop. `event.is_set` is one."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _never() -> bool:
    return False


@contextmanager
def stopping(stop: Stop | None = None, signals: bool | Sequence[signal.Signals] = True) -> Generator[Stop, None, None]:
    """A function that says whether to stop. In the block the first signal only makes it true; the second acts as usual.

    Only a program's main thread receives signals. In another thread, and with `signals=False`, `stop` alone decides.
    Raises InvalidRequest in another thread without `stop`: the worker could never stop.
    """
    asked = stop or _never
    received: list[int] = []
    before: dict[signal.Signals, signal.Handlers | Callable[[int, FrameType | None], object] | int | None] = {}

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)

    wanted = SIGNALS if signals is True else tuple(signals or ())
    try:
        before |= {each: signal.getsignal(each) for each in wanted}  # first: a signal may arrive at once
        for each in wanted:
            signal.signal(each, receive)
    except ValueError:  # not the main thread
        before.clear()
        if stop is None:
            raise _cannot_stop() from None
    try:
        yield lambda: bool(received) or asked()
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


def _cannot_stop() -> InvalidRequest:
    return InvalidRequest(
        "nothing could stop this worker: only the main thread receives signals",
        operation="run",
        hint="Give it stop=, a function that returns true when it should stop, such as event.is_set.",
    )


_HELD_SECONDS = 0.2
"""Between two looks at a gate that is shut, which reads the table more rarely; a worker that waits stops within this
time."""
_FIRST_SLICE_SECONDS = 0.001


class WorkerState(Enum):
    WORKING = auto()
    STOPPING = auto()
    FAILED = auto()
    ENDED = auto()


class WorkerEvent(Enum):
    STOP = auto()
    FAIL = auto()
    LAST_SLOT_OUT = auto()


TRANSITIONS: Final = Transitions(
    "a worker",
    WorkerState,
    WorkerEvent,
    """
    WORKING    STOP            STOPPING   `stop()` returned True: each slot finishes its step and returns
    WORKING    FAIL            FAILED     a slot or the heartbeat raised: the other slots return after their step
    WORKING    LAST_SLOT_OUT   ENDED      every slot found that there is nothing left to do (a drain)
    STOPPING   STOP            STOPPING   several slots see the stop
    STOPPING   FAIL            FAILED
    STOPPING   LAST_SLOT_OUT   ENDED
    FAILED     STOP            FAILED
    FAILED     FAIL            FAILED     the first error is the one that is raised
    FAILED     LAST_SLOT_OUT   FAILED
    ENDED      FAIL            FAILED     the heartbeat's last renewal raised
    """,
)


class Gate(Protocol):
    """Decides whether a worker may begin anything: `singletable.holds` has that of a table."""

    @property
    def opened_at(self) -> float:
        """The last release: what changed before it is handled by nobody. Seconds since 1970; 0 for none."""
        ...

    async def is_held(self, *, for_certain: bool = False) -> bool:
        """Whether nothing may begin. `for_certain`: what is remembered does not suffice to say that it is held."""
        ...


class _Ungated:
    """The gate of work that no hold stops."""

    opened_at = 0.0

    async def is_held(self, *, for_certain: bool = False) -> bool:
        return False


UNGATED: Final[Gate] = _Ungated()


class HeldLease(Protocol):
    """A thing that a slot holds for a time, as the heartbeat sees it."""

    renewed_at: float
    """Seconds of the port's monotonic clock."""

    @property
    def is_lost(self) -> bool:
        """True if it can't be renewed any more: it has expired, or another worker holds it."""
        ...


L = TypeVar("L", bound=HeldLease)
T = TypeVar("T")
Slot = Callable[[], Awaitable[T]]
Step = Callable[[], Awaitable[bool]]
"""One step of a slot. False ends the slot: nothing is left to do."""


@dataclass(frozen=True)
class Heartbeat(Generic[L]):
    """Which leases are renewed, and how. `renew` notes on the lease when its write began, once it has succeeded."""

    lease_seconds: float
    held: Callable[[], Collection[L]]
    renew: Callable[[L], Awaitable[None]]
    longest_slice_seconds: float = 0.2
    """Between two looks at the leases; a worker that ends waits for the last one."""


@dataclass(frozen=True)
class _Refused:
    """The renewals of a lease that failed, in a row."""

    times: int
    until: float


@dataclass(eq=False)
class Kernel:
    """One worker's state, shared by its slots."""

    port: Port
    gate: Gate
    stop: Stop
    name: str
    """The worker's name in events and in the log."""
    trouble: Trouble
    """Its failures; kernels of one worker share it."""
    outlives_passing: bool = True
    """False for a drain: its caller handles the error."""
    state: WorkerState = WorkerState.WORKING
    _slots: set[int] = field(default_factory=set[int])
    _guard: ForkSafeLock = field(default_factory=ForkSafeLock)

    # --- what a worker calls ------------------------------------------------------------------------------------------
    async def run(self, slots: Sequence[Slot[T]], heartbeat: Heartbeat[Any] | None = None) -> list[T]:
        """Run the slots concurrently until each has returned; returns their results.

        Raises the first error, once all have returned.
        """
        if not self.outlives_passing:
            return await self._run(slots, heartbeat)
        events, began = self.port.events, self.port.monotonic()
        events.emit(WorkerStarted(worker=self.name, slots=len(slots), process=events.process))
        failed: Exception | None = None
        try:
            return await self._run(slots, heartbeat)
        except Exception as error:
            failed = error
            raise
        finally:
            events.emit(WorkerStopped(worker=self.name, seconds=self.port.monotonic() - began, error=failed))

    async def _run(self, slots: Sequence[Slot[T]], heartbeat: Heartbeat[Any] | None) -> list[T]:
        if len(slots) > 1:
            await self._ask_once()
        self._slots = set(range(len(slots)))
        calls: list[Callable[[], Any]] = [partial(self._run_slot, number, slot) for number, slot in enumerate(slots)]
        beats: list[Callable[[], Any]] = [] if heartbeat is None else [partial(self._beat, heartbeat)]
        results: list[Any] = await self.port.call_all(beats + calls)
        return results[len(beats) :]

    async def repeat(self, step: Step, at_hold: Step | None = None) -> bool:
        """Repeat a step until it returns False, or until the worker is to stop; True if the step ended it.

        While the gate is shut no step is begun, and `at_hold` is called instead: a worker waits, a drain ends.
        """
        slot = object()
        while self.goes_on():
            if left := self.trouble.left(slot):
                await self.port.sleep(min(left, _HELD_SECONDS))
                continue
            try:
                if not await (self._wait(at_hold) if await self.gate.is_held() else step()):
                    return True
            except PASSING as error:
                self._outlive(error)
        return False

    def _outlive(self, error: SingletableError) -> None:
        """Emit the error of a step, and have all slots pause; a drain raises it."""
        if not self.outlives_passing:
            raise error
        pause = self.trouble.fail()
        self.note(f"going on in {pause:.2g} s", error, pause)

    async def _ask_once(self) -> None:
        """Have the gate read for all slots, before each of them asks."""
        try:
            await self.gate.is_held()
        except PASSING as error:
            self._outlive(error)

    async def _wait(self, at_hold: Step | None) -> bool:
        if at_hold is not None:
            await at_hold()
        if self.outlives_passing:
            await self.port.sleep(_HELD_SECONDS)
        return self.outlives_passing

    def goes_on(self) -> bool:
        """Whether a slot may begin another step. Asks `stop()`."""
        if self.state is WorkerState.WORKING and self.stop():
            self._on(WorkerEvent.STOP)
        return self.state is WorkerState.WORKING

    def note(self, then: str, error: SingletableError, seconds: float = 0.0) -> None:
        """Emit the event of an error that the worker outlives, and what follows, after some seconds where it waits."""
        why = f"{type(error).__name__}: {error}"
        self.port.events.emit(WorkerPaused(worker=self.name, outcome=error.code, why=why, then=then, seconds=seconds))

    # --- its parts ----------------------------------------------------------------------------------------------------
    async def _run_slot(self, number: int, slot: Slot[T]) -> T:
        try:
            return await slot()
        except BaseException:
            self._on(WorkerEvent.FAIL)
            raise
        finally:
            self._leave(number)

    def _leave(self, number: int) -> None:
        with self._guard.lock:
            self._slots.discard(number)
            if not self._slots:
                self.state = TRANSITIONS.after(self.state, WorkerEvent.LAST_SLOT_OUT)

    async def _beat(self, heartbeat: Heartbeat[L]) -> None:
        """Look at the leases in slices, which are short at first: a drain may end soon."""
        third = heartbeat.lease_seconds / 3
        longest = min(heartbeat.longest_slice_seconds, heartbeat.lease_seconds / 10)
        slice_seconds = min(_FIRST_SLICE_SECONDS, longest)
        refused: dict[L, _Refused] = {}
        try:
            while self._slots:
                await self.port.sleep(slice_seconds)
                slice_seconds = min(slice_seconds * 2, longest)
                held = list(heartbeat.held())
                refused = {lease: refused[lease] for lease in held if lease in refused}
                for lease in held:
                    again = refused[lease].until if lease in refused else lease.renewed_at + third
                    if self._slots and not lease.is_lost and self.port.monotonic() >= again:
                        await self._renew(heartbeat, lease, refused)
        except BaseException:
            self._on(WorkerEvent.FAIL)
            raise

    async def _renew(self, heartbeat: Heartbeat[L], lease: L, refused: dict[L, _Refused]) -> None:
        """Renew a lease. One that was not renewed is tried again within a tenth of its length, then more rarely; never
        so rarely that its end comes without a try shortly before it."""
        try:
            await heartbeat.renew(lease)
        except PASSING as error:
            times = refused[lease].times + 1 if lease in refused else 1
            now, length = self.port.monotonic(), heartbeat.lease_seconds
            pause, left = growing(length / 10, times, self.port.random()), lease.renewed_at + length - now
            if left > 0:
                pause = min(pause, max(left / 2, length / 20))
            refused[lease] = _Refused(times, now + pause)
            self.note("a lease was not renewed", error)
        else:
            refused.pop(lease, None)

    def _on(self, event: WorkerEvent) -> None:
        with self._guard.lock:
            self.state = TRANSITIONS.after(self.state, event)
