"""The same faults without sockets of their own: under a port's retries, around the transport that it has.

    with connect("local") as db:
        carrier = make_faulty(db.port, faults)

A cut, a hang and an answer cut short are then the transport's `AnswerLost`, at once: a hang takes no time. Signing,
checksums, verdicts, retries and budgets are the library's own. The order of the requests of one `send_all` is the
port's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from singletable.wire.exchange import AnswerLost, Exchange, HttpResponse
from tests.faults.carrying import Carrier
from tests.faults.messages import Call, Cut, Hang, Reply
from tests.faults.rules import Faults
from tests.support.ports import wrap_exchanges

T = TypeVar("T")


class FaultyExchange:
    """A transport that does to each request what the rules say."""

    def __init__(self, inner: Exchange, carrier: Carrier) -> None:
        self._inner = inner
        self._carrier = carrier

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        async def ask(call: Call) -> Reply:
            return Reply.given(await self._inner.exchange(call.message, timeout, max_idle_seconds, epoch))

        outcome = await self._carrier.carry(message, ask)
        if isinstance(outcome, Hang):
            raise AnswerLost(f"no answer within {timeout:.1f} s", timed_out=True)
        if isinstance(outcome, Cut):
            raise AnswerLost("the connection was closed before the answer was complete")
        if outcome.delay_seconds:
            await self._inner.sleep(outcome.delay_seconds)
        return HttpResponse(outcome.status, outcome.body, outcome.checksum, "", len(outcome.message))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self._inner.run_blocking(work)


def make_faulty(port: Any, faults: Faults) -> Carrier:
    """Put faults under a port of either shell, from now on."""
    carrier = Carrier(faults)
    wrap_exchanges(port, lambda inner: FaultyExchange(inner, carrier))
    return carrier
