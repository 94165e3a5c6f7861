"""Holding an engine: an open connection to its supervisor keeps the engine running.

The kernel closes the connection when this process ends, however it ends. A forked child closes its copy at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading  # noqa: TID251  (threads may stop one engine at the same time)
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from select import select

from singletable.errors import NotConfigured, Unavailable
from singletable_local import forks
from singletable_local.socket_names import HOLDERS_SOCKET
from singletable_local.timeouts import EngineTimeouts

# The supervisor needs the standard library and five modules of this package only. It is started without what the
# package's `__init__` would import, as its start is part of every engine's start.
_BOOT = """
import sys
sys.modules["singletable_local"] = package = type(sys)("singletable_local")
package.__path__ = sys.argv[1:2]
from singletable_local.supervisor import main
main(sys.argv[2:])
"""
_HERE = Path(__file__).parent

# The engine needs no credentials. It gets the variables that programs and SQLite look for.
_INHERITED = ("PATH", "TMPDIR", "LANG")
_SPAWN_SECONDS = 10.0
_GRACE_SECONDS = 2.0
_LONGEST_MESSAGE_BYTES = 8192

_left_running: list[int] = []
"""Supervisors that this process started and others still hold: waited for when they have ended."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The supervisor's first message to a holder."""

    pid: int
    """The engine's process."""
    isolation: str
    url: str
    """The HTTP address of an exposed engine; else empty."""


class Attachment:
    """An engine that this process holds, until `stop` or its own end."""

    def __init__(
        self, connection: socket.socket, directory: Path, supervisor: subprocess.Popen[bytes] | None = None
    ) -> None:
        """Call it under `forks.guard`. `supervisor` is given where this process started it."""
        self.directory = directory
        self.started = supervisor is not None
        self._connection = connection
        self._supervisor = supervisor
        self._process_id = os.getpid()
        self._stopping = threading.RLock()
        forks.register(self)

    @classmethod
    def start(
        cls,
        command: Sequence[object],
        directory: Path,
        *,
        environ: Mapping[str, str],
        keeps_open: int | None,
        timeouts: EngineTimeouts,
    ) -> tuple[Attachment, Greeting]:
        """Start a supervisor with the arguments `command`; it and its engine inherit the descriptor `keeps_open`.

        Raises `Unavailable` with the engine's output where the engine ends or doesn't answer in time.
        """
        _reap()
        with tempfile.TemporaryFile(dir=directory) as output:
            with forks.guard:
                connection, its_end = socket.socketpair()
                with its_end:
                    supervisor = _spawn(command, its_end, output.fileno(), environ, keeps_open)
                attachment = cls(connection, directory, supervisor)
            try:
                message = attachment._receive(_SPAWN_SECONDS + timeouts.ready_seconds)
            except BaseException:
                attachment.stop(timeouts)
                raise
            if message.startswith("ready "):
                return attachment, _greeting(message)
            attachment.stop(timeouts)
            raise _failure(
                message, os.pread(output.fileno(), _LONGEST_MESSAGE_BYTES, 0).decode(errors="replace"), timeouts
            )

    @classmethod
    def attach(cls, directory: Path, seconds: float) -> tuple[Attachment, Greeting] | None:
        """Hold the engine whose supervisor has its sockets in `directory`; None if it has ended."""
        with forks.guard:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.settimeout(seconds)
                with address_of(directory / HOLDERS_SOCKET) as address:
                    connection.connect(address)
            except OSError:
                connection.close()
                return None
            attachment = cls(connection, directory)
        message = attachment._receive(seconds)
        if message.startswith("ready "):
            return attachment, _greeting(message)
        attachment.stop(EngineTimeouts(stop_seconds=0.0))
        return None

    @property
    def is_mine(self) -> bool:
        """False in a forked child of the process that holds the engine."""
        return self._process_id == os.getpid()

    @property
    def supervisor_pid(self) -> int:
        """The supervisor's process, where this process started it."""
        assert self._supervisor is not None
        return self._supervisor.pid

    @property
    def is_open(self) -> bool:
        """Whether the supervisor is running."""
        if self._connection.fileno() < 0:
            return False
        return not select([self._connection], [], [], 0)[0]

    def keep_running(self) -> None:
        """Have the supervisor go on without holders."""
        self._connection.sendall(b"release")

    def end(self) -> None:
        """Have the supervisor end the engine even though others hold it, and disconnect."""
        with contextlib.suppress(OSError):
            self._connection.sendall(b"end")
        forks.unregister(self)
        self._connection.close()

    def stop(self, timeouts: EngineTimeouts) -> None:
        """Disconnect. Where no holder is left, wait until the engine has ended. Does nothing in a forked child."""
        with self._stopping:
            if not self.is_mine or self._connection.fileno() < 0:
                return
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)
            goes_on = self._receive(timeouts.stop_seconds + _GRACE_SECONDS) == "held"
            forks.unregister(self)
            self._connection.close()
            self._leave(goes_on)

    def close_in_child(self) -> None:
        self._connection.close()
        if self._supervisor is not None:
            # The supervisor is the parent's child: this process can't wait for it, and Popen should not warn.
            self._supervisor.returncode = 0

    def _leave(self, goes_on: bool) -> None:
        supervisor = self._supervisor
        if supervisor is None:
            return
        if goes_on:
            _left_running.append(supervisor.pid)
            supervisor.returncode = 0
            return
        # It has ended, or hangs. Where it was killed, its engine may still run (not on Linux, where it dies with it).
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(supervisor.pid, signal.SIGKILL)
        supervisor.wait()
        shutil.rmtree(self.directory, ignore_errors=True)  # left by a supervisor that was killed

    def _receive(self, seconds: float) -> str:
        """One message of the supervisor; what has arrived where the supervisor ends or `seconds` are over."""
        self._connection.settimeout(max(seconds, 0.001))
        text = b""
        with contextlib.suppress(OSError):
            while not (text.startswith(b"ready ") and text.endswith(b"\n")):
                part = self._connection.recv(_LONGEST_MESSAGE_BYTES)
                if not part:
                    break
                text += part
        return text.decode(errors="replace")


