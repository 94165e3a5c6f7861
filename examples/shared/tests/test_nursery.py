"""The programs of a nursery end as any program does, and with whoever asked for them, whatever ends it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples_shared.testing.nursery import run_program

_ASKING = """
import os, sys
from examples_shared.testing.nursery import start_program
with open(os.devnull, "wb") as nowhere:
    program = start_program("http.server", "0", "--bind", "127.0.0.1", stdout=nowhere, stderr=nowhere)
print(program.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="programs are no forks of a nursery there")
@pytest.mark.parametrize("is_killed", [True, False])
def test_they_end_with_the_process_that_asked(is_killed: bool) -> None:
    command = [sys.executable, "-c", _ASKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        program = os.pidfd_open(int(asking.stdout.readline()))
        try:
            assert select.select([program], [], [], 0)[0] == []
            if is_killed:
                asking.kill()
            else:
                asking.communicate()
            assert select.select([program], [], [], 30)[0] == [program]
        finally:
            os.close(program)


_ENDING = """
import atexit, threading
atexit.register(print, "what is registered")
threading.Thread(target=lambda: (threading.main_thread().join(), print("a thread"))).start()
"""


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("", 0, b""),
        ("raise SystemExit", 0, b""),
        ("raise SystemExit(3)", 3, b""),
        ("raise SystemExit(-1)", 255, b""),
        ("raise SystemExit('the reason')", 1, b"the reason"),
    ],
)
def test_an_end_is_that_of_any_program(tmp_path: Path, end: str, code: int, said: bytes) -> None:
    """`code` runs the lines that it reads."""
    outputs: list[bytes] = []
    for starts_python in (False, True):
        with (
            (tmp_path / "in").open("w+b") as lines,
            (tmp_path / "out").open("w+b") as out,
            (tmp_path / "err").open("w+b") as err,
        ):
            lines.write(f"{_ENDING}\n{end}\n".encode())
            lines.seek(0)
            files: Any = {"stdin": lines, "stdout": out, "stderr": err}
            assert run_program("code", timeout=30, starts_python=starts_python, **files) == code
            assert said in (tmp_path / "err").read_bytes()
            outputs.append((tmp_path / "out").read_bytes())
    assert outputs[0] == outputs[1]
    assert b"a thread\nwhat is registered\n" in outputs[0]
