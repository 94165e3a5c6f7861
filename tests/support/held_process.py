"""`python held_process.py COMMAND ...`: runs a command until whoever holds the other end of its input has ended.

The kernel closes that end however its holder ends, by `kill -9` too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading  # noqa: TID251

_GRACE_SECONDS = 10.0


def main() -> int:
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_holder, args=(process,), daemon=True).start()
    return process.wait()


def _end_with_holder(process: subprocess.Popen[bytes]) -> None:
    os.read(sys.stdin.fileno(), 1)
    process.terminate()
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(main())
