"""Processes that take all the time they get: what a machine is like on which others work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

LOOPS = 4


@contextmanager
def busy_loops(count: int = LOOPS) -> Generator[None, None, None]:
    """For as long as the block lasts; they are ended by their ids however that ends."""
    with ExitStack() as stack:
        for _ in range(count):
            process = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"], stdin=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield
