"""The kernel of leases by beats: one process at a time works on something, and one that dies is followed.

A lease is stored, as an item or as a file. Its owner changes it while it works: it raises `beats`. Who takes it raises
`fence`.

* No clocks are compared. An observer notes by its own monotonic clock since when a lease is as it is (`Observations`).
  An owner counts from the beginning of its last write of the lease that succeeded (`Tenure`), which is before any
  observer saw that write. So where clocks run at one speed, an owner knows that it is late before another takes over.
* Every write of a lease is on condition of what was seen: a take of its whole sign, an owner's write of its fence. So
  of two that take at once one succeeds, and an owner that is late writes nothing. What else it writes is on condition
  of the fence too, or does no harm when it is late: its module says which.
* A beat whose answer was lost did not renew anything, and is repeated. A take whose answer was lost succeeded if the
  lease has this process's own mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Generic, Protocol, TypeVar

from singletable.errors import SingletableError
from singletable.events import LeaseTaken
from singletable.flow.port import Port
from singletable.flow.transitions import Transitions
from singletable.flow.waits import pause


class LeaseState(Enum):
    MISSING = auto()
    FREE = auto()
    HELD = auto()
    OVER = auto()
    GONE = auto()


class LeaseEvent(Enum):
    MAKE = auto()
    MAKE_FREE = auto()
    MAKE_OVER = auto()
    TAKE = auto()
    BEAT = auto()
    REQUEST_RELEASE = auto()
    RELEASE = auto()
    FINISH = auto()
    DELETE = auto()


LEASE_TRANSITIONS: Final = Transitions(
    "a lease",
    LeaseState,
    LeaseEvent,
    """
    MISSING   MAKE             HELD   the first owner
    MISSING   MAKE_FREE        FREE   a process that offers work to others
    MISSING   MAKE_OVER        OVER   the same, where there is nothing to do
    FREE      TAKE             HELD   any process
    HELD      TAKE             HELD   another process, once nothing of the lease changed for its length
    HELD      BEAT             HELD   its owner, several times in its length, also with how far it has come
    HELD      REQUEST_RELEASE  HELD   a process that has less to do
    HELD      RELEASE          FREE   its owner, when it stops or was asked
    HELD      FINISH           OVER   its owner, when all is done
    OVER      BEAT             OVER   a beat that was on its way when all was done
    OVER      DELETE           GONE   any process, once nobody asks for the lease any more
    HELD      DELETE           GONE   a process that took the lease of what is gone
    """,
)


S = TypeVar("S")


class Observations(Generic[S]):
    """Since when leases are as they are, by the observer's monotonic clock. A *sign* is what a live owner changes."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        """A lease whose sign doesn't change for so long has lost its owner."""
        self._seen: dict[str, tuple[S, float]] = {}

    def is_dead(self, name: str, sign: S, now: float) -> bool:
        """Whether an owner has shown the same sign for the length of a lease. A sign that is new is noted."""
        known = self._seen.get(name)
        if known is None or known[0] != sign:
            known = self._seen[name] = sign, now
        return now - known[1] >= self.seconds

    def note(self, signs: Mapping[str, S], now: float) -> None:
        """Note all leases that there are, and forget all others."""
        for name, sign in signs.items():
            self.is_dead(name, sign, now)
        self._seen = {name: self._seen[name] for name in signs}

    def dead(self, now: float) -> dict[str, S]:
        """The leases whose owners are dead, with their last signs."""
        return {name: sign for name, (sign, since) in self._seen.items() if now - since >= self.seconds}


@dataclass(eq=False, kw_only=True)
class Tenure:
    """An owner's time with a lease, by its monotonic clock. The heartbeat of `worker` renews it."""

    renewed_at: float
    """When the last write of the lease that succeeded began."""
    beats: int = 0
    is_lost: bool = False

    def is_due(self, now: float, seconds: float) -> bool:
        """Whether the last write is so long ago: at the length of the lease, another process may have it."""
        return now - self.renewed_at >= seconds

    def note(self, began: float, succeeded: bool) -> None:
        """A write of the lease, which began at a time. One that did not succeed found another owner."""
        if succeeded:
            self.renewed_at = began
        else:
            self.is_lost = True


R = TypeVar("R")


class LeaseStore(Protocol[R]):
    """Where one lease lies, for one process that takes it."""

    name: str
    """The lease as events name it, without a key: `the apply of shop`."""

    @property
    def fence(self) -> int:
        """The fence that this process has raised it to; 0 for a lease without one."""
        ...

    async def read(self, port: Port) -> R | None:
        """The stored lease; None if it was never made, or has been deleted."""
        ...

    def sign(self, stored: R) -> object:
        """The part that a live owner changes; None for a lease without an owner."""
        ...

    def holder(self, stored: R) -> str:
        """Its owner as events name it; empty where that is not known."""
        ...

    async def try_take(self, port: Port, seen: R | None) -> bool:
        """Become the owner, on condition that the lease is as it was seen."""
        ...

    def refusal(self, stored: R) -> SingletableError:
        """The error for who meets a live owner."""
        ...


async def acquire(port: Port, store: LeaseStore[R], seconds: float, look_seconds: float) -> None:
    """Take a lease that is free, or whose owner is seen to be dead. A read and a write; while another process holds it,
    a read every `look_seconds`. Raises the store's refusal as soon as the lease is seen to change."""
    observations, known = Observations[object](seconds), None
    holder = ""
    while True:
        stored = await store.read(port)
        sign = None if stored is None else store.sign(stored)
        if stored is not None and sign is not None and known not in (None, sign):
            raise store.refusal(stored)
        if stored is not None and sign is not None and not observations.is_dead("", sign, port.monotonic()):
            known = sign
            holder = store.holder(stored)
            has = f"{holder or 'another process'} has the lease of {store.name}"
            why = f"{has}; it is taken over if nothing of it changes for {seconds:.0f} s"
            await pause(port, look_seconds, why, is_refused=True)
            continue
        if await store.try_take(port, stored):
            _tell_taken(port, store, None if sign is None else holder, seconds)
            return
        known = object()  # no sign: who was first lives


def _tell_taken(port: Port, store: LeaseStore[Any], holder: str | None, seconds: float) -> None:
    """`holder` is the owner that died; None for a lease that was free."""
    taken = LeaseTaken(
        worker=port.events.process,
        lease=store.name,
        fence=store.fence,
        is_takeover=holder is not None,
        seconds=seconds,
        holder=holder or "",
    )
    port.events.emit(taken)
