"""The board's server in a process of its own, on files and a port of its own: stopped, killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from examples_shared.testing.nursery import SERVING, Process, start_program
from examples_shared.testing.serving import is_open
from projects.board.callers import DEMO
from projects.service import Service
from singletable import AlreadyExists, connect
from singletable.documents import LocalBlobs

PATIENCE_SECONDS = 60.0
_WARM = ("projects.cli", "projects.board.app", "projects.board.server", *SERVING)


def until(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS, what: str = "it did not happen") -> float:
    """Wait for what other processes do; gives how long it took, in seconds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, f"{what} within {seconds} s"
        time.sleep(0.03)  # noqa: TID251 other processes are waited for
    return time.monotonic() - began


class Server:
    """`serve`, which may run or not. What it says is in `log`."""

    def __init__(self, folder: Path, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.target, self.blobs, self.log = f"local:{folder}/projects.db", folder / "blobs", folder / "log"
        self._options = options
        self._process: Process | None = None

    def start(self) -> None:
        """Until it answers."""
        stores = ["--db", self.target, "--blobs", str(self.blobs)]
        arguments = [*stores, "serve", "--port", str(self.port), *self._options]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PROJECTS_")}
        with self.log.open("a") as out:
            self._process = start_program("projects", *arguments, warm=_WARM, environ=environ, stdout=out, stderr=out)
        until(self._answers, what=f"no answer: {self.log.read_text()}")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        return is_open(self.url) and httpx.get(f"{self.url}/static/mark.svg").is_success

    @property
    def is_demo(self) -> bool:
        return "--auth" not in self._options

    def make(self, project: str) -> None:
        """A board of the demo, where there is none of that id."""
        with connect(self.target) as db, suppress(AlreadyExists):
            Service(db, LocalBlobs(self.blobs)).boards.create(DEMO, project)

    def kill(self) -> None:
        """As a crash does: without a chance to end anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_SECONDS)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """As an operator does; its exit status."""
        assert self._process is not None
        self._process.send_signal(how)
        return self._process.wait(PATIENCE_SECONDS)


@contextmanager
def served(folder: Path, *options: str, boards: Sequence[str] = ()) -> Generator[Server, None, None]:
    """With boards of these ids, of the demo."""
    server = Server(folder, *options)
    try:
        server.start()
        for board in boards:
            server.make(board)
        yield server
    finally:
        server.kill()