class address_of(contextlib.AbstractContextManager[str]):  # noqa: N801  (used like a function)
    """The address of a Unix socket, also for a path that is longer than an address may be."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._directory = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) <= _LONGEST_ADDRESS_BYTES or sys.platform != "linux":
            return str(self._path)
        self._directory = os.open(self._path.parent, os.O_PATH | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._directory}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        if self._directory >= 0:
            os.close(self._directory)


_LONGEST_ADDRESS_BYTES = 100


def _spawn(
    command: Sequence[object], its_end: socket.socket, output: int, environ: Mapping[str, str], keeps_open: int | None
) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise NotConfigured(
            "the embedded engine's supervisor needs a Python interpreter, and sys.executable is empty",
            hint="Run it with python, or connect to an engine that `singletable local start --exposed` started.",
        )
    boot = [sys.executable, "-I", "-S", "-c", _BOOT, str(_HERE)]
    try:
        return subprocess.Popen(  # noqa: S603  (this interpreter)
            [*boot, *map(str, command)],
            stdin=its_end.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=output,
            pass_fds=() if keeps_open is None else (keeps_open,),
            env={name: environ[name] for name in _INHERITED if name in environ},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(f"the engine's supervisor, {sys.executable}, did not start: {error}") from error


def _greeting(message: str) -> Greeting:
    _, pid, isolation, url = message.split()
    return Greeting(int(pid), isolation, "" if url == "-" else url)


def _failure(message: str, output: str, timeouts: EngineTimeouts) -> Unavailable:
    """The error for a supervisor's message `failed <kind> <what>`, or for no message."""
    kind, _, rest = message.removeprefix("failed ").partition(" ")
    what, _, log = rest.partition("\n")
    if kind == "ended":
        return Unavailable(f"the engine ended with exit code {what} before it answered", hint=log)
    if kind == "silent":
        return Unavailable(
            f"the engine on port {what} did not answer within {timeouts.ready_seconds:g} seconds", hint=log
        )
    return Unavailable(
        f"the engine did not start: {rest}" if rest else "the engine's supervisor did not start", hint=output
    )


def connection_failure(message: str) -> str:
    """The text of the error, for a client that asked for a connection."""
    return str(_failure(message, "", EngineTimeouts()))


def _reap() -> None:
    for pid in list(_left_running):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                continue
        _left_running.remove(pid)
