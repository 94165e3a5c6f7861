"""`pytest --forks 4`: tests in processes that are forks of the one that has collected them.

What a process of pytest-xdist does before its first test, to import and to collect, takes as long as a thousand tests,
and each of them does it. Here one process does it, and forks the others. A worker that has nothing to do is given the
next unit of `spreading`, a file or a folder: what its tests share is made once.

The parent runs no test: it hands out units, and prints what workers tell. Where a worker dies, its test fails, and a
new fork goes on with the rest. Each worker has temporary folders and captured output of its own; `pytest_worker_begins`
of a plugin gives it what else workers must not share, and `pytest_unconfigure` takes that away in each.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

import pytest

from tests.support.spreading import unit_of

OPTION = "forks"
_INTERRUPTED = 130
_ORPHANED = 3


class Hooks:
    """What `--forks` asks of plugins."""

    @pytest.hookspec
    def pytest_worker_begins(self, config: pytest.Config) -> None:
        """In a worker, before its first test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(f"--{OPTION}", type=int, default=0, metavar="N", help="run the tests in N forks of this process")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = session.config.getoption(OPTION)
    if not count or session.config.option.collectonly or session.testsfailed or not session.items:
        return None
    Forks(session, units_of(item.nodeid for item in session.items)).run(count)
    return True


def units_of(nodeids: Iterable[str]) -> list[list[int]]:
    """The places of the tests that one worker runs one after another."""
    return [[place for place, _ in tests] for _, tests in groupby(enumerate(nodeids), lambda test: unit_of(test[1]))]


class Worker:
    """A fork, as its parent sees it."""

    def __init__(self, session: pytest.Session, number: int, others: Iterable[Worker]) -> None:
        self.number = number
        self.left: deque[int] = deque()
        """The tests that have not ended: the first of them runs."""
        self.channel, its_end = Pipe()
        self.process = os.fork()
        if not self.process:
            for channel in (self.channel, *(other.channel for other in others)):
                channel.close()
            _run_as_worker(session, number, its_end)
        its_end.close()

    def take(self, tests: Sequence[int]) -> None:
        """Give it a unit; an empty one is its end."""
        self.left.extend(tests)
        with suppress(OSError):  # it has died, as the end of its channel says
            self.channel.send(list(tests))

    def interrupt(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGINT)

    def wait(self) -> str:
        """How it ended."""
        self.channel.close()
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        return f"signal {-status}" if status < 0 else f"status {status}"


class Forks:
    """The parent: which tests are left, and who runs which."""

    def __init__(self, session: pytest.Session, units: Iterable[Sequence[int]]) -> None:
        self._session, self._hook = session, session.config.hook
        self._units = deque(units)
        self._workers: dict[Connection, Worker] = {}

    def run(self, count: int) -> None:
        printer: Any = self._session.config.pluginmanager.getplugin("terminalreporter")
        if printer is not None:
            printer.showfspath = False  # tests of several files end in turn
        folders: Any = self._session.config
        folders._tmp_path_factory.getbasetemp()  # the workers' are in it
        try:
            for number in range(min(count, len(self._units))):
                self._begin(number, self._units.popleft())
            while self._workers:
                for channel in wait([*self._workers]):
                    assert isinstance(channel, Connection)
                    self._hear(self._workers[channel])
        finally:
            for worker in self._workers.values():
                worker.interrupt()
            for worker in self._workers.values():
                worker.wait()

    def _begin(self, number: int, tests: Sequence[int]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        worker = Worker(self._session, number, self._workers.values())
        self._workers[worker.channel] = worker
        worker.take(tests)

    def _hear(self, worker: Worker) -> None:
        try:
            reports, noted = worker.channel.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        self._tell(worker, reports, noted)
        if worker.left:
            worker.left.popleft()
            if not worker.left:
                worker.take(self._units.popleft() if self._units else [])
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _tell(self, worker: Worker, reports: Sequence[dict[str, Any]], noted: Sequence[dict[str, Any]]) -> None:
        """What pytest tells its plugins of a test."""
        for warning in noted:
            self._hook.pytest_warning_recorded.call_historic(kwargs=warning)
        item = self._session.items[worker.left[0]] if worker.left else None
        if item:
            self._hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = self._hook.pytest_report_from_serializable(config=self._session.config, data=data)
            self._hook.pytest_runtest_logreport(report=report)
        if item:
            self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _bury(self, worker: Worker) -> None:
        """It has ended. Where it had not run all its tests, the one that it ran fails; else the run does, for an error
        at its end, which it has printed."""
        del self._workers[worker.channel]
        how = worker.wait()
        if not worker.left:
            self._session.testsfailed += how != "status 0"
            return
        item = self._session.items[worker.left[0]]
        failed = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", f"worker {worker.number} ended with {how}", "call"
        )
        self._tell(worker, [self._hook.pytest_report_to_serializable(config=item.config, report=failed)], [])
        worker.left.popleft()
        rest = [*worker.left] or (self._units.popleft() if self._units else [])
        if rest:
            self._begin(worker.number, rest)


class Teller:
    """In a worker: sends what happened in each test, when it has ended."""

    def __init__(self, config: pytest.Config, channel: Connection) -> None:
        self._config, self._channel = config, channel
        self._reports: list[dict[str, Any]] = []
        self._noted: list[dict[str, Any]] = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    @pytest.hookimpl
    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        told = warnings.WarningMessage(
            f"{warning_message.category.__name__}: {warning_message.message}",
            UserWarning,
            warning_message.filename,
            warning_message.lineno,
        )
        self._noted.append({"warning_message": told, "when": when, "nodeid": nodeid, "location": location})

    def send(self) -> None:
        self._channel.send((self._reports, self._noted))
        self._reports, self._noted = [], []


def _run_as_worker(session: pytest.Session, number: int, channel: Connection) -> NoReturn:
    """Ends the process: nothing of the parent's own end happens here."""
    status = 1
    try:
        _work(session, number, channel)
        status = 0
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except (EOFError, BrokenPipeError):
        status = _ORPHANED
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            session.config._ensure_unconfigure()
        except BaseException:
            traceback.print_exc()
            status = status or 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _work(session: pytest.Session, number: int, channel: Connection) -> None:
    config: Any = session.config
    _part_from_parent(config, number)
    teller = Teller(config, channel)
    config.pluginmanager.register(teller)
    config.hook.pytest_worker_begins(config=config)
    last: pytest.Item | None = None
    try:
        while tests := channel.recv():
            items = [session.items[place] for place in tests]
            for item, after in zip(items, [*items[1:], session], strict=True):
                last = item
                config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                teller.send()
    finally:
        if last:
            _end_session_fixtures(last)
    teller.send()


def _part_from_parent(config: Any, number: int) -> None:
    """Prints nothing, and captures and keeps files apart."""
    printer = config.pluginmanager.getplugin("terminalreporter")
    if printer is not None:
        printer._tw._file = open(os.devnull, "w")  # noqa: SIM115  (until the end)
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
    folders = config._tmp_path_factory
    folders._basetemp = folders._basetemp / f"worker-{number}"
    folders._basetemp.mkdir(mode=0o700, exist_ok=True)


def _end_session_fixtures(last: pytest.Item) -> None:
    """An error there is told as one of the last test, as pytest does."""
    call = pytest.CallInfo.from_call(lambda: last.session._setupstate.teardown_exact(None), when="teardown")
    if call.excinfo:
        report = last.ihook.pytest_runtest_makereport(item=last, call=call)
        last.ihook.pytest_runtest_logreport(report=report)
