"""How long to wait for an engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds."""

    ready_seconds: float = 10.0
    """Until it answers; a slow machine opens a file of gigabytes in well under a second."""

    stop_seconds: float = 5.0
    """From SIGTERM to SIGKILL. The engine loses nothing that it acknowledged in either."""
