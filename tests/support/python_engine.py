"""The engine in Python, in tests: ministack as `requirements/emulators.txt` pins it, which is what the wheel holds."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from singletable_local import ENGINE_VARIABLE
from singletable_local.python_engine import PythonEngine
from tests.support.emulators import PYTHON

_FOLDERS = sorted(PYTHON.parents[1].glob("lib/python3.*/site-packages"))
EMULATOR = _FOLDERS[0] if _FOLDERS else Path("make setup")
"""The folder that holds the package `ministack`."""


class InPython:
    """The engine in Python as one of the engines that tests run on."""

    @contextmanager
    def running(self) -> Generator[str]:
        """The address of one with nothing in it."""
        with PythonEngine.start(EMULATOR, os.environ) as engine:
            yield engine.url


@pytest.fixture
def python_engine(monkeypatch: pytest.MonkeyPatch) -> Path:
    """`connect("local")` starts the engine in Python, in this process and those that it starts."""
    monkeypatch.setenv(ENGINE_VARIABLE, str(EMULATOR))
    return EMULATOR
