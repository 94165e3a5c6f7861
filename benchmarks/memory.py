"""The memory that a process holds and held at the most, as Linux counts it for its address space.

Not `getrusage`: its peak is inherited. A program that a big process starts is told the peak of that one.
"""

from __future__ import annotations

from pathlib import Path


def held_bytes() -> int:
    """What this process holds now."""
    return _counted("VmRSS")


def peak_bytes() -> int:
    """The most that it held since it began, or since `forget_peak`."""
    return _counted("VmHWM")


def forget_peak() -> None:
    """The peak is now what is held."""
    Path("/proc/self/clear_refs").write_text("5")


def _counted(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024
