"""The release before this one: its sources, and a program of any of the two in a process of its own.

`tests/previous/RELEASE` names the commit that stands for it. Where the clone lacks that commit, tests are skipped with
the command that brings it; under `make release`, which says `SINGLETABLE_PREVIOUS=required`, they fail.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tools.distributions import ROOT, SOURCES

RELEASE = (Path(__file__).parent / "RELEASE").read_text().strip()
PROGRAM = Path(__file__).parent / "program.py"
REQUIRED = "SINGLETABLE_PREVIOUS"
_END_SECONDS = 30.0


def previous_sources(folder: Path) -> list[Path]:
    """The source folders of the release before, taken from the repository into a folder."""
    archived = subprocess.run(
        ["git", "archive", RELEASE, "src", *(str(path.parent.relative_to(ROOT)) for path in SOURCES[1:])],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if archived.returncode:
        said = archived.stderr.decode().strip()
        lacks = f"the release before this one can't be read ({said}): git fetch --depth 1 origin {RELEASE}"
        (pytest.fail if os.environ.get(REQUIRED) == "required" else pytest.skip)(lacks)
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
        files.extractall(folder, filter="data")
    return [folder / path.relative_to(ROOT) for path in SOURCES]


class Program:
    """A process of `program.py` on one release's sources."""

    def __init__(self, sources: list[Path], data: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(data), str(folder)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sources))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            where = Path(self("where"))
            assert where.is_relative_to(sources[0]), f"the process imports {where}"
        except BaseException:
            self.end()
            raise

    def __call__(self, step: str, *arguments: Any) -> Any:
        """What a step of the program returns. AssertionError with what it raised."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([step, *arguments]), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline() or '{"failed": "the process has ended"}')
        assert "failed" not in answer, f"{step}: {answer['failed']}"
        return answer["returned"]

    def end(self) -> None:
        self._process.communicate(timeout=_END_SECONDS)
