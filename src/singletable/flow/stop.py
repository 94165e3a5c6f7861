"""When a worker is to end: at a signal, or when its caller says so. It finishes what it has begun."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType

from singletable.errors import InvalidRequest

Stop = Callable[[], bool]
"""Asked again and again: whether to end. `event.is_set` is one."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _never() -> bool:
    return False


@contextmanager
def stopping(stop: Stop | None = None, signals: bool | Sequence[signal.Signals] = True) -> Generator[Stop, None, None]:
    """Whether to end, as a function. Within the block the first signal only makes it true; a second acts as before.

    Only a program's main thread hears signals: in any other, as with `signals=False`, `stop` alone decides. There a
    worker that asked for signals and has no `stop` could never end: InvalidRequest.
    """
    asked = stop or _never
    heard: list[int] = []
    before: dict[signal.Signals, signal.Handlers | Callable[[int, FrameType | None], object] | int | None] = {}

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)

    wanted = SIGNALS if signals is True else tuple(signals or ())
    try:
        before |= {each: signal.getsignal(each) for each in wanted}  # first: a signal may come at once
        for each in wanted:
            signal.signal(each, hear)
    except ValueError:  # not the main thread
        before.clear()
        if stop is None:
            raise _endless() from None
    try:
        yield lambda: bool(heard) or asked()
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


def _endless() -> InvalidRequest:
    return InvalidRequest(
        "nothing could ever stop this worker: no signal is heard outside the main thread",
        operation="run",
        hint="Give it stop=, a function that says when to end, such as event.is_set.",
    )
