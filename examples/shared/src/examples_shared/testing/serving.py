"""An application's web server in a process of its own, on a free port."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from examples_shared.testing.nursery import SERVING, Process, start_program

PATIENCE_SECONDS = 45


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@contextmanager
def serving(module: str, target: str, log: Path, command: str, *options: str) -> Generator[str, None, None]:
    """The address of a command that serves, as `serve`, from when it answers; what it says is in `log`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["--db", target, command, "--port", str(port), *options]
    warm = [f"{module}.cli", f"{module}.api", *SERVING]
    with log.open("wb") as out:
        process = start_program(module, *arguments, warm=warm, stdout=out, stderr=out)
        try:
            _wait(f"{url}/static/mark.svg", process, log)
            yield url
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def is_open(url: str) -> bool:
    """Whether somebody listens there. It takes a thousandth of what a request by a new client takes."""
    at = urlsplit(url)
    with socket.socket() as asked:
        return asked.connect_ex((at.hostname or "127.0.0.1", at.port or 80)) == 0


def _wait(url: str, process: Process, log: Path) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        if is_open(url):
            httpx.get(url)
            return
        time.sleep(0.05)  # noqa: TID251 a process is waited for
    raise AssertionError(f"{url} does not answer: {log.read_text()}")
