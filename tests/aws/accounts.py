"""An account that is ministack's, and what a test looks at in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from singletable.flow import DYNAMODB, SQS
from singletable.wire import Credentials
from tests.support.emulators import ROOT
from tools.aws.account import Account
from tools.aws.cleaning import Cleaner
from tools.distributions import PYTHONPATH

QUICK = ("tests/engine/test_versions.py",)
"""What a run of these tests runs: a few seconds."""


KEY_SCHEMA = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
"""The rest of a request that makes a table."""


def account_at(url: str) -> Account:
    return Account(url, "us-east-1", lambda: Credentials("an-access-key", "a-secret-key"))


def left_at(url: str) -> list[str]:
    """All that has the name of a run."""
    with closing(account_at(url)) as account:
        return [made.name for made in Cleaner(account).find()]


def all_at(url: str) -> list[str]:
    """Every table, queue and bucket, whatever its name: for an emulator that nothing else uses."""
    with closing(account_at(url)) as account:
        tables = account.call(DYNAMODB, "ListTables", {})["TableNames"]
        queues = account.call(SQS, "ListQueues", {}).get("QueueUrls", [])
        buckets = re.findall(r"<Bucket>.*?<Name>([^<]+)</Name>", account.s3("GET", "/").decode(), re.DOTALL)
    return [*tables, *queues, *buckets]


def start(url: str, *options: str, command: str = "run", folder: Path) -> subprocess.Popen[str]:
    """`python -m tools.aws` in a process of its own, with journals in a folder of its own."""
    folder.mkdir(exist_ok=True)
    environ = _environ() | {"SINGLETABLE_AWS_RUNS": str(folder)}
    words = [sys.executable, "-m", "tools.aws", command, "--endpoint", url, *options]
    return subprocess.Popen(
        words, cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process: subprocess.Popen[str], said: str = "") -> tuple[int, str]:
    """The status of a command and its output."""
    try:
        output, _ = process.communicate(said, timeout=300)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode, output


def run(url: str, *options: str, folder: Path, said: str = "", only: Sequence[str] = QUICK) -> tuple[int, str]:
    """A whole run."""
    return finish(start(url, "--only", *only, *options, folder=folder), said)


def count_apart(file: str) -> tuple[int, str]:
    """The status of a process that counts what a test file uses on AWS, and what it says."""
    words = [sys.executable, "-c", f"from tools.aws.counts import count_on; print(count_on('aws', ['{file}']))"]
    done = subprocess.run(words, cwd=ROOT, env=_environ(), capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr


def replay(cassettes: Path, tests: Sequence[str]) -> str:
    """What pytest says of tests on cassettes."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--engine", f"replay={cassettes}", *tests]
    done = subprocess.run(words, cwd=ROOT, env=_environ(), capture_output=True, text=True, timeout=100, check=False)
    return done.stdout


def _environ() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTEST_"))}
    return kept | {"PYTHONPATH": PYTHONPATH}
