"""Waiting for one of several things in an event loop: the one module here that an ASGI server's loop runs in.

Everything else awaits the port or what the server handed over.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 an ASGI application lives in its server's event loop
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

T = TypeVar("T")


class Bell:
    """What one coroutine waits for and any other, in any thread, may ring. A ring before the wait is not lost."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake the one that waits. Harmless where its loop has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> bool:
        """Until it rings, and then True, or until the time is over."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        self._event.clear()
        return True


async def within(seconds: float, waited: Awaitable[T]) -> T:
    """Its result; TimeoutError, after cancelling it, where it takes longer."""
    return await asyncio.wait_for(waited, seconds)


@asynccontextmanager
async def beside(work: Awaitable[None]) -> AsyncGenerator[None, None]:
    """The block, with something else going on until the block ends."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Turns:
    """One at a time for each name, in this process. What is asked for during a turn is seen to by the next one, once.

    It only saves work: whatever is done in a turn has to be right without it.
    """

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    async def take(self, name: str, work: Callable[[], Awaitable[bool]]) -> bool:
        """The result of work that began after this was called, whoever began it."""
        turn = self._turns.setdefault(name, _Turn())
        turn.asked += 1
        ticket = turn.asked
        try:
            async with turn.lock:
                if turn.seen_to < ticket:
                    upto = turn.asked
                    turn.result = await work()
                    turn.seen_to = upto
                return turn.result
        finally:
            turn.left += 1
            if turn.left == turn.asked:
                self._turns.pop(name, None)


class _Turn:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.asked = self.left = self.seen_to = 0
        self.result = False


def from_threads() -> Callable[[Awaitable[T]], T]:
    """For functions that this loop runs in threads: the result of something awaited, which runs in this loop."""
    loop = asyncio.get_running_loop()

    def result_of(waited: Awaitable[T]) -> T:
        async def wait() -> T:
            return await waited

        return asyncio.run_coroutine_threadsafe(wait(), loop).result()

    return result_of
