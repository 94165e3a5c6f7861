"""The engine's process, and the supervisor that ends it with its owner.

Theory of operation. Between the owner (this process) and the engine stands a shell that does nothing but wait. It and
the owner hold the two ends of a socket, the lifeline. However the owner ends, by `kill -9` too, the kernel closes its
end; the shell reads end-of-file and ends the engine. `stop` is the same path: it closes the lifeline. A thread's end
closes nothing, and forked children let their copy of the end go at once (`forks`). When the engine ends first, so does
the shell, with the engine's exit code. Told `release`, the shell goes away and leaves the engine running.

The shell's session is its own, so that Ctrl-C in a terminal reaches the owner alone, which may still need the engine.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from singletable.errors import Unavailable
from singletable.local import forks

# Descriptors here: 0 lifeline, 1 lock file, 2 log; the shell moves the first two to 3 and 4. Only the engine keeps 4.
# $1 is the seconds the engine has to end after SIGTERM; $2 a directory to remove after it, or nothing. `kill 0` is the
# shell's own session: engine, waiter, sleep.
_SUPERVISOR = """
exec 3<&0 4>&1 </dev/null >/dev/null
grace=$1
directory=$2
shift 2
tidy() { [ -z "$directory" ] || rm -rf -- "$directory"; }
trap 'kill -TERM "$engine"' TERM INT HUP
"$@" >&2 3<&- &
engine=$!
exec 4>&-
{
  if read -r word <&3 && [ "$word" = release ]; then kill -KILL $$; exit; fi
  kill -TERM "$engine"
  sleep "$grace"
  tidy
  kill -KILL 0
} 2>/dev/null &
waiter=$!
trap '' PIPE
echo "$engine" >&3
wait "$engine"
status=$?
while kill -0 "$engine" 2>/dev/null; do wait "$engine"; status=$?; done
trap '' TERM
kill -KILL "$waiter"
tidy
kill -TERM 0
exit "$status"
"""

_SPAWN_SECONDS = 10.0
_PATIENCE_SECONDS = 2.0
_LONGEST_LOG_BYTES = 4000

# The engine needs no credentials: of the owner's environment it gets what programs and SQLite look for.
_INHERITED = ("PATH", "TMPDIR", "LANG")


class Supervised:
    """A child process that ends with this process, unless it is released."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        grace_seconds: float,
        keeps_open: int | None = None,
        removes: Path | None = None,
    ) -> None:
        """Start `command`. The descriptor `keeps_open` is inherited by it alone; it has `grace_seconds` to end.

        The directory `removes` is deleted when it has ended.
        """
        self._removes = removes
        self._grace_seconds = grace_seconds
        self._owner_pid = os.getpid()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process is)
        with forks.guard:
            self._lifeline, its_end = socket.socketpair()
            forks.keep_private(self)
            with its_end:
                self._shell = self._spawn(command, its_end, environ, keeps_open)
        self.pid = self._read_pid()

    @property
    def is_mine(self) -> bool:
        """False in a forked child of the process that started it."""
        return self._owner_pid == os.getpid()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; over 128 means the signal of that number above 128."""
        return self._shell.poll()

    def log(self) -> str:
        """The last 4,000 bytes it wrote to standard output and standard error."""
        size = os.fstat(self._log.fileno()).st_size
        written = os.pread(self._log.fileno(), _LONGEST_LOG_BYTES, max(0, size - _LONGEST_LOG_BYTES))
        return written.decode(errors="replace").strip()

    def stop(self) -> None:
        """End it and wait until it has ended: SIGTERM, after the grace SIGKILL. Nothing in a forked child."""
        if not self.is_mine:
            return
        self._lifeline.close()
        try:
            self._shell.wait(self._grace_seconds + _PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._shell.pid, signal.SIGKILL)
            self._shell.wait()
        self._close()

    def release(self) -> None:
        """Leave it running for good, past the end of this process."""
        self._lifeline.sendall(b"release\n")
        self._shell.wait(_SPAWN_SECONDS)
        self._close()

    def forget(self) -> None:
        self._lifeline.close()
        self._log.close()
        # The parent's child is not this process's: there is nothing to wait for and nothing to warn of.
        self._shell.returncode = 0

    def _spawn(
        self, command: Sequence[str], its_end: socket.socket, environ: Mapping[str, str], keeps_open: int | None
    ) -> subprocess.Popen[bytes]:
        removes = str(self._removes or "")
        try:
            return subprocess.Popen(  # noqa: S603  (the command is the engine that was found)
                ["/bin/sh", "-c", _SUPERVISOR, "engine-supervisor", f"{self._grace_seconds:g}", removes, *command],
                stdin=its_end.fileno(),
                stdout=subprocess.DEVNULL if keeps_open is None else keeps_open,
                stderr=self._log,
                env={name: environ[name] for name in _INHERITED if name in environ},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            self._close()
            raise Unavailable(f"the engine's supervisor, a /bin/sh, did not start: {error}") from error

    def _close(self) -> None:
        forks.stop_keeping(self)
        self._lifeline.close()
        self._log.close()

    def _read_pid(self) -> int:
        self._lifeline.settimeout(_SPAWN_SECONDS)
        text = b""
        with contextlib.suppress(OSError):
            while not text.endswith(b"\n"):
                part = self._lifeline.recv(32)
                if not part:
                    break
                text += part
        if not text.endswith(b"\n"):
            log = self.log()
            self.stop()
            raise Unavailable("the engine's supervisor did not start", hint=log)
        return int(text)
