"""Cassettes that are worth keeping: those whose tests pass on them."""

from __future__ import annotations

import threading  # noqa: TID251
import time
from collections.abc import Sequence
from pathlib import Path

from tools.aws.account import Account
from tools.aws.cassettes import Recorder, Replay
from tools.aws.child import run_tests
from tools.aws.gateway import Server


def keep_what_replays(recorder: Recorder, folder: Path, passed: Sequence[str], account: Account, seed: str) -> None:
    """Write the cassettes, run their tests on them, and write those that passed; says what is left out, and why."""
    about = {
        "service": "ministack" if account.endpoint else f"AWS, {account.region}",
        "seed": seed,
        "recorded": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    left = recorder.write(folder, passed, about)
    while failed := {*failing(folder), *failing(folder)}:  # twice: some ask otherwise now and then
        left |= dict.fromkeys(failed, "it asks otherwise in each run")
        recorder.write(folder, [test for test in passed if test not in left], about)
    for test, why in sorted(left.items()):
        print(f"not recorded: {test}: {why}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(passed) - len(left)} tests in {folder}, {size / 1024:,.0f} KiB")


def failing(folder: Path) -> list[str]:
    """The tests of the cassettes that don't pass on them."""
    replay = Replay(folder)
    with Server(replay) as server:
        replay.url = server.url
        tests = replay.tests()
        if tests:
            run_tests(f"replay={server.url}", server.url, tests, threading.Event(), quiet=True)
    return [test for test in tests if test not in replay.passed]
