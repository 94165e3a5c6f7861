"""The parts of sync that use the event loop of its ASGI server. Every other module awaits the port, or the server's
functions."""

from __future__ import annotations

import asyncio  # noqa: TID251 an ASGI application runs in its server's event loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")


class Signal:
    """One coroutine waits for it, and any thread may set it. A `set` before the `wait` is not lost."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake the waiting coroutine. Does nothing where its loop has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> bool:
        """Whether it was set within `seconds`."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        self._event.clear()
        return True


async def with_timeout(seconds: float, awaitable: Awaitable[T]) -> T:
    """Its result. Cancels it and raises TimeoutError where it takes longer."""
    return await asyncio.wait_for(awaitable, seconds)


@asynccontextmanager
async def in_background(work: Awaitable[None]) -> AsyncGenerator[None, None]:
    """Runs `work` concurrently with the block, and cancels it at the end of the block."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class DocumentLocks:
    """Runs work for each document one at a time, in this process. Callers that wait share the next run.

    It only saves work: the result must be right without it, as other processes have their own locks.
    """

    def __init__(self) -> None:
        self._locks: dict[str, _DocumentLock] = {}

    async def run(self, document_id: str, work: Callable[[], Awaitable[bool]]) -> bool:
        """The result of a run of `work` that began after this call, whichever caller began it."""
        with self._lock_of(document_id) as lock:
            number = lock.callers
            async with lock.lock:
                if lock.served < number:
                    upto = lock.callers
                    lock.runs += 1
                    lock.result = await work()
                    lock.served = upto
                return lock.result

    @contextmanager
    def watch(self, document_id: str) -> Generator[Callable[[], bool]]:
        """A function that tells whether work has run for the document since the `with` began, or runs now."""
        with self._lock_of(document_id) as lock:
            before, is_busy = lock.runs, lock.lock.locked()
            yield lambda: is_busy or lock.runs != before

    @contextmanager
    def _lock_of(self, document_id: str) -> Generator[_DocumentLock]:
        lock = self._locks.setdefault(document_id, _DocumentLock())
        lock.callers += 1
        try:
            yield lock
        finally:
            lock.finished += 1
            if lock.finished == lock.callers:
                self._locks.pop(document_id, None)


class _DocumentLock:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.callers = self.finished = self.served = 0
        """Numbers of callers: all; the ones that have returned; the ones whose work is done."""
        self.runs = 0
        """How often work has begun."""
        self.result = False


def waiter_for_threads() -> Callable[[Awaitable[T]], T]:
    """A function for threads of this loop: it runs an awaitable in the loop, and returns its result."""
    loop = asyncio.get_running_loop()

    def result_of(awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaitable

        return asyncio.run_coroutine_threadsafe(wait(), loop).result()

    return result_of
