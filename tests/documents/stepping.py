"""A port that hands the turn back before each request, each blob and each wait, so that flows can be interleaved.

A schedule says whose turn it is; everything that happens is a function of it. Requests go to a real engine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextvars import copy_context
from typing import Any

from singletable.flow import drive
from singletable.wire import BlockingPort


class _Turn:
    def __await__(self) -> Generator[None, None, None]:
        yield


class SteppingPort:
    """A blocking port, one step at a time."""

    def __init__(self, inner: BlockingPort) -> None:
        self._inner = inner
        self.traits, self.ready, self.clock = inner.traits, inner.ready, inner.clock
        self.now, self.monotonic, self.names = inner.now, inner.monotonic, inner.names
        self.random, self.token, self.events, self.tell = inner.random, inner.token, inner.events, inner.tell

    async def send(self, operation: Any) -> Any:
        await _Turn()
        return drive(self._inner.send(operation))

    async def send_all(self, operations: Sequence[Any]) -> list[Any]:
        return await self._each([_sending(self._inner, operation) for operation in operations])

    async def call_all(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        return await self._each(calls)

    async def sleep(self, seconds: float) -> None:
        await _Turn()

    def to(self, service: Any, url: str = "") -> Any:
        raise NotImplementedError("documents use no other service")

    async def _each(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        found: list[Any] = []
        errors: list[Exception] = []
        for call in calls:
            await _Turn()
            try:
                found.append(call())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return found


def _sending(port: BlockingPort, operation: Any) -> Callable[[], Any]:
    return lambda: drive(port.send(operation))


class Stepped:
    """One flow under way."""

    def __init__(self, flow: Coroutine[Any, Any, Any]) -> None:
        self._flow = flow
        self._context = copy_context()
        """Its own, as that of a task of asyncio: flows that end crosswise leave nothing behind for each other."""
        self.steps = 0
        self.is_done = False
        self.value: Any = None
        self.error: Exception | None = None

    def step(self) -> None:
        """To its next request. What it raises is kept."""
        self.steps += 1
        try:
            self._context.run(self._flow.send, None)
        except StopIteration as done:
            self.is_done, self.value = True, done.value
        except Exception as error:
            self.is_done, self.error = True, error

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            if not self.is_done:
                self.step()

    def finish(self, most: int = 5000) -> Any:
        self.advance(most)
        if self.error is not None:
            raise self.error
        assert self.is_done, "it goes on and on"
        return self.value


def at_random(flows: Sequence[Coroutine[Any, Any, Any]], chance: random.Random) -> list[Stepped]:
    """Interleave flows: a few steps of one, then a few of another, until all are done."""
    under_way = [Stepped(flow) for flow in flows]
    for _ in _until_done(under_way):
        one = chance.choice([each for each in under_way if not each.is_done])
        one.advance(chance.choice([1, 1, 2, 3, 5, 8, 20]))
    return under_way


def _until_done(flows: Sequence[Stepped], most: int = 20_000) -> Iterator[None]:
    for _ in range(most):
        if all(flow.is_done for flow in flows):
            return
        yield
    raise AssertionError("the flows never end")
