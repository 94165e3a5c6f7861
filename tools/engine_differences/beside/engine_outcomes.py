"""A pytest plugin that runs beside the suite: it keeps the engine running, and notes the outcome of each test.

The environment has the engine's command (ENGINE_COMMAND, JSON), its address (ENGINE_URL) and the file to write to
(ENGINE_OUTCOMES), a JSON object a line. A test that ends the engine is noted as such; the engine is started again on
its file, so the tables of the other tests are still there.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

OF_SCYLLA = frozenset({"scylla_only", "rest_api", "cql", "dynamodb_bug", "metrics", "waits_for_expiration"})
"""Fixtures of tests that AWS does not pass, or only in hours, or that are not about DynamoDB."""
PATIENCE_SECONDS = 30
_EXPECTED = re.compile(r"Expected regex: '.*?(\w+Exception)")
_ACTUAL = re.compile(r"Actual message: .*?\((\w+Exception)\)")


class Engine:
    """The engine's process; `start` waits until it answers."""

    def __init__(self) -> None:
        self.command: list[str] = json.loads(os.environ["ENGINE_COMMAND"])
        self.url = os.environ["ENGINE_URL"]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                with urlopen(self.url, timeout=1):
                    return
            except HTTPError:
                return
            except OSError:
                time.sleep(0.02)  # noqa: TID251  no event loop, and no other way to wait for a process to listen
        pytest.exit("the engine does not start", returncode=3)

    def start_again_if_ended(self) -> bool:
        if self.process.poll() is None:
            return False
        self.start()
        return True

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


class Outcomes:
    """What became of each test."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.found: dict[str, str] = {}

    def pytest_sessionfinish(self) -> None:
        self.engine.stop()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            _note(report.nodeid, "not collected")

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if OF_SCYLLA & set(getattr(item, "fixturenames", ())):
            pytest.skip("of ScyllaDB only")
        for mark in ("skip_env", "skip_bug"):
            if item.get_closest_marker(mark) is not None:
                pytest.skip(mark)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        known = self.found.get(item.nodeid, "")
        if report.failed and call.excinfo is not None:
            known = known or (outcome_of(call.excinfo.value) if report.when == "call" else f"error in {report.when}")
        elif report.skipped or report.when == "call":
            known = known or report.outcome
        if report.when == "teardown" and self.engine.start_again_if_ended():
            known = "ended the engine"
            forget_the_crash()
        self.found[item.nodeid] = known
        if report.when == "teardown":
            _note(item.nodeid, known)
        return report


def outcome_of(error: BaseException) -> str:
    """What the engine did, by the error that ended the test."""
    text = str(error)
    if isinstance(error, pytest.fail.Exception):
        return "accepts what AWS refuses" if text.startswith("DID NOT RAISE") else "failed"
    if "Expected regex" in text:
        expected, actual = _EXPECTED.search(text), _ACTUAL.search(text)
        same = expected is not None and actual is not None and expected[1] == actual[1]
        return "other words of the error" if same else "another error"
    if type(error).__module__.startswith("botocore") or hasattr(error, "operation_name"):
        return "refuses what AWS accepts"
    return "answers otherwise"


def forget_the_crash() -> None:
    """The suite skips every test after a crash, unless it is told that the engine is back."""
    suite: Any = sys.modules.get("test.alternator.conftest")
    if suite is not None:
        suite.dynamodb_test_connection.scylla_crashed = False


def _note(nodeid: str, outcome: str) -> None:
    with open(os.environ["ENGINE_OUTCOMES"], "a") as file:
        file.write(json.dumps({"test": nodeid.rpartition("/")[2], "outcome": outcome}) + "\n")


@contextmanager
def _unset(*settings: object) -> Generator[None]:
    """A setting of ScyllaDB for the length of a test: there is none here, as there is none on AWS."""
    yield


def pytest_configure(config: pytest.Config) -> None:
    util: Any = importlib.import_module("test.alternator.util")
    util.scylla_config_temporary = _unset
    config.pluginmanager.register(Outcomes(), "outcomes of an engine")
