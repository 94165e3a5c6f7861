"""The metrics: durations and returned items of calls, units, retries, and the work on messages."""

from __future__ import annotations

from typing import Final

from opentelemetry.metrics import Meter

from singletable.events import BlobCalled, RequestEnded, RequestTried
from singletable.otel.attributes import Attributes, is_of_queue, returned_rows, tables_of

_SECONDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
"""The boundaries of a histogram of durations, as the conventions advise."""
_ROWS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class Instruments:
    """The instruments of one meter."""

    def __init__(self, meter: Meter) -> None:
        self._call_seconds = meter.create_histogram(
            "db.client.operation.duration",
            "s",
            "Duration of calls of the database",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._returned_rows = meter.create_histogram(
            "db.client.response.returned_rows",
            "{row}",
            "Items in the answers of reads",
            explicit_bucket_boundaries_advisory=_ROWS,
        )
        self._queue_seconds = meter.create_histogram(
            "messaging.client.operation.duration",
            "s",
            "Duration of requests to a queue",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._work_seconds = meter.create_histogram(
            "messaging.process.duration",
            "s",
            "Duration of tasks, handlers and versions of documents",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}", "Messages sent to a queue")
        self._consumed = meter.create_counter("messaging.client.consumed.messages", "{message}", "Messages worked on")
        self._blob_seconds = meter.create_histogram(
            "singletable.blob.duration",
            "s",
            "Duration of calls of a blob store",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._units = meter.create_counter("singletable.capacity.units", "{unit}", "Capacity units, by pattern")
        self._retries = meter.create_counter("singletable.retries", "{request}", "Requests that are sent again")

    def count_call(self, event: RequestEnded, found: Attributes) -> None:
        """Count a call that ended."""
        seconds = event.milliseconds / 1000
        if is_of_queue(event):
            self._queue_seconds.record(seconds, found)
            if event.operation == "SendMessageBatch":
                self._sent.add(event.items, found)
            return
        self._call_seconds.record(seconds, found)
        rows = returned_rows(event)
        if rows is not None:
            self._returned_rows.record(rows, found)
        table, pattern = ", ".join(tables_of(event)), ", ".join(event.patterns)
        for kind, units in (("read", event.read_units), ("write", event.write_units)):
            if units:
                where = {"db.collection.name": table, "aws.dynamodb.index_name": event.index}
                self._units.add(units, {**where, "singletable.unit": kind, "singletable.patterns": pattern})

    def count_blob(self, event: BlobCalled, found: Attributes) -> None:
        """Count a call of a blob store that ended."""
        self._blob_seconds.record(event.milliseconds / 1000, found)

    def count_retry(self, event: RequestTried) -> None:
        """Count a try that another one follows."""
        self._retries.add(
            1,
            {
                "db.operation.name": event.operation,
                "db.collection.name": ", ".join(tables_of(event)),
                "error.type": event.outcome,
            },
        )

    def count_work(self, found: Attributes, error: str | None, seconds: float, count: int) -> None:
        """Count work that ended."""
        known = found if error is None else {**found, "error.type": error}
        self._work_seconds.record(seconds, known)
        self._consumed.add(count, known)
