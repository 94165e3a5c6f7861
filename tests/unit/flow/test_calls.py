"""Functions that are called concurrently: each once, in a context of its own, and none before all threads are there."""

from __future__ import annotations

import asyncio  # noqa: TID251
import gc
import threading  # noqa: TID251
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial

import pytest

from singletable.flow import call_in_loop, call_in_threads

AT_ONCE = 4
number = ContextVar("number", default=0)


def test_each_is_called_once_and_the_results_are_in_order() -> None:
    called: list[int] = []

    def call(n: int) -> int:
        called.append(n)
        return -n

    assert call_in_threads([partial(call, n) for n in range(101)], AT_ONCE) == [-n for n in range(101)]
    assert sorted(called) == list(range(101))


def test_as_many_as_allowed_run_at_once_and_a_thread_takes_many() -> None:
    meeting, threads = threading.Barrier(AT_ONCE, timeout=20), set[int]()

    def call(n: int) -> None:
        if n < AT_ONCE:
            meeting.wait()
        threads.add(threading.get_ident())

    call_in_threads([partial(call, n) for n in range(101)], AT_ONCE)
    assert len(threads) == AT_ONCE
    assert threading.get_ident() not in threads


def test_one_alone_stays_in_its_thread() -> None:
    assert call_in_threads([threading.get_ident], AT_ONCE) == [threading.get_ident()]


def test_each_call_has_a_context_of_its_own() -> None:
    def call() -> int:
        seen = number.get()
        number.set(seen + 1)
        return seen

    number.set(7)
    assert call_in_threads([call] * 101, AT_ONCE) == [7] * 101
    assert number.get() == 7


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_the_first_error_in_order_is_raised_after_all_have_ended(kind: type[BaseException]) -> None:
    ended: list[int] = []

    def call(n: int) -> None:
        ended.append(n)
        if n in (5, 50):
            raise kind(n)

    with pytest.raises(kind) as raised:
        call_in_threads([partial(call, n) for n in range(101)], AT_ONCE)
    assert raised.value.args == (5,)
    assert sorted(ended) == list(range(101))


def test_an_error_keeps_nothing_alive() -> None:
    class Held:
        """What a call works on."""

    held = Held()
    seen = weakref.ref(held)

    def call(n: int, held: Held) -> None:
        raise ValueError(n)

    gc.disable()
    try:
        with pytest.raises(ValueError, match="0"):
            call_in_threads([partial(call, n, held) for n in range(3)], AT_ONCE)
        del held
        assert seen() is None
    finally:
        gc.enable()


def test_no_call_is_made_where_a_thread_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    start, begun = threading.Thread.start, list[int]()

    def refuse_the_third(thread: threading.Thread) -> None:
        begun.append(1)
        if len(begun) == 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_the_third)
    with pytest.raises(RuntimeError, match="can't start"):
        call_in_threads([partial(called.append, n) for n in range(101)], AT_ONCE)
    assert called == []


def test_one_alone_in_the_loop_is_no_task_of_its_own() -> None:
    async def task() -> asyncio.Task[object] | None:
        return asyncio.current_task()

    async def program() -> None:
        own = asyncio.current_task()
        calls: list[Callable[[], object]] = [task]
        assert await call_in_loop(calls, AT_ONCE) == [own]
        assert own not in await call_in_loop(calls * 2, AT_ONCE)

    asyncio.run(program())
