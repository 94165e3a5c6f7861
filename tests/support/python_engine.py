"""The engine in Python, in tests: ministack as `requirements/emulators.txt` pins it, which is what the wheel holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable_local import ENGINE_VARIABLE
from tests.support.emulators import PYTHON

_FOLDERS = sorted(PYTHON.parents[1].glob("lib/python3.*/site-packages"))
EMULATOR = _FOLDERS[0] if _FOLDERS else Path("make setup")
"""The folder that holds the package `ministack`."""


@pytest.fixture
def python_engine(monkeypatch: pytest.MonkeyPatch) -> Path:
    """`connect("local")` starts the engine in Python, in this process and those that it starts."""
    monkeypatch.setenv(ENGINE_VARIABLE, str(EMULATOR))
    return EMULATOR
