"""How long a program takes until it has a client: the import and the first client, in a fresh interpreter each time.

Timed inside the interpreter, from its first statement on: what Python itself takes to start is the same for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.measure import Samples, environment

_FRAME: Final = """
import json, time
began, began_cpu = time.perf_counter(), time.process_time()
{statements}
print(json.dumps({{"cpu": time.process_time() - began_cpu, "wall": time.perf_counter() - began}}))
"""
STARTS: Final[Mapping[str, str]] = {
    "singletable": 'import singletable; db = singletable.connect("aws")',
    "singletable_local": 'import singletable; db = singletable.connect("http://127.0.0.1:1")',
    "boto3": 'import boto3; client = boto3.client("dynamodb")',
    "pydynox": "import pydynox; client = pydynox.DynamoDBClient()",
}


def run(rounds: int, say: Callable[[str], None]) -> dict[str, Samples]:
    """Microseconds by library; one fresh interpreter each a round, in turn."""
    say("import and first client, in fresh interpreters")
    samples = {name: Samples() for name in STARTS}
    for number in range(rounds + 1):
        for name, statements in STARTS.items():
            answer = _start(statements)
            if number:  # the first fills the disk's cache and writes the bytecode
                samples[name].add(answer, 1)
    return samples


def _start(statements: str) -> Mapping[str, float]:
    command = [sys.executable, "-c", _FRAME.format(statements=statements)]
    done = subprocess.run(command, env=environment(), check=True, capture_output=True, text=True)
    answer: Mapping[str, float] = json.loads(done.stdout)
    return answer
