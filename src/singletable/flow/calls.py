"""The application's own functions, called concurrently: in threads, or in the running event loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeVar, cast

from singletable.errors import InvalidRequest
from singletable.flow.driver import drive

T = TypeVar("T")
Call = Callable[[], T | Awaitable[T]]
_SLICE_SECONDS = 0.2


def call_in_threads(calls: Sequence[Call[T]], at_once: int) -> list[T]:
    """Call each in a thread with the caller's context, so that its meters count. A single call stays in this thread.

    No call begins before all have their threads: one may wait for another. RuntimeError if a thread can't start.
    """
    if len(calls) == 1:
        return [_result_of(calls[0])]
    begin: Future[bool] = Future()
    with ThreadPoolExecutor(max(1, min(at_once, len(calls))), "singletable") as pool:
        try:
            done = [pool.submit(copy_context().run, _call_in_turn, begin, call) for call in calls]
        except BaseException:
            begin.set_result(False)
            raise
        begin.set_result(True)
        # In slices: otherwise the main thread would not run the handler of a signal that another thread received.
        while wait(done, _SLICE_SECONDS).not_done:
            continue
    return [cast("T", one.result()) for one in done]


def _call_in_turn(begin: Future[bool], call: Call[T]) -> T | None:
    return _result_of(call) if begin.result() else None


def _result_of(call: Call[T]) -> T:
    """The result of one call. A flow is driven; any other awaitable is refused, as no event loop runs."""
    result: Any = call()
    if inspect.iscoroutine(result):
        return cast("T", drive(result))
    if inspect.isawaitable(result):
        raise InvalidRequest(
            "an async function can't run in the blocking shell", hint="Write it without async, or use connect_async."
        )
    return cast("T", result)


def refuse_awaitable(result: object, what: str) -> None:
    """InvalidRequest if a function that is called as a plain one returns an awaitable: its work would never run."""
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise InvalidRequest(
            f"{what} returned an awaitable, and is not declared with async def",
            hint="Declare it with async def where it is awaited, else write it without.",
        )


async def call_in_loop(calls: Sequence[Call[T]], at_once: int) -> list[T]:
    """Run plain functions in threads, and async functions in the loop."""
    import asyncio  # noqa: PLC0415, TID251 only the awaiting shell needs it

    slots = asyncio.Semaphore(at_once)

    async def call_one(call: Call[T]) -> T:
        async with slots:
            result: Any = call() if inspect.iscoroutinefunction(call) else await asyncio.to_thread(call)
            return cast("T", await result if inspect.isawaitable(result) else result)

    running = [asyncio.ensure_future(call_one(call)) for call in calls]
    await asyncio.gather(*running, return_exceptions=True)
    return [one.result() for one in running]
