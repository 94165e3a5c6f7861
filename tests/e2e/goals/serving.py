"""The web application in a process of its own, on a free port."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.commandline import ROOT


@contextmanager
def served(target: str, log: Path, user_id: str | None = None, secret: str = "") -> Generator[str, None, None]:
    """The address of `serve`, while it runs; every request is that user's, or theirs whose token it has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "examples.goals", "--db", target, "serve", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with log.open("w") as out:
        who = ["--secret", secret] if user_id is None else ["--insecure-user", user_id]
        process = subprocess.Popen([*command, *who], cwd=ROOT, stdout=out, stderr=out)
        try:
            _wait(url, process, log)
            yield url
        finally:
            process.terminate()
            process.wait(20)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            httpx.get(f"{url}/static/mark.svg")
        except httpx.TransportError:
            time.sleep(0.05)  # noqa: TID251 a process is waited for
        else:
            return
    raise AssertionError(f"{url} does not answer: {log.read_text()}")
