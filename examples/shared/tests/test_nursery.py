"""The programs of a nursery end with whoever asked for them, whatever ends it."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

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
