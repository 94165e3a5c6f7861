"""Trouble: the waits of a worker whose requests fail.

    a failure      the whole worker pauses: twice as long at each failure in a row, 8 s at most, up to half of it random
    after a pause  one slot begins a step, the others wait half as long again: so a failure costs one slot's requests
    meanwhile      `CarefulPort` sends one after the other what else goes side by side: the first refusal ends it
    it is over     when work has succeeded (`ease`), or nothing has failed for twice the last pause

A worker has one. Failures of steps that had begun before the pause do not make it longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from singletable.flow.port import Operation, Port, WrappedPort
from singletable.fork_safe_lock import ForkSafeLock

T = TypeVar("T")

LONGEST_PAUSE_SECONDS: Final = 8.0
"""A worker is at work within this time of the end of what it suffers from."""


def growing(first_seconds: float, failures: int, random: float) -> float:
    """The pause after a number of failures in a row; `random` is from 0 to 1."""
    return min(LONGEST_PAUSE_SECONDS, first_seconds * 2.0 ** min(failures - 1, 60)) * (0.5 + random / 2)


@dataclass(eq=False)
class Trouble:
    """The failures of one worker's slots, by its monotonic clock."""

    port: Port
    first_seconds: float = 0.2
    failures: int = 0
    """In a row; 0 for a worker without trouble."""
    _until: float = -math.inf
    """No slot begins a step before."""
    _others_until: float = -math.inf
    """Only one slot begins a step before."""
    _calm_at: float = -math.inf
    _first: object = None
    """The slot that goes on first."""
    _guard: ForkSafeLock = field(default_factory=ForkSafeLock)

    def fail(self) -> float:
        """Note that a step has failed; returns the seconds until the next one begins."""
        with self._guard.lock:
            now = self.port.monotonic()
            if now >= self._until:
                self.failures = 1 if now >= self._calm_at else self.failures + 1
                pause = growing(self.first_seconds, self.failures, self.port.random())
                self._until, self._others_until, self._calm_at = now + pause, now + pause * 1.5, now + pause * 3
                self._first = None
            return self._until - now

    def ease(self) -> None:
        """Note that work has succeeded: the next failure is the first."""
        if self.failures:
            with self._guard.lock:
                self.failures, self._until, self._others_until, self._calm_at = 0, -math.inf, -math.inf, -math.inf

    def left(self, slot: object) -> float:
        """Seconds that a slot waits before its next step; 0 to begin."""
        if not self.failures:
            return 0.0
        with self._guard.lock:
            now = self.port.monotonic()
            if now < self._until:
                return self._until - now
            if self._first is None:
                self._first = slot
            return 0.0 if self._first is slot else max(0.0, self._others_until - now)

    @property
    def is_near(self) -> bool:
        """Whether a step has failed lately."""
        return self.failures > 0 and self.port.monotonic() < self._calm_at


class CarefulPort(WrappedPort):
    """A port that sends one request at a time while its worker has trouble: the first that is refused is the last.

    The refused place goes first the next time: where one partition alone is throttled, a look costs one request and its
    retries, not those to the partitions before it as well.
    """

    def __init__(self, port: Port, trouble: Trouble) -> None:
        super().__init__(port)
        self._trouble = trouble
        self._refused_at = 0

    async def send(self, operation: Operation[T]) -> T:
        return await self._port.send(operation)

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        if not self._trouble.is_near:
            return await self._port.send_all(operations)
        values = dict[int, T]()
        first = self._refused_at % max(1, len(operations))
        for place in [*range(first, len(operations)), *range(first)]:
            self._refused_at = place
            values[place] = await self._port.send(operations[place])
        return [values[place] for place in range(len(operations))]
