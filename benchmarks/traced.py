"""What OpenTelemetry costs: the same calls with a listener and without one, by turns, in one process.

    python -m benchmarks.traced
    python -m benchmarks.traced --write traced     also to benchmarks/results/, for `benchmarks.pages`

Short loops in pairs, so that a slow moment of the machine meets both of a pair; either goes first as often. The span
processor hands each span to an exporter that drops it: what an exporter sends comes on top.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from statistics import median
from typing import Any, Final

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from benchmarks import measure
from benchmarks.libraries import OURS, Call
from benchmarks.libraries.blocking import client_of
from benchmarks.measure import Bench, Say
from benchmarks.report import ratio, table, write
from singletable import connect
from singletable.otel import Telemetry

OPERATIONS: Final = ("get", "put", "query100")
_PAIRS: Final = 8
_LOOP_SECONDS: Final = 0.05


class _Dropping(SpanExporter):
    def export(self, spans: object) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def _telemetry() -> Telemetry:
    tracers = TracerProvider(sampler=ALWAYS_ON)
    tracers.add_span_processor(SimpleSpanProcessor(_Dropping()))
    return Telemetry(tracer_provider=tracers, meter_provider=MeterProvider([InMemoryMetricReader()]))


LISTENERS: Final[Mapping[str, Callable[[], list[Any]]]] = {
    "a listener that does nothing": lambda: [lambda event: None],
    "spans and metrics": lambda: [_telemetry()],
}


def run(bench: Bench, say: Say) -> dict[str, dict[str, Any]]:
    """By listener and operation: CPU with it divided by CPU without, and the microseconds more. Wants our recorded
    answers."""
    found: dict[str, dict[str, Any]] = {}
    for name, listeners in LISTENERS.items():
        with ExitStack() as stack:
            plain, heard = (
                client_of(stack.enter_context(connect(bench.server.url, listeners=given))).calls
                for given in ([], listeners())
            )
            for operation in OPERATIONS:
                say(f"{operation}, {name}")
                bench.server.replay(f"{OURS}/{operation}")
                found.setdefault(name, {})[operation] = _of(heard[operation], plain[operation])
    return found


def _of(heard: Call, plain: Call) -> dict[str, float]:
    times = max(2, round(_LOOP_SECONDS / (_seconds(plain, 20) / 20)))
    inside, outside = list[float](), list[float]()
    for pair in range(_PAIRS):
        for is_heard in (True, False) if pair % 2 else (False, True):
            (inside if is_heard else outside).append(_seconds(heard if is_heard else plain, times))
    more = median(one - other for one, other in zip(inside, outside, strict=True)) / times
    found = ratio(inside, outside)
    return {"ratio": found.median, "least": found.least, "greatest": found.greatest, "us_more": more * 1e6}


def _seconds(call: Call, times: int) -> float:
    """CPU seconds, without a collection of garbage that meets one and not the other."""
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - began


def page(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The results as a table: CPU with a listener, divided by CPU without one, and the microseconds more."""
    return table({name: {op: told(figures) for op, figures in found[name].items()} for name in found})


def told(figures: Mapping[str, float]) -> str:
    return f"{figures['ratio']:.2f}x, {figures['us_more']:.0f} us more"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traced", description="What OpenTelemetry costs.")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    with measure.bench() as bench:
        bench.record([OURS], _say)
        found = run(bench, _say)
    if given.write:
        write(given.write, {"pairs": _PAIRS, "traced_cpu": found}, page(found))
    print(page(found))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
