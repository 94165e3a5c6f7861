"""The times to wait for an engine, and between its upkeep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineTimeouts:
    """In seconds."""

    ready_seconds: float = 10.0
    """Until the engine answers. A slow machine opens a file of gigabytes in well under a second."""

    stop_seconds: float = 5.0
    """From SIGTERM to SIGKILL. The engine loses no acknowledged write in either case."""

    sweep_seconds: float = 600.0
    """From the start to the first removal of what expired two days ago, and between two; 0 for none."""
