"""Decoders of one struct, made by several threads at once."""

from __future__ import annotations

import subprocess
import sys

_THREADS = """
import sys, threading
import msgspec
from singletable.operations.answers import GetAnswer, ItemsAnswer, decoder

sys.setswitchinterval(1e-6)
body = {f"a{n}": {"S": "x"} for n in range(20)}
one, many = msgspec.json.encode({"Item": body}), msgspec.json.encode({"Items": [body] * 3})
for number in range(400):
    text = msgspec.defstruct("Text", [("S", str)])
    wire = msgspec.defstruct("Wire", [(f"a{n}", text) for n in range(20)])
    together = threading.Barrier(4)

    def read(odd):
        together.wait()
        decoder(ItemsAnswer, wire)(many) if odd else decoder(GetAnswer, wire)(one)

    threads = [threading.Thread(target=read, args=(n % 2,)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print("whole")
"""


def test_threads_that_read_a_new_class_first_do_not_crash() -> None:
    """In a process of its own, which such a crash would end."""
    done = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "whole"), done.stderr[-500:]
