"""Holding an engine: the connection to its keeper by which this process says that it still needs it.

The kernel closes the connection with this process, however that ends. A forked child lets go of its copy at once.
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
from singletable.local import forks
from singletable.local.start_timeout import Patience

# The keeper gets by with the standard library and three modules of this package, so it does without what the packages'
# `__init__` would import: its start is part of each engine's.
_BOOT = """
import sys
for name, place in zip(("singletable", "singletable.local"), sys.argv[1:3]):
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = [place]
from singletable.local.supervisor import main
main(sys.argv[3:])
"""
_HERE = Path(__file__).parent

# The engine needs no credentials: of the owner's environment it gets what programs and SQLite look for.
_INHERITED = ("PATH", "TMPDIR", "LANG")
_SPAWN_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0
_LONGEST_WORD_BYTES = 8192

_left_running: list[int] = []
"""Keepers that this process started and others hold: to be collected when they have ended."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a keeper says of its engine."""

    pid: int
    """Of the engine's process."""
    wall: str
    url: str
    """Where an exposed engine is reached without its door; else empty."""


class Held:
    """An engine that this process holds, until `stop` or its own end."""

    def __init__(self, line: socket.socket, directory: Path, keeper: subprocess.Popen[bytes] | None = None) -> None:
        """Under `forks.guard`; with a `keeper` this process started it."""
        self.directory = directory
        self.started = keeper is not None
        self._line = line
        self._keeper = keeper
        self._process_id = os.getpid()
        self._stopping = threading.RLock()
        forks.keep_private(self)

    @classmethod
    def start(
        cls,
        command: Sequence[object],
        directory: Path,
        *,
        environ: Mapping[str, str],
        keeps_open: int | None,
        patience: Patience,
    ) -> tuple[Held, Greeting]:
        """A keeper with the arguments `command`; the descriptor `keeps_open` stays open in it and its engine.

        Raises `Unavailable` with what the engine said where it ends or keeps silent.
        """
        _collect()
        with tempfile.TemporaryFile() as said:
            with forks.guard:
                line, its_end = socket.socketpair()
                with its_end:
                    keeper = _spawn(command, its_end, said.fileno(), environ, keeps_open)
                held = cls(line, directory, keeper)
            try:
                word = held._word(_SPAWN_SECONDS + patience.ready_seconds)
            except BaseException:
                held.stop(patience)
                raise
            if word.startswith("ready "):
                return held, _greeting(word)
            held.stop(patience)
            raise _failure(word, os.pread(said.fileno(), _LONGEST_WORD_BYTES, 0).decode(errors="replace"), patience)

    @classmethod
    def attach(cls, directory: Path, seconds: float) -> tuple[Held, Greeting] | None:
        """Hold the engine of the keeper whose sockets lie in `directory`; None where there is none any more."""
        with forks.guard:
            line = socket.socket(socket.AF_UNIX)
            try:
                line.settimeout(seconds)
                with address_of(directory / "line") as address:
                    line.connect(address)
            except OSError:
                line.close()
                return None
            held = cls(line, directory)
        word = held._word(seconds)
        if word.startswith("ready "):
            return held, _greeting(word)
        held.stop(Patience(stop_seconds=0.0))
        return None

    @property
    def is_mine(self) -> bool:
        """False in a forked child of the process that holds it."""
        return self._process_id == os.getpid()

    @property
    def keeper_pid(self) -> int:
        """Of a keeper that this process started."""
        assert self._keeper is not None
        return self._keeper.pid

    @property
    def lasts(self) -> bool:
        """Whether the keeper is there."""
        if self._line.fileno() < 0:
            return False
        return not select([self._line], [], [], 0)[0]

    def release(self) -> None:
        """Have the keeper go on for good, held or not."""
        self._line.sendall(b"release")

    def end(self) -> None:
        """Have the keeper end the engine, whoever else holds it, and let go."""
        with contextlib.suppress(OSError):
            self._line.sendall(b"end")
        forks.stop_keeping(self)
        self._line.close()

    def stop(self, patience: Patience) -> None:
        """Let go; where nobody else holds the engine, wait until it has ended. Nothing in a forked child."""
        with self._stopping:
            if not self.is_mine or self._line.fileno() < 0:
                return
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_WR)
            goes_on = self._word(patience.stop_seconds + _PATIENCE_SECONDS) == "held"
            forks.stop_keeping(self)
            self._line.close()
            self._part(goes_on)

    def forget(self) -> None:
        self._line.close()
        if self._keeper is not None:
            # The parent's child is not this process's: there is nothing to wait for and nothing to warn of.
            self._keeper.returncode = 0

    def _part(self, goes_on: bool) -> None:
        keeper = self._keeper
        if keeper is None:
            return
        if goes_on:
            _left_running.append(keeper.pid)
            keeper.returncode = 0
            return
        # It has ended, or hangs. Its session is empty then, unless it was killed where no kernel ends its engine too.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(keeper.pid, signal.SIGKILL)
        keeper.wait()
        shutil.rmtree(self.directory, ignore_errors=True)  # left by a keeper that was killed

    def _word(self, seconds: float) -> str:
        """A line, or what there is before the end. The end comes when the keeper's does."""
        self._line.settimeout(max(seconds, 0.001))
        text = b""
        with contextlib.suppress(OSError):
            while not (text.startswith(b"ready ") and text.endswith(b"\n")):
                part = self._line.recv(_LONGEST_WORD_BYTES)
                if not part:
                    break
                text += part
        return text.decode(errors="replace")


class address_of(contextlib.AbstractContextManager[str]):  # noqa: N801  (used like a function)
    """A text by which a Unix socket can be reached, also one whose path is longer than an address may be."""

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
    command: Sequence[object], its_end: socket.socket, said: int, environ: Mapping[str, str], keeps_open: int | None
) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise NotConfigured(
            "the embedded engine's keeper needs a Python interpreter, and this program names none",
            hint="Run it with python, or connect to an engine that `singletable local start --exposed` started.",
        )
    boot = [sys.executable, "-I", "-S", "-c", _BOOT, str(_HERE.parent), str(_HERE)]
    try:
        return subprocess.Popen(  # noqa: S603  (this very interpreter)
            [*boot, *map(str, command)],
            stdin=its_end.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=() if keeps_open is None else (keeps_open,),
            env={name: environ[name] for name in _INHERITED if name in environ},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(f"the engine's keeper, {sys.executable}, did not start: {error}") from error


def _greeting(word: str) -> Greeting:
    _, pid, wall, url = word.split()
    return Greeting(int(pid), wall, "" if url == "-" else url)


def _failure(word: str, said: str, patience: Patience) -> Unavailable:
    """The error for a keeper's `failed <kind> <what>`, or for its silence."""
    kind, _, rest = word.removeprefix("failed ").partition(" ")
    what, _, log = rest.partition("\n")
    if kind == "ended":
        return Unavailable(f"the engine ended with exit code {what} before it answered", hint=log)
    if kind == "silent":
        return Unavailable(
            f"the engine on port {what} did not answer within {patience.ready_seconds:g} seconds", hint=log
        )
    return Unavailable(f"the engine did not start: {rest}" if rest else "the engine's keeper did not start", hint=said)


def failure_at_the_door(word: str) -> str:
    """The same as a text, for an engine that can't be started again."""
    return str(_failure(word, "", Patience()))


def _collect() -> None:
    for pid in list(_left_running):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                continue
        _left_running.remove(pid)
