"""Emulators of AWS services beside DynamoDB, as processes of their own on loopback: real HTTP, nothing in this process.

    from tests.support.emulators import aws_emulator

`aws_emulator` is the address of one that a test session starts when it is first needed, and stops.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

PYTHON = Path(__file__).parents[2] / ".venv-emulators" / "bin" / "python"
_PATIENCE_SECONDS = 30.0


@contextmanager
def running_emulator() -> Iterator[str]:
    """The address of an emulator with nothing in it."""
    if not PYTHON.exists():
        pytest.fail("the emulators are not installed: make setup")
    port = _free_port()
    environ = {
        "PATH": os.environ.get("PATH", ""),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "PERSIST_STATE": "0",
        "LOG_LEVEL": "ERROR",
    }
    process = subprocess.Popen(
        [str(PYTHON), "-m", "ministack"], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _await_answer(process, url)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def aws_emulator() -> Iterator[str]:
    """The address of the session's emulator: queues and buckets, each test's under names of its own."""
    with running_emulator() as url:
        yield url


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def _await_answer(process: subprocess.Popen[bytes], url: str) -> None:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < give_up:
        if process.poll() is not None:
            pytest.fail(f"the emulator ended with {process.returncode}")
        try:
            with urlopen(f"{url}/_ministack/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.05)  # noqa: TID251
    pytest.fail("the emulator does not answer")
