from __future__ import annotations

from tests.faults.fixtures import clock, engine_url, faults, kind, pytest_runtest_makereport
from tests.support.emulators import aws_emulator

__all__ = ["aws_emulator", "clock", "engine_url", "faults", "kind", "pytest_runtest_makereport"]
