"""`count`: runs the suites on the embedded engine and on ministack, and writes down what each test file uses.

Queues and buckets are ministack's in both.
"""

from __future__ import annotations

import json
import threading  # noqa: TID251
from collections.abc import Mapping, Sequence
from pathlib import Path

from singletable import connect
from singletable.wire import Credentials
from tests.support.emulators import running_emulator
from tools.aws.child import run_tests
from tools.aws.counting import Count
from tools.aws.embedded import EmbeddedTables
from tools.aws.gateway import Gateway, Server
from tools.aws.names import Names
from tools.aws.prediction import COUNTS, LIKES, Counted, Like, changed, file_fingerprint, saved_counts
from tools.aws.suites import files_of_suites

_RUN = "0000000000"
_NAMES: Mapping[Like, str] = {"aws": "local", "ministack": "ministack"}
"""What `--engine` calls what is counted on: it says what is expected to fail there."""
_RAN = (0, 1)
"""What pytest returns when all tests passed, or some failed. Anything else ended it early."""


class NotCounted(Exception):
    """The tests ended before the last of them: what they used is not known."""


def write_counts(only: Sequence[str] = (), path: Path = COUNTS, *, all_changed: bool = False) -> int:
    """Write the counts of the chosen test files beside those that are there; returns the process's status.

    Raises NotCounted, and writes nothing of a service, where its tests ended early.
    """
    files = files_of_suites(only)
    saved: dict[str, Mapping[str, Counted]] = {like: saved_counts(like, path) for like in LIKES}
    for like in LIKES:
        chosen = changed(saved[like], files) if all_changed else files
        spent = count_on(like, chosen) if chosen else dict[str, Count]()
        there = files_of_suites(())
        held = {file: counted for file, counted in saved[like].items() if file in there}
        saved[like] = held | {file: Counted(spent.get(file, Count()), file_fingerprint(file)) for file in chosen}
        path.write_text(_one_line_each(saved))
        print(f"{like}: {len(chosen)} test files counted, {path}")
    return 0


def count_on(like: Like, files: Sequence[str], *, quiet: bool = False) -> Mapping[str, Count]:
    """What each test file used. A test that fails is counted as far as it came. Raises NotCounted."""
    with connect("local") as db, running_emulator() as emulator:
        tables = db.target.endpoint.url if like == "aws" else ""
        account = EmbeddedTables(emulator, "us-east-1", lambda: Credentials("counting", "counting"), tables)
        gateway = Gateway(account, Names(_RUN, lambda: server.url))
        with Server(gateway) as server:
            status = run_tests(f"{_NAMES[like]}={server.url}", server.url, files, threading.Event(), quiet=quiet)
        if status not in _RAN:
            raise NotCounted(f"pytest ended with status {status} at {gateway.test or 'its start'}: nothing is counted")
        return gateway.spent


def _one_line_each(saved: Mapping[str, Mapping[str, Counted]]) -> str:
    parts = [
        f'"{like}": {{\n'
        + ",\n".join(f'"{file}": {json.dumps(counted.saved())}' for file, counted in sorted(counts.items()))
        + "\n}"
        for like, counts in saved.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"
