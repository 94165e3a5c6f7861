"""A tracer and a meter whose spans and metrics a test reads; and classes of an application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from singletable import ANY, Entity, Key, Table
from singletable.otel import Telemetry

CANARY = "canary-7f3a"
shop = Table("shop", indexes=["gsi1"], stream="new_and_old")
plain = Table("plain")


class Order(Entity, table=shop, type="order"):
    customer: str
    number: int = 1
    note: str = CANARY

    @shop.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"order#{number:06}"

    @shop.index("gsi1")
    @staticmethod
    def by_note(note: str, number: int = ANY) -> Key:
        return f"note#{note}", f"order#{number:06}"


class Picture(Entity, table=shop, type="picture"):
    id: str
    data: str = ""

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"picture#{id}", "picture"


class Note(Entity, table=plain, type="note"):
    id: str
    text: str = CANARY

    @plain.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"note#{id}", "note"


@dataclass
class Recorded:
    """What was recorded."""

    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    tracers: TracerProvider = field(default_factory=TracerProvider)

    def __post_init__(self) -> None:
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader])

    def listener(self, **options: Any) -> Telemetry:
        return Telemetry(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    @contextmanager
    def request(self, name: str = "POST /orders") -> Iterator[ReadableSpan]:
        """The span of a request that a program serves."""
        with self.tracers.get_tracer("http").start_as_current_span(name) as span:
            yield span  # type: ignore[misc]  # a span of the SDK

    @property
    def spans(self) -> list[ReadableSpan]:
        return [*self.exporter.get_finished_spans()]

    def named(self, name: str) -> ReadableSpan:
        """The one span of a name."""
        (span,) = [span for span in self.spans if span.name == name]
        return span

    def points(self) -> dict[str, list[Any]]:
        """The points of each metric."""
        data: Any = self.reader.get_metrics_data()
        metrics = [m for r in data.resource_metrics for scope in r.scope_metrics for m in scope.metrics]
        return {metric.name: list(metric.data.data_points) for metric in metrics}


def trace_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id


def id_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def parent_of(span: ReadableSpan) -> int:
    return 0 if span.parent is None else span.parent.span_id


def is_child(child: ReadableSpan, of: ReadableSpan) -> bool:
    return parent_of(child) == id_of(of) and trace_of(child) == trace_of(of)


def text_of(span: ReadableSpan) -> str:
    """All that a span says."""
    return str(span.to_json())
