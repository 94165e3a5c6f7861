from __future__ import annotations

from tests.faults.fixtures import kind
from tests.support.emulators import aws_emulator

__all__ = ["aws_emulator", "kind"]
