"""Cassettes that are worth keeping: those whose tests pass on them."""

from __future__ import annotations

import threading  # noqa: TID251
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.aws.account import Account
from tools.aws.cassettes import Recorder, Replay, move_cassettes
from tools.aws.child import run_tests
from tools.aws.gateway import Server


def keep_what_replays(
    recorder: Recorder, folder: Path, passed: Sequence[str], account: Account, seed: str, stop: threading.Event
) -> None:
    """Write the cassettes, run their tests on them, and keep those that passed; says what is left out, and why.

    The folder's own cassettes stay as they are until then, and where `stop` is set before.
    """
    about = {
        "service": "ministack" if account.endpoint else f"AWS, {account.region}",
        "seed": seed,
        "recorded": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    with TemporaryDirectory() as made:
        tried = Path(made)
        left = recorder.write(tried, passed, about)
        while failed := {*failing(tried, stop), *failing(tried, stop)}:  # twice: some ask otherwise now and then
            if stop.is_set():
                break
            left |= dict.fromkeys(failed, "it asks otherwise in each run")
            recorder.write(tried, [test for test in passed if test not in left], about)
        if stop.is_set():
            print(f"Stopped: no cassette was written, {folder} is as it was.")
            return
        move_cassettes(tried, folder)
    for test, why in sorted(left.items()):
        print(f"not recorded: {test}: {why}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{len(Replay(folder).tests())} tests in {folder}, {size / 1024:,.0f} KiB")


def failing(folder: Path, stop: threading.Event) -> list[str]:
    """The tests of the cassettes that don't pass on them."""
    replay = Replay(folder)
    with Server(replay) as server:
        replay.url = server.url
        tests = replay.tests()
        if tests:
            run_tests(f"replay={server.url}", server.url, tests, stop, quiet=True)
    return [test for test in tests if test not in replay.passed]
