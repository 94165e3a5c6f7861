"""Other processes for these tests: children that use an engine, and the wait until a process is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from singletable.local.waiting import wait_until

SOURCE = Path(__file__).parents[3] / "src"
LONG_SECONDS = 20.0


def child_python(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A Python that runs `code` with the library at hand, its standard input and output in our hands."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )


def line_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    line = child.stdout.readline().strip()
    assert line, f"the child said nothing and ended with {child.poll()}"
    return line


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


def runs(pid: int) -> bool:
    """Whether the process runs: not gone, and not a body that nobody has collected."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def ends(pid: int) -> bool:
    return bool(wait_until(lambda: not runs(pid), LONG_SECONDS))


def processes_of_session(session: int) -> list[int]:
    """The running processes whose session is `session`: a supervisor, its waiter and its engine."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if runs(pid) and _session(pid) == session]


def session_of(pid: int) -> int:
    return os.getsid(pid)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0
