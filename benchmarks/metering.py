"""What metering costs: the same calls inside a meter and outside of one, by turns, in one process.

Short loops in pairs, so that a slow moment of the machine meets both of a pair; either goes first as often.
"""

from __future__ import annotations

import gc
import time
from typing import Final

from benchmarks import workload
from benchmarks.libraries import OURS, Call
from benchmarks.libraries.blocking import client_of
from benchmarks.measure import Bench, Effort, Say
from benchmarks.report import Ratio, ratio
from singletable import Database, connect

_PAIRS_A_ROUND: Final = 10
_OPERATIONS: Final = [operation for operation in workload.OPERATIONS if operation != "gets32"]
"""A meter counts for its own thread, and those gets are made by others."""


def run(bench: Bench, effort: Effort, say: Say) -> dict[str, Ratio]:
    """CPU inside a meter divided by that outside of one, by operation. Wants the answers that were recorded for us."""
    found: dict[str, Ratio] = {}
    with connect(bench.server.url) as db:
        calls = client_of(db).calls
        for operation in _OPERATIONS:
            say(f"{operation}, inside a meter and outside of one")
            bench.server.replay(f"{OURS}/{operation}")
            found[operation] = _of(db, calls[operation], effort)
    return found


def _of(db: Database, call: Call, effort: Effort) -> Ratio:
    times = max(2, round(effort.loop_seconds / _PAIRS_A_ROUND / (_seconds(call, 20) / 20)))
    rounds = [_round(db, call, times) for _ in range(effort.rounds)]
    return ratio([inside for inside, _ in rounds], [outside for _, outside in rounds])


def _round(db: Database, call: Call, times: int) -> tuple[float, float]:
    """Seconds inside and outside, of all pairs of a round."""
    inside = outside = 0.0
    for pair in range(_PAIRS_A_ROUND):
        for is_inside in (True, False) if pair % 2 else (False, True):
            if is_inside:
                with db.meter():
                    inside += _seconds(call, times)
            else:
                outside += _seconds(call, times)
    return inside, outside


def _seconds(call: Call, times: int) -> float:
    """Of CPU, without what collecting garbage adds to one and not to the other."""
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - began
