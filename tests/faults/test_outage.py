"""An endpoint that is away and comes back: its clients come back at different times, and don't keep it down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from singletable import Unavailable, connect
from singletable.wire import RetryPolicy
from singletable.wire.exchange import Exchange, HttpResponse, Undelivered
from tests.faults.clock import Clock
from tests.faults.messages import Reply
from tests.faults.opening import CURSOR_KEY, LOCAL, PATIENT, make
from tests.rules.models import Plain, shop
from tests.support.ports import wrap_exchanges

T = TypeVar("T")
CLIENTS = 60
AWAY_SECONDS = 2.0
WINDOW_SECONDS = 0.25
ROOM = 10
"""Requests that the service takes in a window; it throttles the others."""


class Outage:
    """A service that can't be reached at first, and then takes a few requests at a time. Time is each client's own."""

    def __init__(self) -> None:
        self.came: Counter[int] = Counter()
        """Requests in each window since the service is back."""
        self.lost = 0

    def of(self, clock: Clock) -> Callable[[Exchange], Exchange]:
        return lambda inner: _Reaching(inner, self, clock)


class _Reaching:
    def __init__(self, inner: Exchange, outage: Outage, clock: Clock) -> None:
        self._inner, self._outage, self._clock = inner, outage, clock

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        back = self._clock.monotonic() - AWAY_SECONDS
        if back < 0:
            self._outage.lost += 1
            raise Undelivered("connection refused")
        window = int(back / WINDOW_SECONDS)
        self._outage.came[window] += 1
        if self._outage.came[window] > ROOM:
            said = Reply.error("ThrottlingException", "Rate exceeded")
            return HttpResponse(said.status, said.body, said.checksum, "", len(said.message))
        return await self._inner.exchange(message, timeout, max_idle_seconds, epoch)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self._inner.run_blocking(work)


def test_after_an_outage_clients_come_back_spread_and_with_few_requests(engine_url: str) -> None:
    outage = Outage()
    unavailable: list[int] = []
    with connect(engine_url, environ={}) as engine:
        engine.port.traits = LOCAL
        engine.create_table(shop)
        for number in range(CLIENTS):
            if not _writes(engine_url, outage, number):
                unavailable.append(number)
        found = {each.id for each in engine.get_many([Plain.by_id(str(n)) for n in range(CLIENTS)], consistent=True)}
    assert found == {str(number) for number in range(CLIENTS)} - {str(number) for number in unavailable}
    assert len(unavailable) < CLIENTS / 10
    assert max(outage.came.values()) < CLIENTS / 3, "they do not come at once"
    assert len(outage.came) > 8
    assert sum(outage.came.values()) < 2 * CLIENTS
    assert outage.lost < 10 * CLIENTS


def test_an_outage_that_outlasts_the_retries_is_unavailable_and_writes_nothing(engine_url: str) -> None:
    outage = Outage()
    with connect(engine_url, environ={}) as engine:
        engine.port.traits = LOCAL
        engine.create_table(shop)
        assert not _writes(engine_url, outage, 1, RetryPolicy(attempts=5))
        assert (outage.lost, outage.came) == (5, Counter())
        assert engine.get(Plain.by_id("1").consistent()) is None


def _writes(url: str, outage: Outage, number: int, retry: RetryPolicy = RetryPolicy()) -> bool:  # noqa: B008 frozen
    """Whether a client's write got through, which begins when the outage does."""
    clock = Clock()
    shell: Any = make("blocking", url, clock, retry, PATIENT, number, (CURSOR_KEY,))
    shell.port.ready.add(shop.name)
    wrap_exchanges(shell.port, outage.of(clock))
    with shell.db as db:
        try:
            db.put(Plain(id=str(number), text="written"))
        except Unavailable:
            return False
    return True
