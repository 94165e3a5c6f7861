"""Resumable runs: work on many items, in rounds, that may be killed at any request and goes on where it was.

    state        event    next         what happens
    -            begin    UNDER WAY    with the state that an earlier run of the same work kept; else with a new one
    UNDER WAY    round    UNDER WAY    some items are read, and written where they need it; then the state is kept
    UNDER WAY    round    OVER         the same, with the last items
    OVER         end      -            what only all items tell is done; then the kept state is deleted

**What is kept, and when.** The state says which items are done, most often as positions of segments, and counts them.
It is kept after a round, once all that the round wrote has been acknowledged, and never before. So a kept state is
never ahead of the work.

**What a kill loses.** What was done since the state was last kept is done, and not kept. The next run does it again:
one round, or as many as `keep` leaves out. So a round must be repeatable: it puts the same items, writes under a
condition that no longer holds where the write is done, looks for what it would create, or names its files by the
state. Counts and positions are in one state, so that each round is counted once. What a run does in its last round and
after it is found by the state, too: where that is gone, the run had ended.

**Two runs at once.** The kernel excludes none: a round that is repeatable is so beside another run. What can't be is
excluded by who runs it: the lease of applies (`apply_lease`), the claim of an export's folder, the lock of a check's
file. Two runs of one work keep their states over each other's, each of which is true.

**Rate, patience, progress.** A rate is a port (`at_rate`). What the service throttles is begun again (`patiently`).
After each round `progress` gets what `told` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

S = TypeVar("S")
R = TypeVar("R")
S_contra = TypeVar("S_contra", contravariant=True)


class RunStore(Protocol[S_contra]):
    """Where a run keeps its state: an item of a table, several of them, a file."""

    async def write(self, state: S_contra) -> None:
        """Replace what was kept."""
        ...

    async def close(self) -> None:
        """Delete what was kept: the run has ended."""
        ...


class ResumableRun(ABC, Generic[S, R]):
    """One run. `S` is the state that it keeps, `R` what it tells of itself and returns."""

    state: S
    store: RunStore[S] | None = None
    """None for a run that keeps nothing: one that writes nothing, or whose caller keeps what it is told."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether no round is left."""

    @abstractmethod
    async def begin(self) -> None:
        """Set the state: the kept one of an earlier run of the same work, or a new one."""

    @abstractmethod
    async def round(self) -> None:
        """Do the next part of the work, all of it, and set the state after it."""

    @abstractmethod
    def told(self) -> R:
        """The work done so far, in this run and in those that it went on from."""

    async def keep(self) -> None:
        """Keep the state, after each round."""
        if self.store is not None:
            await self.store.write(self.state)

    async def end(self) -> None:
        """Do what is left after the last round, and delete what was kept."""
        if self.store is not None:
            await self.store.close()

    async def run(self, progress: Callable[[R], object] | None = None) -> R:
        """Run from the beginning, or from where an earlier run was, to the end."""
        await self.begin()
        while not self.is_over:
            await self.round()
            await self.keep()
            if progress is not None:
                progress(self.told())
        await self.end()
        return self.told()
