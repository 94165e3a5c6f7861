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
from tools.aws.account import Account
from tools.aws.child import run_tests
from tools.aws.counting import Count
from tools.aws.gateway import Gateway, Server
from tools.aws.names import Names
from tools.aws.prediction import COUNTS, LIKES, Like, saved_counts
from tools.aws.suites import files_of_suites

_RUN = "0000000000"


def write_counts(only: Sequence[str] = (), path: Path = COUNTS) -> int:
    """Write the counts of the chosen test files beside those that are there; returns the process's status."""
    files = files_of_suites(only)
    saved: dict[str, Mapping[str, Count]] = {like: saved_counts(like, path) for like in LIKES}
    for like in LIKES:
        spent = count_on(like, files)
        held: Mapping[str, Count] = saved[like] if only else {}
        saved[like] = {**held, **{file: spent.get(file, Count()) for file in files}}
        path.write_text(_one_line_each(saved))
    return 0


def count_on(like: Like, files: Sequence[str]) -> Mapping[str, Count]:
    """What each test file used. A test that fails is counted as far as it came."""
    with connect("local") as db, running_emulator() as emulator:
        tables = db.target.endpoint.url if like == "aws" else ""
        account = Account(emulator, "us-east-1", lambda: Credentials("counting", "counting"), tables)
        gateway = Gateway(account, Names(_RUN, lambda: server.url))
        with Server(gateway) as server:
            run_tests(f"ministack={server.url}", server.url, files, threading.Event())
        return gateway.spent


def _one_line_each(saved: Mapping[str, Mapping[str, Count]]) -> str:
    parts = [
        f'"{like}": {{\n'
        + ",\n".join(f'"{file}": {json.dumps(count.saved())}' for file, count in sorted(counts.items()))
        + "\n}"
        for like, counts in saved.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"
