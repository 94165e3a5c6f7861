"""The hooks of `pytest --scan-output`: where what is said comes from, and what may show values."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any, Final

import pytest
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import Span, TracerProvider

from singletable.errors import SingletableError
from singletable.events import Event, Listeners
from singletable.otel import Telemetry
from singletable.wire.delivery import Delivery
from tests.support.output_scan import INTO, PROGRAMS, OutputScan

_DELTA: Final[Mapping[type, AggregationTemporality]] = {
    Counter: AggregationTemporality.DELTA,
    Histogram: AggregationTemporality.DELTA,
}


class _Records(logging.Handler):
    """Notes each record: its message, its fields, and an error of the library that it shows. What the log would have
    at DEBUG is noted as events: the level stays, as tests look at it."""

    def __init__(self, scan: OutputScan) -> None:
        super().__init__(logging.DEBUG)
        self._scan = scan

    def emit(self, record: logging.LogRecord) -> None:
        fields = {name: value for name, value in vars(record).items() if name.startswith("singletable_")}
        shown = {name: value for name, value in fields.items() if not isinstance(value, BaseException)}
        error = record.exc_info[1] if record.exc_info else None
        told = traceback.format_exception_only(error) if isinstance(error, SingletableError) else []
        self._scan.say(f"the log, {record.name}", record.getMessage(), shown, *told)


def _as_of(function: FunctionType, module: str) -> FunctionType:
    """A function as one of a module of the library: a listener that looks for the program's own line passes it by."""
    of_module = {**globals(), "__name__": module}
    return FunctionType(function.__code__, of_module, function.__name__, function.__defaults__, function.__closure__)


class ScanPlugin:
    """Notes what each test does, and says at its end what leaked."""

    def __init__(self, scan: OutputScan) -> None:
        self.scan = scan
        self.folder = TemporaryDirectory(prefix="scan-")
        self.reader = InMemoryMetricReader(preferred_temporality=dict(_DELTA))
        self.telemetry = Telemetry(tracer_provider=TracerProvider(), meter_provider=MeterProvider([self.reader]))
        self.records = _Records(scan)
        send_once, emit, listen = Delivery._try, Listeners.emit, Listeners.__init__
        begin, end, run_program = SingletableError.__init__, Span.end, subprocess.run
        telemetry = self.telemetry

        async def send_noted(self: Delivery, exchange: Any, request: Any, *args: Any, **options: Any) -> Any:
            scan.note_request(request.body)
            if (signer := self._signer) is not None:
                scan.note_secret(signer.credentials.secret_key, signer.credentials.session_token)
            return await send_once(self, exchange, request, *args, **options)

        def emit_noted(self: Listeners, event: Event) -> None:
            scan.hear(event)
            telemetry(event)
            emit(self, event)

        def listen_to_all(self: Listeners, *args: Any, **options: Any) -> None:
            listen(self, *args, **options)
            self.listens = True

        def begin_noted(self: SingletableError, *args: Any, **options: Any) -> None:
            begin(self, *args, **options)
            scan.errors.append(self)

        def end_noted(self: Span, *args: Any, **options: Any) -> None:
            events = [(event.name, dict(event.attributes or {})) for event in self.events]
            scan.say(f"the span {self.name}", self.name, dict(self.attributes or {}), events, self.status.description)
            end(self, *args, **options)

        def run_noted(*args: Any, **options: Any) -> Any:
            ran = run_program(*args, **options)
            if sys._getframe(1).f_globals.get("__name__", "").startswith("singletable"):
                return ran  # the library reads what its own program says; what it tells of that is noted where it does
            program, command = map(str, (*ran.args, "", "")[:2]) if isinstance(ran.args, (list, tuple)) else ("", "")
            where = command if Path(program).name == "singletable" else "a child"
            for name in ("stderr",) if command == "-c" else ("stdout", "stderr"):  # its answer to the test
                if isinstance(text := getattr(ran, name), (str, bytes)):
                    scan.say(f"{name} of {where}", text if isinstance(text, str) else text.decode(errors="replace"))
            return ran

        vars_of: Any = (
            (Delivery, "_try", send_noted),
            (Listeners, "emit", emit_noted),
            (Listeners, "__init__", listen_to_all),
            (SingletableError, "__init__", begin_noted),
            (Span, "end", end_noted),
            (subprocess, "run", run_noted),
        )
        for kind, name, function in vars_of:
            setattr(kind, name, _as_of(function, getattr(kind, "__module__", kind.__name__)))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if item.get_closest_marker("unscanned") is not None:
                item.add_marker(pytest.mark.skip("it measures what a scan changes"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Any:
        self.scan.forget()
        into = Path(self.folder.name, f"{os.getpid()}.jsonl")  # each worker has its own
        into.write_bytes(b"")
        os.environ[INTO] = str(into)
        logger = logging.getLogger("singletable")
        logger.addHandler(self.records)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Any:
        try:
            return (yield)
        finally:
            logger = logging.getLogger("singletable")
            logger.removeHandler(self.records)
            for _, kind, text in item._report_sections:
                if kind != "log" and not (kind == "stdout" and item.nodeid.partition("::")[0] in PROGRAMS):
                    self.scan.say(kind, text)
            self._note_metrics()
            leaks = self.scan.leaks()
            self.scan.forget()
            del os.environ[INTO]
            if leaks:
                pytest.fail("said of its data:\n  " + "\n  ".join(leaks), pytrace=False)

    def _note_metrics(self) -> None:
        data = self.reader.get_metrics_data()
        for resource in () if data is None else data.resource_metrics:
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                for point in metric.data.data_points:
                    self.scan.say(f"the metric {metric.name}", dict(point.attributes or {}))
