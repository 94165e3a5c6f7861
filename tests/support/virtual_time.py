"""An event loop in which waiting takes no time: its clock goes on to the next timer once nothing else is to do.

    loop = VirtualLoop()
    loop.run_until_complete(main())     # asyncio.sleep(600) returns at once, and loop.time() is 600 s later

The clock stands still during real work: in threads, and in what `working()` surrounds, such as a request.
"""

from __future__ import annotations

import asyncio  # noqa: TID251
import selectors
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Waits for sockets only while real work is done."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0.0
        self.working = 0

    def select(self, timeout: float | None = None) -> Any:
        if self.working or not timeout:
            return super().select(None if self.working and timeout != 0 else timeout)
        self.at += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.at

    def pass_time(self, seconds: float) -> None:
        """What blocks the loop for some seconds."""
        self._virtual.at += seconds

    @contextmanager
    def working(self) -> Generator[None, None, None]:
        self._virtual.working += 1
        try:
            yield
        finally:
            self._virtual.working -= 1

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        self._virtual.working += 1

        def ended(_: object) -> None:
            self._virtual.working -= 1

        future.add_done_callback(ended)
        return future
