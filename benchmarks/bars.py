"""The bars that a run has to clear: how much more CPU a peer takes than we do, at the least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.report import Ratio, table

CLIENT: Final = "import and client"
BARS: Final[Mapping[str, Mapping[str, float]]] = {
    "get": {"boto3": 8, "pydynox": 3},
    "query1000": {"boto3": 12, "pynamodb": 20, "pydynox": 7, "aiodynamo": 3},
    "batch_get100": {"boto3": 12, "pydynox": 7},
    "transact4": {"boto3": 8, "pydynox": 2.5},
    "gets32": {"aiodynamo": 3, "pydynox_async": 4},
    CLIENT: {"boto3": 2.5},
}
"""Operation, peer, the least ratio. Of the import and the first client it is wall time."""


def compared(
    ratios: Mapping[str, Mapping[str, Ratio]], starts: Mapping[str, Ratio]
) -> list[tuple[str, str, float, Ratio]]:
    """Operation, peer, bar and what was measured, for those that were."""
    found: list[tuple[str, str, float, Ratio]] = []
    for operation, peers in BARS.items():
        for peer, bar in peers.items():
            measured = starts.get(peer) if operation == CLIENT else ratios.get(peer, {}).get(operation)
            if measured is not None:
                found.append((operation, peer, bar, measured))
    return found


def page(ratios: Mapping[str, Mapping[str, Ratio]], starts: Mapping[str, Ratio]) -> str:
    rows = {
        f"{operation}, {peer}": {
            "at least": f"{bar:g}x",
            "measured": str(measured),
            "": "reached" if measured.median >= bar else "MISSED",
        }
        for operation, peer, bar, measured in compared(ratios, starts)
    }
    return table(rows) if rows else "None of the peers with a bar was measured."


def summary(ratios: Mapping[str, Mapping[str, Ratio]], starts: Mapping[str, Ratio]) -> list[dict[str, Any]]:
    return [
        {"operation": operation, "peer": peer, "bar": bar, "measured": measured.median}
        for operation, peer, bar, measured in compared(ratios, starts)
    ]
