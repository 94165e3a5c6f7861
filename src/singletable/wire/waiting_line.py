"""The line of an event loop's calls that wait for a connection: first come, first served, with one timer for all."""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections import deque

from singletable.wire.exchange import Undelivered


class WaitingLine:
    """The places of a loop's connections, and the calls that wait for one: the first gets the next that is left."""

    def __init__(self, loop: asyncio.AbstractEventLoop, places: int) -> None:
        self.free = places
        self._loop = loop
        self._places = places
        self._turns: deque[tuple[asyncio.Future[bool], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nobody has a place."""
        return self.free == self._places

    async def wait(self, timeout: float) -> None:
        """A place, which nobody had free. Raises `Undelivered` where none is left in `timeout` seconds."""
        turn: asyncio.Future[bool] = self._loop.create_future()
        give_up_at = self._loop.time() + timeout
        self._turns.append((turn, give_up_at))
        if self._timer is None or give_up_at < self._timer.when():
            self._look_at(give_up_at)
        try:
            has_place = await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()
            raise
        if not has_place:
            raise Undelivered(f"all connections stayed busy for {timeout:g} s")

    def leave(self) -> None:
        """Hands the place on to the first in line who still waits, or frees it."""
        while self._turns:
            turn, _ = self._turns.popleft()
            if not turn.done():
                turn.set_result(True)
                return
        self.free += 1

    def close(self) -> None:
        """Stops the timer, where nobody waits."""
        if self._timer is not None and not self._turns:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Sends away whose time is up. One timer outlasts many calls: one for each costs a fifth of a get."""
        self._timer = None
        now = self._loop.time()
        for turn, give_up_at in self._turns:
            if give_up_at <= now and not turn.done():
                turn.set_result(False)
        self._turns = deque(waiting for waiting in self._turns if not waiting[0].done())
        if self._turns:
            self._look_at(min(give_up_at for _, give_up_at in self._turns))

    def _look_at(self, time: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(time, self._look)
