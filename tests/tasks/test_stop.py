"""A program with both workers, of a stream and of tasks, ends whenever it is told to."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from manhunt import Service
from manhunt.model import Kind, manhunt
from manhunt.receiver import receiving
from singletable import connect

STARTS = 20
LONGEST_SECONDS = 30.0
SECRET = "a secret of at least thirty-two characters"


@contextmanager
def worker(target: str, log: Path) -> Generator[subprocess.Popen[bytes], None, None]:
    """One that is just about to listen."""
    options = ("--secret", SECRET, "--private-webhooks", "--poll", "0.1", "--lease", "3")
    # faulthandler: where a worker that hangs is told to abort, it says in which line each thread stands.
    command = [sys.executable, "-X", "faulthandler", "-m", "manhunt", "--db", target, "work", *options]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        until = time.monotonic() + 60
        while b"working" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.002)  # noqa: TID251 another process starts
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@contextmanager
def workers(target: str, logs: list[Path]) -> Generator[list[tuple[subprocess.Popen[bytes], Path]], None, None]:
    with ExitStack() as stack:
        yield [(stack.enter_context(worker(target, log)), log) for log in logs]


def end_of(process: subprocess.Popen[bytes], log: Path) -> int:
    try:
        return process.wait(LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        process.wait(10)
        raise AssertionError(f"the worker did not end\n{log.read_text()}") from None


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_a_worker_stops_at_any_time(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """At its start, in its idle times and in the middle of searches; now and then with another beside it."""
    target, dice, longest = f"local:{tmp_path}/manhunt.db", random.Random(7), 0.0
    with connect(target) as db, receiving(dice) as receiver:
        db.create_table(manhunt)
        service = Service(db)
        contact = service.create_contact("harbour", "Ada")
        for number in range(3):
            service.add_method("harbour", contact.contact_id, Kind.WEBHOOK, f"{receiver.url}/{number}", order=number)
        for start in range(STARTS):
            with workers(target, [tmp_path / f"{start}-{n}.log" for n in range(1 + start % 5 // 4)]) as running:
                for _ in range(start % 4):
                    service.open_search("harbour", contact.contact_id, {"summary": "told to end"})
                time.sleep(dice.random() ** 2 * 1.5)  # noqa: TID251 the worker works meanwhile
                told = time.monotonic()
                for process, _ in running:
                    process.terminate()
                for process, log in running:
                    # Before it listens it ends as any program does.
                    assert end_of(process, log) in (0, -signal.SIGTERM), log.read_text()
                longest = max(longest, time.monotonic() - told)
    record_property("longest seconds to end", round(longest, 2))
