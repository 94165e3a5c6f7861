"""`python -m examples_shared.testing.nursery_process DESCRIPTOR`: the process that forks the programs of `nursery`.

It is asked over a socket, with four descriptors each time: the program's three files, and the socket where it is told
of the program: its id, then, when it has ended, its return code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading  # noqa: TID251  (a program may have threads)
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

_LARGEST_BYTES = 1 << 17


class Nursery:
    """The programs that run, each with the socket where its end is told."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._running: dict[int, tuple[int, socket.socket]] = {}
        self._poll = select.poll()
        self._poll.register(asked, select.POLLIN)

    def fork_what_is_asked(self) -> dict[str, Any]:
        """Returns in each fork, with what was asked for. The nursery itself ends with the process that asks, and so do
        its programs."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._running:
                    self._tell_the_end_of(descriptor)
                elif program := self._fork():
                    return program

    def _fork(self) -> dict[str, Any] | None:
        message, files, _, _ = socket.recv_fds(self._asked, _LARGEST_BYTES, 4)
        if not message:  # whoever asks has ended, or was killed: nobody else ends its programs
            for process, _ in self._running.values():
                os.kill(process, signal.SIGKILL)
            os._exit(0)
        program: dict[str, Any] = json.loads(message)
        _import(program["warm"])
        process = os.fork()
        if not process:
            self._become(files)
            return program
        for file in files[:3]:
            os.close(file)
        control = socket.socket(fileno=files[3])
        descriptor = os.pidfd_open(process)
        self._running[descriptor] = process, control
        self._poll.register(descriptor, select.POLLIN)
        _tell(control, process)
        return None

    def _become(self, files: list[int]) -> None:
        """In the fork: its files in their places, and none of the others'."""
        self._asked.close()
        for descriptor, (_, control) in self._running.items():
            os.close(descriptor)
            control.close()
        for number, file in enumerate(files[:3]):
            os.dup2(file, number)
        for file in files:
            os.close(file)

    def _tell_the_end_of(self, descriptor: int) -> None:
        process, control = self._running.pop(descriptor)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        with control:
            _tell(control, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def _import(names: list[str]) -> None:
    """A program that fails at an import does so itself."""
    if all(name in sys.modules for name in names):
        return
    for name in names:
        with suppress(Exception):
            import_module(name)
    gc.collect()
    gc.freeze()


def _tell(control: socket.socket, number: int) -> None:
    with suppress(OSError):  # nobody waits for it any more
        control.send(b"%d" % number)


def _run(program: dict[str, Any]) -> None:
    gc.enable()
    os.environ.clear()
    os.environ.update(program["environ"])
    sys.argv[1:] = program["arguments"]
    if program["strict"]:
        warnings.simplefilter("error")
    try:
        runpy.run_module(program["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        _end(ended.code)
        raise
    _end(None)


def _end(code: object) -> None:
    """End the process, except where Python has an error to print. It does what Python does at its end, but leaves the
    modules: to take them down would copy every page of theirs, most of what a short program takes."""
    if code is not None and not isinstance(code, int):
        return
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads
    atexit._run_exitfuncs()
    gc.collect()
    with suppress(OSError, ValueError):  # nobody reads what it prints: Python says so
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    gc.disable()
    _run(Nursery(socket.socket(fileno=int(sys.argv[1]))).fork_what_is_asked())
