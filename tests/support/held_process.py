"""`python held_process.py COMMAND ...`: runs a command until whoever holds the other end of its input has ended.

The kernel closes that end however its holder ends, by `kill -9` too.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys

_GRACE_SECONDS = 10.0


def main() -> int:
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL) as process:
        poll = select.poll()
        poll.register(sys.stdin.fileno(), select.POLLIN)
        poll.register(os.pidfd_open(process.pid), select.POLLIN)
        poll.poll()
        process.terminate()
        try:
            return process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


if __name__ == "__main__":
    sys.exit(main())
