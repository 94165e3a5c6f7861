"""pytest as a process of its own, on the tests and the address of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading  # noqa: TID251
from collections.abc import Mapping, Sequence

from tests.support.emulators import GATEWAY_VARIABLE

_GRACE_SECONDS = 20.0
_LOOK_SECONDS = 0.05
OPTIONS = ("-q", "-m", "not soak", "-p", "tools.aws.plugin", "-p", "no:cacheprovider", "--tb=short", "--timeout=600")


def run_tests(engine: str, url: str, tests: Sequence[str], stop: threading.Event, *, quiet: bool = False) -> int:
    """pytest's status, with `--engine` of that name. When `stop` is set, the process ends; none of it stays."""
    command = [sys.executable, "-m", "pytest", *OPTIONS, "--engine", engine, *tests]
    output = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(command, env=_environ(url, os.environ), start_new_session=True, stdout=output)
    try:
        while process.poll() is None and not stop.wait(_LOOK_SECONDS):
            continue
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode


def _environ(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Without the account's keys: what signs is the gateway alone. Each property is tried with few examples."""
    kept = {name: value for name, value in environ.items() if not name.startswith("AWS_")}
    return kept | {GATEWAY_VARIABLE: url, "PYTHONHASHSEED": "0", "HYPOTHESIS_PROFILE": "quick"}
