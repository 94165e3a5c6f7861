"""The engine in Python, for a machine for which the binary is not built: in memory, in a process of its own.

    with PythonEngine.start(emulator, environ) as engine: ...   # engine.url is http://127.0.0.1:<port>

`python_server` is what runs in the process. Neither uses what only POSIX has.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading  # noqa: TID251  (a timer ends a process that does not listen in time)
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from singletable.errors import NotConfigured, Unavailable
from singletable_local import forks
from singletable_local.timeouts import EngineTimeouts

_INHERITED = ("PATH", "TMPDIR", "LANG", "SYSTEMROOT")
"""Windows opens no socket without SYSTEMROOT."""
_LONGEST_OUTPUT_BYTES = 8192


class PythonEngine:
    """A running engine, held by this process: it ends with `stop`, as garbage, or with this process.

    A forked child may use it, and does not hold it.
    """

    data: None = None
    """It has no file."""

    def __init__(self, process: _ServerProcess, port: int) -> None:
        """Use `PythonEngine.start`."""
        self.url = f"http://127.0.0.1:{port}"
        self.pid = process.pid
        self._stop = weakref.finalize(self, process.end)

    @classmethod
    def start(
        cls,
        emulator: Path,
        environ: Mapping[str, str],
        timeouts: EngineTimeouts = EngineTimeouts(),  # noqa: B008  (frozen)
    ) -> PythonEngine:
        """Start an engine with the package `ministack` in the folder `emulator`, and wait until it listens.

        Raises `Unavailable` with its output if it does not listen within `timeouts.ready_seconds`.
        """
        with tempfile.TemporaryFile() as output:
            process = _ServerProcess(emulator, output, environ, timeouts.stop_seconds)
            port = process.port(timeouts.ready_seconds)
            if port is not None:
                return cls(process, port)
            process.end()
            output.seek(0)
            log = output.read(_LONGEST_OUTPUT_BYTES).decode(errors="replace").strip()
        raise Unavailable(f"the engine in Python, from {emulator}, did not start", hint=log)

    def stop(self) -> None:
        """End it, and wait until it has ended. Does nothing in a forked child, or a second time."""
        self._stop()

    def __enter__(self) -> PythonEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<PythonEngine {self.url}>"


class _ServerProcess:
    """The server's process. It ends when the pipe to it is closed, as the system does where this process ends."""

    def __init__(self, emulator: Path, output: BinaryIO, environ: Mapping[str, str], stop_seconds: float) -> None:
        self._stop_seconds = stop_seconds
        with forks.guard:
            self._process = _spawn(emulator, output, environ)
            forks.register(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    def port(self, seconds: float) -> int | None:
        """The port that it prints; None where it ends before, or has printed none in time."""
        killed = threading.Timer(seconds, self._process.kill)
        killed.start()
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        finally:
            killed.cancel()
        return int(line) if line.strip().isdigit() else None

    def end(self) -> None:
        """Does nothing in a forked child, whose pipes are closed and for which the process has ended."""
        forks.unregister(self)
        self._close_pipes()
        try:
            self._process.wait(self._stop_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close_in_child(self) -> None:
        self._close_pipes()
        self._process.returncode = 0  # it is the parent's child: Popen can't wait for it here, and should not warn

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # it has ended
                pipe.close()


def _spawn(emulator: Path, output: BinaryIO, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise NotConfigured(
            "the engine in Python needs a Python interpreter, and sys.executable is empty", hint="Run it with python."
        )
    source = pkgutil.get_data("singletable_local", "python_server.py")  # from an archive too
    assert source is not None
    try:
        return subprocess.Popen(  # noqa: S603  (this interpreter)
            [sys.executable, "-I", "-S", "-c", source.decode(), str(emulator)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            env={name: environ[name] for name in _INHERITED if name in environ},
            cwd=os.path.abspath(os.sep),
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(
            f"the engine in Python did not start: {error}", hint=f"See that {sys.executable} can be run."
        ) from error
