"""Runs functions of the application one after the other in a separate thread, each for a limited time.

The caller measures how long a function runs. A function that runs too long is ended by an exception in its thread,
which stops any Python code. If it doesn't end, because it catches everything or is blocked in one call of C code that
releases the GIL, its thread is abandoned and has no further effect. A call of C code that holds the GIL can't be ended:
a regular expression, a power of integers.

A separate thread also shows where an exit comes from: signals are handled in the main thread, so a SystemExit in this
thread comes from the function, and an interrupt reaches the caller.
"""

from __future__ import annotations

import ctypes
import os
import threading  # noqa: TID251 a function that must be ended runs in a thread that can be abandoned
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar, cast

T = TypeVar("T")

GRACE_SECONDS = 1.0
"""The time in which a function has to end after the exception was raised in it."""
_SLICE_SECONDS = 0.02
_PAUSED_SECONDS = 0.2


class Overrun(BaseException):
    """Raised in a function that has run too long. `except Exception` doesn't catch it."""


class TimeLimitExceeded(Exception):
    """Raised in the caller that waited for the function.

    `is_stuck` says that the function does not end: its thread takes time until the process ends.
    """

    def __init__(self, *, is_stuck: bool = False) -> None:
        super().__init__()
        self.is_stuck = is_stuck


@dataclass(eq=False)
class FunctionWatch:
    """The time that a function has run, without its waits for the library."""

    seconds: float
    began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pauses: int = 0
    _paused_at: float = 0.0
    _paused: float = 0.0
    _is_over: bool = False

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """The time of this block doesn't count, and the block is not ended. Several threads may be in it at once."""
        with self._lock:
            if self._is_over:
                raise Overrun
            if self._pauses == 0:
                self._paused_at = time.monotonic()
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if self._pauses == 0:
                    self._paused += time.monotonic() - self._paused_at

    def left(self) -> float:
        """The fewest seconds until the time can be over."""
        with self._lock:
            return _PAUSED_SECONDS if self._pauses else self.seconds - self._spent()

    def end(self) -> bool:
        """True if the time has passed. From then on no pause begins."""
        with self._lock:
            self._is_over = self._is_over or (self._pauses == 0 and self._spent() >= self.seconds)
            return self._is_over

    def _spent(self) -> float:
        return time.monotonic() - self.began - self._paused


def _taken_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(eq=False)
class _Call:
    function: Callable[[FunctionWatch], Any]
    watch: FunctionWatch
    context: Context = field(default_factory=copy_context)
    is_done: bool = False
    result: Any = None
    error: BaseException | None = None
    _running: threading.Lock = field(default_factory=_taken_lock)  # an Event costs ten times as much

    def run(self) -> None:
        try:
            self.result = self.context.run(self.function, self.watch)
        except BaseException as error:
            self.error = error
        self.is_done = True
        self._running.release()

    def wait(self, seconds: float) -> bool:
        """Whether it is done; for the one thread that waits for it, until it returns True."""
        return self._running.acquire(timeout=seconds)


class Runner:
    """Runs functions, each for a bounded time. Use it in a `with` block, from one thread."""

    def __init__(self) -> None:
        self._worker: _Worker | None = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            _give_back(self._worker)
            self._worker = None

    def run(self, function: Callable[[FunctionWatch], T], seconds: float) -> T:
        """Returns the function's result or raises its error; raises TimeLimitExceeded after `seconds`."""
        worker = self._worker = self._worker or _idle_worker()
        call = _Call(function, FunctionWatch(seconds))
        worker.calls.put(call)
        try:
            while not call.wait(max(_SLICE_SECONDS, call.watch.left())):
                if call.watch.end():
                    _end(call, worker.thread)
                    raise TimeLimitExceeded(is_stuck=not call.is_done)
        except BaseException:
            self._worker = None
            worker.calls.put(None)
            if not call.is_done:
                _raise_in(worker.thread)
            raise
        if call.error is not None:
            raise call.error
        return cast("T", call.result)


@dataclass(eq=False)
class _Worker:
    """A thread and what it is to run, one call after the other. It ends with the call in which Overrun was raised."""

    calls: SimpleQueue[_Call | None] = field(default_factory=SimpleQueue[_Call | None])
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=_work, args=(self.calls,), name="mutations", daemon=True)
        self.thread.start()


_MOST_IDLE = 4
_idle: list[_Worker] = []
"""Threads between two uses: starting one for each edit is a tenth of the edit's time. A forked child has none."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def _idle_worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


def _give_back(worker: _Worker) -> None:
    if len(_idle) < _MOST_IDLE:
        _idle.append(worker)
    else:
        worker.calls.put(None)


def _end(call: _Call, thread: threading.Thread) -> None:
    until = time.monotonic() + GRACE_SECONDS
    while not call.is_done and time.monotonic() < until:
        _raise_in(thread)
        call.wait(_SLICE_SECONDS)


def _work(calls: SimpleQueue[_Call | None]) -> None:
    try:
        while (call := calls.get()) is not None:
            call.run()
            del call  # what the function referred to is freed while the thread is idle
    except Overrun:
        return  # the exception arrived when the call had just ended


def _raise_in(thread: threading.Thread) -> None:
    """Raise Overrun at the thread's next step of Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Overrun))
