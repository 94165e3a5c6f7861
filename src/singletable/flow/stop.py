"""When a worker stops: at a signal, or when its caller's function returns true. It finishes what it has begun."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType

from singletable.errors import InvalidRequest

Stop = Callable[[], bool]
"""Called again and again: whether to stop. `event.is_set` is one."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _never() -> bool:
    return False


@contextmanager
def stopping(stop: Stop | None = None, signals: bool | Sequence[signal.Signals] = True) -> Generator[Stop, None, None]:
    """A function that says whether to stop. In the block the first signal only makes it true; the second acts as usual.

    Only a program's main thread receives signals. In another thread, and with `signals=False`, `stop` alone decides.
    Raises InvalidRequest in another thread without `stop`: the worker could never stop.
    """
    asked = stop or _never
    received: list[int] = []
    before: dict[signal.Signals, signal.Handlers | Callable[[int, FrameType | None], object] | int | None] = {}

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)

    wanted = SIGNALS if signals is True else tuple(signals or ())
    try:
        before |= {each: signal.getsignal(each) for each in wanted}  # first: a signal may arrive at once
        for each in wanted:
            signal.signal(each, receive)
    except ValueError:  # not the main thread
        before.clear()
        if stop is None:
            raise _cannot_stop() from None
    try:
        yield lambda: bool(received) or asked()
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


def _cannot_stop() -> InvalidRequest:
    return InvalidRequest(
        "nothing could stop this worker: only the main thread receives signals",
        operation="run",
        hint="Give it stop=, a function that returns true when it should stop, such as event.is_set.",
    )
