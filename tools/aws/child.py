"""pytest as a process of its own, on the tests and the address of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading  # noqa: TID251
from collections.abc import Mapping, Sequence
from typing import IO

from tests.support.emulators import GATEWAY_VARIABLE

_GRACE_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_CHUNK_BYTES = 1 << 16
OPTIONS = ("-q", "-m", "not soak", "-p", "tools.aws.plugin", "-p", "no:cacheprovider", "--tb=short", "--timeout=600")


def run_tests(engine: str, url: str, tests: Sequence[str], stop: threading.Event, *, quiet: bool = False) -> int:
    """pytest's status, with `--engine` of that name. When `stop` is set, the process ends; none of it stays.

    What it prints after that is not shown: pages of tracebacks of the test that was under way.
    """
    command = [sys.executable, "-m", "pytest", *OPTIONS, "--engine", engine, *tests]
    command += ["--color=yes"] if sys.stdout.isatty() else []
    process = subprocess.Popen(
        command,
        env=_environ(url, os.environ),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    shown = threading.Event()
    if not quiet:
        shown.set()
    reader = threading.Thread(target=_show, args=(process.stdout, shown), daemon=True)
    reader.start()
    try:
        while process.poll() is None and not stop.wait(_LOOK_SECONDS):
            continue
        if process.poll() is None:
            shown.clear()
            process.send_signal(signal.SIGINT)
            process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(_LOOK_SECONDS if process.returncode < 0 else None)
    return process.returncode


def _show(output: IO[bytes], shown: threading.Event) -> None:
    """Print what comes, for as long as it is to be shown."""
    with output:
        while said := os.read(output.fileno(), _CHUNK_BYTES):
            if shown.is_set():
                os.write(1, said)


def _environ(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Without the account's keys: what signs is the gateway alone. Each property is tried with few examples."""
    kept = {name: value for name, value in environ.items() if not name.startswith("AWS_")}
    return kept | {GATEWAY_VARIABLE: url, "PYTHONHASHSEED": "0", "HYPOTHESIS_PROFILE": "quick"}
