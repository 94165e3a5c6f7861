"""The listener: client spans of calls, producer and consumer spans of what goes through the table, and metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

from opentelemetry import context as otel_context, metrics, trace
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from singletable.events import BlobCalled, Event, Handled, RequestEnded, RequestTried, Sent, TraceContext
from singletable.otel import attributes
from singletable.otel.instruments import Instruments
from singletable.version import VERSION

Parent = Literal["message", "ambient"]
_w3c = TraceContextTextMapPropagator()


class Telemetry:
    """A listener for `connect(listeners=[Telemetry()])`: spans and metrics, by the semantic conventions 1.44.

    Each call of the table, a queue or a blob store is a client span. A task, a mutation and a message are made in a
    producer span, whose context is stored with them. In a table with a stream the current span's context is stored in
    each written item. A try of a task, the handlers of a message or a change, and a version of a document are consumer
    spans. Without a current span nothing is stored.

    `parent` is the parent of a consumer span: "message" for the stored context, so that one trace goes through the
    table; "ambient" for the current span if there is one, as that of a Lambda function. The other one is a link.
    With `changes=False` nothing is stored in an application's items. With `roots=False` a call without a current span,
    as the polls of a worker, has metrics only.

    The providers are those of the program (`opentelemetry.trace.set_tracer_provider`) where none are given.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        parent: Parent = "message",
        changes: bool = True,
        roots: bool = True,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        name = "singletable"
        self._tracer = trace.get_tracer(name, VERSION, tracer_provider, attributes.SCHEMA)
        self._instruments = Instruments(metrics.get_meter(name, VERSION, meter_provider, attributes.SCHEMA))
        self._parent: Parent = parent
        self._changes, self._roots = changes, roots
        self._now = now

    def __call__(self, event: Event) -> None:
        """Make the span of a call that ended, of the table, a queue or a blob store, and count it."""
        if isinstance(event, RequestEnded):
            self._end(event)
        elif isinstance(event, RequestTried) and event.retry_in is not None:
            self._instruments.count_retry(event)
        elif isinstance(event, BlobCalled):
            self._end_blob(event)

    def _end(self, event: RequestEnded) -> None:
        found = attributes.of_call(event)
        self._instruments.count_call(event, found)
        target = found.get("messaging.destination.name") or found.get("db.collection.name")
        name = found.get("messaging.operation.name") or event.operation
        self._make_span(
            f"{name} {target}" if target else str(name), event, found, lambda: attributes.more_of_call(event)
        )

    def _end_blob(self, event: BlobCalled) -> None:
        found = attributes.of_blob(event)
        self._instruments.count_blob(event, found)
        self._make_span(f"{event.verb} blob", event, found, lambda: {"singletable.blob.size": event.size})

    def _make_span(
        self,
        name: str,
        event: RequestEnded | BlobCalled,
        found: attributes.Attributes,
        more: Callable[[], attributes.Attributes],
    ) -> None:
        """The client span of a call that has just ended."""
        if not (self._roots or trace.get_current_span().get_span_context().is_valid):
            return
        ended = self._now()
        start = ended - int(event.milliseconds * 1_000_000)
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=found, start_time=start)
        if span.is_recording():
            span.set_attributes(more())
            if event.outcome not in ("ok", "cancelled"):
                span.set_status(Status(StatusCode.ERROR, event.why))
        span.end(ended)

    # --- through the table --------------------------------------------------------------------------------------------
    def context(self, sent: Sent) -> TraceContext | None:
        """The context to store: a producer span's; for a change of an item, the current span's."""
        if not trace.get_current_span().get_span_context().is_valid:
            return None
        if sent.kind == "change":
            return _stored() if self._changes else None
        name = f"create {attributes.destination_of(sent)}"
        with self._tracer.start_as_current_span(name, kind=SpanKind.PRODUCER, attributes=attributes.of_sent(sent)):
            return _stored()

    @contextmanager
    def handling(self, handled: Handled) -> Generator[None]:
        """The consumer span of some work."""
        found = attributes.of_work(handled)
        began = time.perf_counter()
        ambient = trace.get_current_span().get_span_context()
        created = [context for one in handled.contexts if (context := _span_context(one)).is_valid]
        follows = len(created) == 1 and handled.count == 1 and (self._parent == "message" or not ambient.is_valid)
        links = [Link(context) for context in created]
        if follows and ambient.is_valid:
            links.append(Link(ambient))
        parent = _as_parent(created[0]) if follows else None
        name = f"process {attributes.destination_of(handled)}"
        kind = error = None
        with self._tracer.start_as_current_span(
            name,
            parent,
            SpanKind.CONSUMER,
            found | attributes.more_of_work(handled),
            links,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as raised:
                if not isinstance(raised, handled.expected):
                    kind = type(raised).__qualname__
                    span.set_attribute("error.type", kind)  # its text is the application's, and may quote values
                    span.set_status(Status(StatusCode.ERROR))
                error = raised
        self._instruments.count_work(found, kind, time.perf_counter() - began, handled.count)
        if error is not None:
            raise error


def _stored() -> TraceContext | None:
    """The current context in W3C's form."""
    carrier: dict[str, str] = {}
    _w3c.inject(carrier)
    return TraceContext.of_headers(carrier.get("traceparent"), carrier.get("tracestate", ""))


def _span_context(stored: TraceContext) -> SpanContext:
    carrier = attributes.headers_of(stored.parent, stored.state)
    extracted = _w3c.extract(carrier, otel_context.Context())
    return trace.get_current_span(extracted).get_span_context()


def _as_parent(created: SpanContext) -> otel_context.Context:
    """The current context, with its baggage, under a span of another process."""
    return trace.set_span_in_context(trace.NonRecordingSpan(created))
