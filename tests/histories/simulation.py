"""Many clients on one thread, in an order that a seed decides: the same seed gives the same history.

A client is a coroutine over the library's own flows. It hands control back before and after each request, and at each
wait, so that the requests of all clients are interleaved in any order that a network could have. Faults are put on
the exchanges as everywhere else. What a seed does not decide is what the engine answers, which is a function of the
requests, and the tokens of transactions, which decide nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

from singletable import AsyncDatabase
from singletable.connection import Target
from singletable.wire import BlockingPort
from singletable.wire.exchange import Answer, Exchange
from tests.faults.carrying import Carrier
from tests.faults.port import FaultyExchange
from tests.faults.rules import Faults
from tests.support.ports import wrap_exchanges

T = TypeVar("T")
Client = Coroutine[Any, Any, None]


class Turn:
    """Awaited: the scheduler chooses who goes on."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class TurningExchange:
    """A transport that gives the others a turn before it sends, and before it hands the answer on."""

    def __init__(self, inner: Exchange) -> None:
        self._inner = inner

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> Answer:
        await Turn()
        try:
            return await self._inner.exchange(message, timeout, max_idle_seconds, epoch)
        finally:
            await Turn()

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
        await Turn()

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self._inner.run_blocking(work)


def make_turning(port: BlockingPort, target: Target, faults: Faults) -> AsyncDatabase:
    """The awaiting verbs over a blocking port, with faults below the retries and a turn at each exchange."""
    carrier = Carrier(faults)
    wrap_exchanges(port, lambda inner: TurningExchange(FaultyExchange(inner, carrier)))
    return AsyncDatabase(cast(Any, port), target)


class Scheduler:
    """Runs clients to their ends, a turn at a time."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.moment = 0
        """Turns so far: the time of a history."""

    def run(self, clients: list[Client]) -> None:
        waiting = list(clients)
        try:
            while waiting:
                self.moment += 1
                number = self._chance.randrange(len(waiting))
                try:
                    waiting[number].send(None)
                except StopIteration:
                    del waiting[number]
        finally:
            for client in waiting:
                client.close()
