"""The kernel of reads in pages: a request is sent again from where its answer ended, until nothing lies beyond."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol, TypeVar

from singletable.flow.port import Operation, Port


class PartialAnswer(Protocol):
    """A part of what was asked for."""

    @property
    def after(self) -> dict[str, Any] | None:
        """Where it ended; None when nothing lies beyond."""
        ...


N = TypeVar("N")
P = TypeVar("P", bound=PartialAnswer)
Ask = Callable[[Any], Operation[P]]
"""Makes the request that begins after a position; None for the first."""


async def pages_of(port: Port, ask: Ask[P]) -> AsyncIterator[P]:
    """One page after the other."""
    after: dict[str, Any] | None = None
    while True:
        page = await port.send(ask(after))
        yield page
        after = page.after
        if after is None:
            return


async def pages_side_by_side(port: Port, asks: Mapping[N, Ask[P]]) -> AsyncIterator[tuple[N, P]]:
    """The pages of several requests by their names, a page of each that goes on in a round trip."""
    waiting: dict[N, dict[str, Any] | None] = dict.fromkeys(asks)
    while waiting:
        answers = await port.send_all([asks[name](after) for name, after in waiting.items()])
        page_of = dict(zip(waiting, answers, strict=True))
        for name, page in page_of.items():
            yield name, page
        waiting = {name: page.after for name, page in page_of.items() if page.after is not None}
