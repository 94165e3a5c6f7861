"""Without what Windows lacks the library runs on the engine in Python: a stand-in for a machine that is not at hand.

The process below hides modules, functions and flags that Windows has not, before it imports the library. Its paths and
its sockets are still those of this system.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.python_engine import EMULATOR
from tools.distributions import PYTHONPATH

ROOT = Path(__file__).parents[2]
RECIPES = sorted(path for path in (ROOT / "examples" / "recipes").glob("[a-z]*.py") if path.stem != "cost_budgets")
"""Without the one that starts pytest, which looks at the console as Windows has it."""
PROGRAMS = (ROOT / "docs" / "tutorial" / "first_table.py", *RECIPES)
QUICK = {"first_table", "stream_handler"}
WITHOUT_POSIX = """
import asyncio, concurrent.futures, ctypes, email, functools, hashlib, html, http.client, importlib.metadata
import inspect, json, logging.handlers, mimetypes, multiprocessing, os, pathlib, platform, random, runpy, select
import shutil, signal, socket, sqlite3, ssl, statistics, subprocess, sys, tempfile, threading, time, urllib.request
import uuid, webbrowser, zoneinfo
for name in ("fcntl", "resource", "termios", "pwd", "grp", "pty", "syslog"):
    sys.modules[name] = None
pair = functools.partial(socket.socketpair, socket.AF_UNIX)
socket.socketpair = lambda *_: pair()  # of the event loop here
for module, names in {
    os: "fork forkpty register_at_fork killpg getuid geteuid statvfs fchmod O_DIRECTORY O_NOFOLLOW O_CLOEXEC O_PATH "
    "setsid getpgid",
    socket: "AF_UNIX recv_fds send_fds MSG_CMSG_CLOEXEC MSG_DONTWAIT SO_REUSEPORT",
    select: "poll epoll",
    signal: "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGALRM SIGCHLD alarm pthread_sigmask pthread_kill setitimer",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "win32"  # the standard library above is that of this system
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize(
    "program",
    [p if p.stem in QUICK else pytest.param(p, marks=pytest.mark.soak) for p in PROGRAMS],
    ids=lambda p: p.stem,
)
def test_a_program_runs(program: Path, tmp_path: Path) -> None:
    environ = {"PYTHONPATH": PYTHONPATH, "SINGLETABLE_ENGINE": str(EMULATOR), "PATH": os.defpath, "HOME": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", WITHOUT_POSIX, str(program)]
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) > 3
