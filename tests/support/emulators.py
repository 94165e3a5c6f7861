"""Emulators of AWS services, as processes of their own on loopback: real HTTP, nothing in this process.

    from tests.support.emulators import aws_emulator

`aws_emulator` is the address of one that a test session starts when it is first needed, and stops. Which of them the
tests run on as their engine is `tests/support/engines.py`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-emulators" / "bin" / "python"
DYNALITE = ROOT / "node_modules" / ".bin" / "dynalite"
GATEWAY_VARIABLE = "SINGLETABLE_GATEWAY"
"""Set by `tools/aws`: the address at which a run's tests find every service."""
_PATIENCE_SECONDS = 30.0
_HELD = (sys.executable, "-I", "-S", str(Path(__file__).with_name("held_process.py")))


@dataclass(frozen=True)
class Emulator:
    """How an emulator is started, and where it says that it is ready."""

    program: Path
    arguments: Callable[[int], Sequence[str]]
    """The command's, for a port."""
    health: str
    environ: Callable[[int], Mapping[str, str]] = field(default=lambda port: {})

    @contextmanager
    def running(self) -> Generator[str]:
        """The address of one with nothing in it; it ends with the block, and with this process."""
        if not self.program.exists():
            pytest.fail(f"{self.program} is not installed: make setup")
        port = _free_port()
        process = subprocess.Popen(
            [*_HELD, str(self.program), *self.arguments(port)],
            stdin=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", ""), **self.environ(port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _await_answer(process, f"{url}{self.health}")
            yield url
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(_PATIENCE_SECONDS)


def _ministack_settings(port: int) -> Mapping[str, str]:
    return {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port), "PERSIST_STATE": "0", "LOG_LEVEL": "ERROR"}


MINISTACK = Emulator(PYTHON, lambda port: ["-m", "ministack"], "/_ministack/health", _ministack_settings)
MOTO = Emulator(PYTHON, lambda port: ["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], "/moto-api/")
_AT_ONCE = ("--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0")
DYNALITE_SERVER = Emulator(DYNALITE, lambda port: ["--host", "127.0.0.1", "--port", str(port), *_AT_ONCE], "/")


@contextmanager
def running_emulator() -> Generator[str]:
    """The address of an emulator of queues and buckets with nothing in it; under `tools.aws`, its gateway's."""
    if gateway := os.environ.get(GATEWAY_VARIABLE):
        yield gateway
        return
    with MINISTACK.running() as url:
        yield url


class Shared:
    """What `start` gives, for all who hold it at a time: the first starts it, the last ends it."""

    def __init__(self, start: Callable[[], AbstractContextManager[str]]) -> None:
        self._start = start
        self._running = ExitStack()
        self._url = ""
        self._holders = 0

    @contextmanager
    def held(self) -> Generator[str]:
        if not self._holders:
            self._url = self._running.enter_context(self._start())
        self._holders += 1
        try:
            yield self._url
        finally:
            self._holders -= 1
            if not self._holders:
                self._running.close()


_OF_THE_SESSION = Shared(running_emulator)


@pytest.fixture(scope="session")
def aws_emulator() -> Generator[str]:
    """The address of the session's emulator: queues and buckets, each test's under names of its own.

    pytest has a fixture for each module and folder that imports this one: all of them hold one emulator.
    """
    with _OF_THE_SESSION.held() as url:
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
            with urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.05)  # noqa: TID251
    pytest.fail("the emulator does not answer")
