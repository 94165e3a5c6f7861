"""A pytest plugin that writes which test runs which lines, and how long each test takes.

Loaded by `python -m tools.mutants map`, in each of pytest's processes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

FOLDER_VARIABLE = "SINGLETABLE_MUTANTS_FOLDER"
MEASURED_VARIABLE = "SINGLETABLE_MUTANTS_MEASURED"


class Contexts:
    def __init__(self, folder: Path, measured: list[str]) -> None:
        self.folder = folder
        self.seconds: dict[str, float] = {}
        self.coverage = coverage.Coverage(str(folder / "lines"), data_suffix=True, include=measured)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.coverage.switch_context(item.nodeid)
        result = yield
        self.coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed:
            self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_unconfigure(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        (self.folder / f"seconds-{os.getpid()}.json").write_text(json.dumps(self.seconds))


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return  # its workers run the tests
    config.pluginmanager.register(
        Contexts(Path(os.environ[FOLDER_VARIABLE]), json.loads(os.environ[MEASURED_VARIABLE]))
    )
