"""A server of sync as a child process, on files that outlive it."""

from __future__ import annotations

import socket
import threading  # noqa: TID251
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from examples_shared.testing.nursery import Process
from examples_shared.testing.serving import is_open
from tests.support.children import child
from tests.sync import processes

PATIENCE_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


class Server:
    """The child process; started again and again on the same files."""

    def __init__(self, folder: Path, serve: Callable[[str, str, str], None] = processes.serve) -> None:
        self.folder, self.serve, self.port = folder, serve, free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Generator[Process, None, None]:
        with child(self.serve, f"local:{self.folder}/db", f"{self.folder}/blobs", str(self.port)) as process:
            self._wait(process)
            yield process

    def _wait(self, process: Process) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and process.poll() is None:
            if is_open(self.url):
                return
            threading.Event().wait(0.02)
        raise AssertionError("the server did not start")
