"""Python programs in processes that begin with their modules imported.

    process = start_program("goals", "--db", target, "init", warm=["goals.cli"], stdout=PIPE)

It is `python -m goals --db ...` in the folder where the tests were started. One process, the nursery, imports what
programs name as `warm`, and each program is a fork of it: with arguments, an environment and files of its own. It ends
as any program does: threads are waited for, what is registered for the end runs, what was printed is written. What is
left out is the start of Python, the imports, and the end of what was imported: most of what a short program takes.
Where the system has no descriptors of processes, a program starts in the usual way.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

FOLDER = Path.cwd()
"""Where programs run: where the tests were started."""
_HAS_DESCRIPTORS = hasattr(os, "pidfd_open")
_START_SECONDS = 60.0
SERVING = (
    "uvicorn",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)
"""What a web server imports, at last when it begins to serve."""
File = int | IO[Any] | None
"""What Popen takes: PIPE, DEVNULL for an input, a file, or None for that of this process."""


class Program:
    """A fork of the nursery, with that part of Popen's interface which tests take."""

    def __init__(self, control: socket.socket, stdin: IO[bytes] | None, stdout: IO[bytes] | None) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.returncode: int | None = None
        self._control = control
        self.pid = self._told(_START_SECONDS)

    def poll(self) -> int | None:
        """Its return code, once it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = self._told(timeout)
            self._control.close()
        return self.returncode

    def communicate(self) -> tuple[bytes, None]:
        """What it prints until it ends."""
        assert self.stdout is not None
        said = self.stdout.read()
        self.wait()
        return said, None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.stdin, self.stdout):
            if file is not None:
                file.close()
        self.wait()

    def _told(self, seconds: float | None) -> int:
        """A number from the nursery: first the process's id, then its return code."""
        if not select.select([self._control], [], [], seconds)[0]:
            raise subprocess.TimeoutExpired("a program", seconds or 0.0)
        answer = self._control.recv(32)
        assert answer, "the nursery has ended"
        return int(answer)


Process = Program | subprocess.Popen[bytes]


class Nursery:
    """Starts its process when it is needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: socket.socket | None = None
        self._owner = 0

    def ask(self, program: Mapping[str, Any], files: Sequence[int]) -> socket.socket:
        """The socket where the nursery tells of the program that it starts with these three files."""
        if self._asked is None or self._owner != os.getpid():
            self._start()
        assert self._asked is not None
        mine, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its_end:
            socket.send_fds(self._asked, [json.dumps(program).encode()], [*files, its_end.fileno()])
        return mine

    def close(self) -> None:
        """End its process, and programs that still run."""
        if self._asked is not None and self._process is not None and self._owner == os.getpid():
            self._asked.close()
            self._process.wait(_START_SECONDS)
        self._process = self._asked = None

    def _start(self) -> None:
        self._asked, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._owner = os.getpid()
        with its_end:
            environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "examples_shared.testing.nursery_process", str(its_end.fileno())],
                cwd=FOLDER,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its_end.fileno()],
            )


NURSERY = Nursery()
"""Of this process."""


def start_program(
    module: str,
    *arguments: str,
    warm: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    strict: bool = False,
    starts_python: bool = False,
    nursery: Nursery = NURSERY,
    stdin: File = subprocess.DEVNULL,
    stdout: File = None,
    stderr: File = None,
) -> Process:
    """Its `stdin` is empty, if none is given. A program that is `strict` makes errors of its warnings, as
    `-W error` does. One that `starts_python` is not a fork: it has nothing in common with another one.
    """
    own = dict(os.environ if environ is None else environ)
    if starts_python or not _HAS_DESCRIPTORS:
        command = [sys.executable, *(["-W", "error"] if strict else []), "-m", module, *arguments]
        return subprocess.Popen(command, cwd=FOLDER, env=own, stdin=stdin, stdout=stdout, stderr=stderr)
    program = {"module": module, "arguments": arguments, "warm": warm, "environ": own, "strict": strict}
    to_it: IO[bytes] | None = None
    from_it: IO[bytes] | None = None
    with ExitStack() as started:
        files = [stdin, stdout, stderr]
        if stdin == subprocess.DEVNULL:
            files[0] = started.enter_context(open(os.devnull, "rb"))
        elif stdin == subprocess.PIPE:
            reads, to_it = _pipe()
            files[0] = started.enter_context(reads)
        if stdout == subprocess.PIPE:
            from_it, writes = _pipe()
            files[1] = started.enter_context(writes)
        numbers = [_number_of(file, place) for place, file in enumerate(files)]
        return Program(nursery.ask(program, numbers), to_it, from_it)


def run_program(module: str, *arguments: str, timeout: float, **options: Any) -> int:
    """Its return code. It is killed where it takes longer; raises TimeoutExpired."""
    with start_program(module, *arguments, **options) as process:
        try:
            return process.wait(timeout)
        finally:
            process.kill()


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    """What is read from, and what is written to at once."""
    read, write = os.pipe()
    return open(read, "rb"), open(write, "wb", 0)


def _number_of(file: File, place: int) -> int:
    return place if file is None else file if isinstance(file, int) else file.fileno()
