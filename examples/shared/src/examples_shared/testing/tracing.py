"""Spans of an application that a test reads, and the span of each HTTP request that it serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from singletable.otel import Telemetry

Message = MutableMapping[str, Any]
Asgi = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


@dataclass(frozen=True)
class Traces:
    """A tracer of its own; `listeners=[traces.listener()]` gives it to a database."""

    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    tracers: TracerProvider = field(default_factory=TracerProvider)

    def __post_init__(self) -> None:
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def listener(self) -> Telemetry:
        return Telemetry(tracer_provider=self.tracers)

    def served(self, app: Any) -> Any:
        """The application with a server span around each request, as OpenTelemetry's own middleware makes it."""
        tracer = self.tracers.get_tracer("http")

        async def serve(scope: Message, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            with tracer.start_as_current_span(f"{scope['method']} {scope['path']}", kind=SpanKind.SERVER):
                await app(scope, receive, send)

        return serve

    def of(self, request: str) -> list[ReadableSpan]:
        """The spans of the trace that begins with a request: `POST /orders`."""
        spans = self.exporter.get_finished_spans()
        (trace,) = {trace_of(span) for span in spans if span.kind is SpanKind.SERVER and span.name == request}
        return [span for span in spans if trace_of(span) == trace]

    def of_messages(self) -> set[int]:
        """The traces of all that is made for later, and of all work on it."""
        kinds = (SpanKind.PRODUCER, SpanKind.CONSUMER)
        return {trace_of(span) for span in self.exporter.get_finished_spans() if span.kind in kinds}


def trace_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id


def way_to(span: ReadableSpan, spans: list[ReadableSpan]) -> list[str]:
    """The names of a span and of those above it, from the first."""
    by_id = {above.get_span_context().span_id: above for above in spans}  # type: ignore[union-attr]  # all have one
    names: list[str] = []
    at: ReadableSpan | None = span
    while at is not None:
        names.insert(0, at.name)
        at = None if at.parent is None else by_id.get(at.parent.span_id)
    return names
