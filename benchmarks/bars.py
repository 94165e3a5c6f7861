"""The bars that a run has to clear: how many times what we take a peer takes, at the least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.report import Ratio, table

CLIENT: Final = "import and client"
ITEM: Final = "import, client and first item"
WRITE_MANY: Final = "write_many"
OF_EVERY_PEER: Final[Mapping[str, float]] = {
    "get": 3,
    "put": 3,
    "update": 3,
    "query100": 3,
    "query1000": 3,
    "batch_get100": 3,
    "transact4": 3,
    "gets32": 3,
    WRITE_MANY: 1.5,
    CLIENT: 1,
    ITEM: 1,
}
"""Operation, the least ratio: of client CPU; of starts and of `write_many`, which waits for a network, of wall time."""
OF_PEERS: Final[Mapping[str, Mapping[str, float]]] = {
    "get": {"boto3": 8},
    "query1000": {"boto3": 12, "pynamodb": 20, "pydynox": 7},
    "batch_get100": {"boto3": 12, "pydynox": 7},
    "transact4": {"boto3": 8},
    "gets32": {"pydynox_async": 4},
    CLIENT: {"boto3": 2.5},
}
"""Operation, peer, a higher one."""

Ratios = Mapping[str, Mapping[str, Ratio]]
"""By peer and operation: the peer's cost divided by ours."""


@dataclass(frozen=True)
class Bar:
    operation: str
    peer: str
    least: float
    measured: Ratio

    @property
    def is_reached(self) -> bool:
        return self.measured.median >= self.least

    @property
    def room(self) -> float:
        """How far above the bar it is, as a factor."""
        return self.measured.median / self.least


def bars_of(ratios: Ratios) -> list[Bar]:
    """The bars of what was measured, operation by operation."""
    return [
        Bar(operation, peer, OF_PEERS.get(operation, {}).get(peer, least), measured)
        for operation, least in OF_EVERY_PEER.items()
        for peer, of_peer in ratios.items()
        if (measured := of_peer.get(operation)) is not None
    ]


def page(ratios: Ratios) -> str:
    """Of each operation the peer that is nearest to the bar of all; every higher bar; every one that is missed."""
    bars = bars_of(ratios)
    if not bars:
        return "No peer was measured."
    told = {f"{bar.operation}, {bar.peer}": _row(bar) for bar in dict.fromkeys(_worth_telling(bars))}
    missed = sum(not bar.is_reached for bar in bars)
    counted = f"{len(bars) - missed} of {len(bars)} are reached. "
    return counted + "Of each operation the peer nearest to the bar of all, and every higher bar:\n\n" + table(told)


def _worth_telling(bars: Sequence[Bar]) -> Iterator[Bar]:
    for operation, least in OF_EVERY_PEER.items():
        of_one = [bar for bar in bars if bar.operation == operation]
        nearest = min((bar for bar in of_one if bar.least == least), key=lambda bar: bar.room, default=None)
        yield from (bar for bar in of_one if bar is nearest or bar.least > least or not bar.is_reached)


def _row(bar: Bar) -> dict[str, str]:
    return {
        "at least": f"{bar.least:g}x",
        "measured": str(bar.measured),
        "": "reached" if bar.is_reached else "MISSED",
    }


def summary(ratios: Ratios) -> list[dict[str, Any]]:
    return [
        {"operation": bar.operation, "peer": bar.peer, "bar": bar.least, "measured": bar.measured.median}
        for bar in bars_of(ratios)
    ]
