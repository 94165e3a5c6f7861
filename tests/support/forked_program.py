"""The program `singletable` in processes that begin with its modules imported.

One process imports the program and waits; each run is a fork of it, with arguments, a directory, an environment and
files of its own. What a run leaves out is the start of Python and the imports, most of what a short command takes, and
the end of all that was imported: what is frozen for the collector is not gone through at the end of each run.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

_SECONDS = 60.0
_PROGRAM = """
import gc, importlib, json, os, socket, sys
import singletable.cli.app
from singletable.cli import main

for module in sys.argv[2:]:
    importlib.import_module(module)
gc.collect()
gc.freeze()

def wait(asked):
    while True:
        begin, files, _, _ = socket.recv_fds(asked, 1, 4)
        if not begin:
            os._exit(0)
        child = os.fork()
        if not child:
            asked.close()
            return files
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        asked.sendall(b"%d" % os.waitstatus_to_exitcode(status))

description, *files = wait(socket.socket(fileno=int(sys.argv[1])))
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
with open(description) as file:
    run = json.load(file)
os.chdir(run["cwd"])
os.environ.clear()
os.environ.update(run["environ"])
sys.argv = ["singletable", *run["arguments"]]
main()
"""
"""A fork goes on below `wait`, with descriptors 0 to 2 of its own, and ends as any program does."""


class ForkedProgram:
    """Starts its first process when it is needed; `close` ends it. It imports what some commands import late, too."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: socket.socket | None = None

    def run(
        self, arguments: Sequence[str], *, cwd: Path, environ: Mapping[str, str], stdin: str = ""
    ) -> tuple[str, str, int]:
        """What the program wrote to standard output and to standard error, and its exit code."""
        message = json.dumps({"arguments": arguments, "cwd": str(cwd), "environ": dict(environ)}).encode()
        with TemporaryFile() as description, TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            for file, content in ((description, message), (given, stdin.encode())):
                file.write(content)
                file.seek(0)
            code = self._ask([each.fileno() for each in (description, given, out, err)])
            for each in (out, err):
                each.seek(0)
            return out.read().decode(), err.read().decode(), code

    def close(self) -> None:
        if self._asked is not None:
            self._asked.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._asked = None

    def _ask(self, files: list[int]) -> int:
        asked = self._asked or self._start()
        try:
            socket.send_fds(asked, [b"r"], files)
            answer = asked.recv(16)
        except BaseException:
            self.close()  # its answer would be taken for the next run's
            raise
        if not answer:
            self.close()
            raise AssertionError("the process that runs the program has ended")
        return int(answer)

    def _start(self) -> socket.socket:
        self._asked, its_end = socket.socketpair()
        self._asked.settimeout(_SECONDS)
        with its_end:
            # -P: the program finds nothing in the current directory by itself, as the installed script.
            command = [sys.executable, "-P", "-c", _PROGRAM, str(its_end.fileno()), *self._modules]
            self._process = subprocess.Popen(command, pass_fds=[its_end.fileno()])
        return self._asked
