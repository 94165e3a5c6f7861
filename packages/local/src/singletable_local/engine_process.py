"""The engine's process, a child of the supervisor: it is started, waited for, stopped and started again."""

from __future__ import annotations

import os
import time

from singletable_local.isolation import die_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TERM, KILL = 15, 9
_LONGEST_LOG_BYTES = 4000
_PAUSE_SECONDS = 0.001


class EngineEnded(Exception):
    """The engine can't be started. `attachment` turns `kind` into an error message."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind} {what}")


class Process:
    """An engine's process on one data file; at most one runs at a time."""

    def __init__(self, binary: str, data: str, log: str, *, ready_seconds: float) -> None:
        self.pid = 0
        """The process that runs, or the last one."""
        self.epoch = ""
        """A new name for each start."""
        self.runs = False
        self._binary = binary
        self._data = data
        self._log = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._ready_seconds = ready_seconds
        self._exit_code = 0

    def start(self, host: str, port: int, pause: Callable[[], None]) -> None:
        """Start it, and wait until it reports that it listens. Afterwards `runs` is False if the address is taken.

        Raises `EngineEnded`, and what `pause` raises.
        """
        os.ftruncate(self._log, 0)
        command = [self._binary, "serve", "--host", host, "--port", str(port), "--db-path", self._data]
        self.pid, self.epoch, self.runs = _spawn(command, self._log), os.urandom(8).hex(), True
        deadline = time.monotonic() + self._ready_seconds
        while "listening on" not in self._output():
            if not self.still_runs():
                if "already in use" in self._output():
                    return
                raise EngineEnded("ended", f"{self._exit_code}\n{self._output()}")
            if time.monotonic() > deadline:
                self.stop(0.0)
                raise EngineEnded("silent", f"{port}\n{self._output()}")
            pause()

    def still_runs(self) -> bool:
        """Check the process now."""
        if self.runs:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.runs = False
                code = os.waitstatus_to_exitcode(status)
                self._exit_code = code if code >= 0 else 128 - code
        return self.runs

    def stop(self, grace_seconds: float) -> None:
        """Send SIGTERM, and SIGKILL after `grace_seconds`. Does nothing where it has ended."""
        if not self.still_runs():
            return
        os.kill(self.pid, TERM)
        deadline = time.monotonic() + grace_seconds
        while self.still_runs() and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)  # noqa: TID251  (this process has nothing else to do)
        if self.runs:
            os.kill(self.pid, KILL)
            os.waitpid(self.pid, 0)
            self.runs = False

    def _output(self) -> str:
        start = max(0, os.fstat(self._log).st_size - _LONGEST_LOG_BYTES)
        return os.pread(self._log, _LONGEST_LOG_BYTES, start).decode(errors="replace").strip()


def _spawn(command: list[str], log: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.execv(command[0], command)  # noqa: S606  (the engine that was found)
    except OSError as error:
        os.write(log, f"{command[0]}: {error}".encode())
    finally:
        os._exit(127)
