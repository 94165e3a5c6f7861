"""The application's own functions, called concurrently: in threads, or in the running event loop."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, Generic, TypeVar, cast

from singletable.errors import InvalidRequest
from singletable.flow.driver import drive

T = TypeVar("T")
Call = Callable[[], T | Awaitable[T]]
_SLICE_SECONDS = 0.2


def call_in_threads(calls: Sequence[Call[T]], at_once: int) -> list[T]:
    """Call each in a thread with the caller's context, so that its meters count. A single call stays in this thread.

    Each thread takes one call after the other: a call costs no hand-over from thread to thread. None begins before all
    threads are there: one may wait for another. RuntimeError if a thread can't start. Raises the first call's error.
    """
    if len(calls) == 1:
        return [_result_of(calls[0])]
    begin: Future[bool] = Future()
    turns = _Turns(calls)
    with ThreadPoolExecutor(max(1, min(at_once, len(calls))), "singletable") as pool:
        try:
            done = [pool.submit(turns.take, begin) for _ in range(min(at_once, len(calls)))]
        except BaseException:
            begin.set_result(False)
            raise
        begin.set_result(True)
        # In slices: otherwise the main thread would not run the handler of a signal that another thread received.
        while wait(done, _SLICE_SECONDS).not_done:
            continue
    return turns.results()


class _Turns(Generic[T]):
    """Calls that several threads take, each in the order in which they were given."""

    def __init__(self, calls: Sequence[Call[T]]) -> None:
        self._left = deque(enumerate(calls))
        self._context = copy_context()
        self._results: list[Any] = [None] * len(calls)
        self._errors: dict[int, BaseException] = {}

    def take(self, begin: Future[bool]) -> None:
        """Call what no other thread has taken, until nothing is left. Each call has a context of its own."""
        result_of: Callable[[Any], Any] = _result_of
        while begin.result():
            try:
                number, call = self._left.popleft()
            except IndexError:
                return
            try:
                self._results[number] = self._context.copy().run(result_of, call)
            except BaseException as error:
                self._errors[number] = error

    def results(self) -> list[T]:
        """The results in order, once all calls have ended. Raises the error of the first that failed."""
        try:
            if self._errors:
                raise self._errors[min(self._errors)]
        finally:
            self._errors.clear()  # their tracebacks lead here: no cycle is to keep what the calls held
        return self._results


def _result_of(call: Call[T]) -> T:
    """The result of one call. A flow is driven; any other awaitable is refused, as no event loop runs."""
    result: Any = call()
    if result is None:  # of most functions, and known without a look at its class
        return cast("T", None)
    if inspect.iscoroutine(result):
        return cast("T", drive(result))
    if inspect.isawaitable(result):
        raise InvalidRequest(
            "an async function can't run in the blocking shell", hint="Write it without async, or use connect_async."
        )
    return cast("T", result)


def refuse_awaitable(result: object, what: str) -> None:
    """InvalidRequest if a function that is called as a plain one returns an awaitable: its work would never run."""
    if result is not None and inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise InvalidRequest(
            f"{what} returned an awaitable, and is not declared with async def",
            hint="Declare it with async def where it is awaited, else write it without.",
        )


async def call_in_loop(calls: Sequence[Call[T]], at_once: int) -> list[T]:
    """Run plain functions in threads, and async functions in the loop."""
    import asyncio  # noqa: PLC0415, TID251 only the awaiting shell needs it

    async def result_of(call: Call[T]) -> T:
        result: Any = call() if inspect.iscoroutinefunction(call) else await asyncio.to_thread(call)
        return cast("T", await result if inspect.isawaitable(result) else result)

    if len(calls) == 1:  # as of a handler: no task of its own
        return [await result_of(calls[0])]
    slots = asyncio.Semaphore(at_once)

    async def call_one(call: Call[T]) -> T:
        async with slots:
            return await result_of(call)

    running = [asyncio.ensure_future(call_one(call)) for call in calls]
    await asyncio.gather(*running, return_exceptions=True)
    return [one.result() for one in running]
