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

FLOORS: Final[Mapping[str, float]] = {"get": 1.5, "put": 1.8, "update": 2.2, "transact4": 2.5, "query1000": 1.4}
"""Operation, the greatest ratio of ours to the floor with decode, blocking: see `floors`."""
FLOOR: Final = "floor with decode"

Ratios = Mapping[str, Mapping[str, Ratio]]
"""By peer and operation: the peer's cost divided by ours."""


@dataclass(frozen=True)
class Bar:
    operation: str
    peer: str
    limit: float
    measured: Ratio
    is_most: bool = False
    """Whether ours divided by the other's is at most the limit; else the peer's divided by ours is at least that."""

    @property
    def is_reached(self) -> bool:
        return self.measured.median <= self.limit if self.is_most else self.room >= 1

    @property
    def room(self) -> float:
        """How far above the bar a peer is, as a factor."""
        return self.measured.median / self.limit


def bars_of(ratios: Ratios, floors: Mapping[str, Ratio]) -> list[Bar]:
    """The bars of what was measured, operation by operation; `floors` has ours divided by the floor with decode."""
    of_floors = [Bar(operation, FLOOR, FLOORS[operation], measured, True) for operation, measured in floors.items()]
    return of_floors + [
        Bar(operation, peer, OF_PEERS.get(operation, {}).get(peer, least), measured)
        for operation, least in OF_EVERY_PEER.items()
        for peer, of_peer in ratios.items()
        if (measured := of_peer.get(operation)) is not None
    ]


def page(ratios: Ratios, floors: Mapping[str, Ratio]) -> str:
    """Of each operation the floor, the peer that is nearest to the bar of all, every higher bar, and what is missed."""
    bars = bars_of(ratios, floors)
    if not bars:
        return "No peer was measured."
    told = {f"{bar.operation}, {bar.peer}": _row(bar) for bar in dict.fromkeys(_worth_telling(bars))}
    missed = sum(not bar.is_reached for bar in bars)
    counted = f"{len(bars) - missed} of {len(bars)} are reached. "
    return (
        counted
        + "Of each operation our floor, the peer nearest to the bar of all, and every higher bar:\n\n"
        + table(told)
    )


def _worth_telling(bars: Sequence[Bar]) -> Iterator[Bar]:
    for operation, least in OF_EVERY_PEER.items():
        of_one = [bar for bar in bars if bar.operation == operation]
        peers = [bar for bar in of_one if not bar.is_most]
        nearest = min((bar for bar in peers if bar.limit == least), key=lambda bar: bar.room, default=None)
        is_told = (bar is nearest or bar.is_most or bar.limit > least or not bar.is_reached for bar in of_one)
        yield from (bar for bar, told in zip(of_one, is_told, strict=True) if told)


def _row(bar: Bar) -> dict[str, str]:
    return {
        "bar": f"at {'most' if bar.is_most else 'least'} {bar.limit:g}x",
        "measured": str(bar.measured),
        "": "reached" if bar.is_reached else "MISSED",
    }


def summary(ratios: Ratios, floors: Mapping[str, Ratio]) -> list[dict[str, Any]]:
    return [
        {
            "operation": bar.operation,
            "peer": bar.peer,
            "bar": bar.limit,
            "measured": bar.measured.median,
            "reached": bar.is_reached,
        }
        for bar in bars_of(ratios, floors)
    ]
