"""The suite: fetched out of a clone into a temporary folder, and run against an engine."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from singletable_local.binary import find_engine

PART = "test/alternator"
BESIDE = Path(__file__).parent / "beside"
_ROOT = Path(__file__).parents[2]
_STANDS_FOR = ("conftest", "cqlpy/conftest", "pylib/skip_types", "pylib/connect_options", "pylib/driver_utils")
"""The modules of `test` that the suite imports besides its own."""
_ON_SCYLLA_ALONE = (
    *("audit", "cql_rbac", "cql_schema", "logs", "metrics", "scylla", "service_levels", "system_tables", "tablets"),
    *("streams_tablets", "tracing", "vector", "write_isolation", "expression_caching", "https"),
)
_LEAVE_TRACES = ("compressed_request", "compressed_response")
"""Their tests, where they fail, have the requests of later tests compressed too. The library compresses none."""
_LONGEST_TEST_SECONDS = 30


class NoSuite(Exception):
    """The clone has no suite."""


def copied(checkout: Path, into: Path) -> str:
    """Copy the suite out of a clone, or its git directory, with our files beside it; returns its commit."""
    if (checkout / PART).is_dir():
        shutil.copytree(checkout / PART, into / PART)
    else:
        archive = _git(checkout, "archive", "HEAD", PART)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(into, filter="data")
    for name in _STANDS_FOR:
        place = into / "test" / f"{name}.py"
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(BESIDE / "suite_imports.py", place)
    for package in ("test", "test/cqlpy", "test/pylib", "test/alternator", "cassandra"):
        (into / package).mkdir(exist_ok=True)
        (into / package / "__init__.py").touch()
    for name in ("cluster", "auth"):
        shutil.copyfile(BESIDE / "no_cassandra.py", into / "cassandra" / f"{name}.py")
    (into / "pytest.ini").write_text("[pytest]\nmarkers =\n  veryslow\n  skip_env\n  skip_bug\n")
    shutil.copyfile(BESIDE / "engine_outcomes.py", into / "engine_outcomes.py")
    try:
        return _git(checkout, "rev-parse", "HEAD").decode().strip()
    except NoSuite:
        return ""


def run(suite: Path, files: Sequence[str], *, quiet: bool = True) -> Mapping[str, str]:
    """The outcome of each test, on an engine with nothing in it; only of `files`, where some are named."""
    outcomes = suite / "outcomes.jsonl"
    outcomes.touch()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    binary = find_engine(os.environ, _ROOT)
    engine = [str(binary), "serve", "--host", "127.0.0.1", "--port", str(port), "--db-path", str(suite / "engine.db")]
    environ = {
        **os.environ,
        "ENGINE_COMMAND": json.dumps(engine),
        "ENGINE_URL": url,
        "ENGINE_OUTCOMES": str(outcomes),
        "PYTHONPATH": os.pathsep.join([str(suite), *_emulators()]),
        "AWS_ACCESS_KEY_ID": "alternator",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    options = ["-p", "engine_outcomes", "-p", "no:cacheprovider", "--runxfail", "--timeout", str(_LONGEST_TEST_SECONDS)]
    ignored = [f"--ignore={PART}/test_{name}.py" for name in (*_ON_SCYLLA_ALONE, *_LEAVE_TRACES)]
    chosen = [f"{PART}/{name}" for name in files] or [PART]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", "pytest.ini", "--continue-on-collection-errors"]
    ended = subprocess.run(
        [*command, *options, *ignored, "--url", url, *chosen],
        cwd=suite,
        env=environ,
        stdout=subprocess.DEVNULL if quiet else None,
        check=False,
    )
    rows = [json.loads(line) for line in outcomes.read_text().splitlines()]
    if ended.returncode not in (0, 1) or not rows:
        raise NoSuite(f"pytest ended with {ended.returncode}, after {len(rows)} tests")
    return {row["test"]: row["outcome"] for row in rows}


def _emulators() -> list[str]:
    """Where `requests` is, which the suite needs and the tests of this project don't."""
    return [str(path) for path in (_ROOT / ".venv-emulators" / "lib").glob("python*/site-packages")]


def _git(folder: Path, *command: str) -> bytes:
    done = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, check=False)
    if done.returncode:
        raise NoSuite(done.stderr.decode().strip())
    return done.stdout
