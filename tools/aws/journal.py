"""What a run makes, written down before it is made: a file that outlives the run if the run is killed.

One line each, JSON, flushed to the disk. The file is locked for as long as the run lives, and deleted when all that it
lists is gone.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading  # noqa: TID251  (the gateway's threads write it)
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["table", "queue", "bucket"]
FOLDER_VARIABLE = "SINGLETABLE_AWS_RUNS"
"""Another folder for journals than `.aws-runs`."""
FOLDER = Path(os.environ.get(FOLDER_VARIABLE) or Path(__file__).parents[2] / ".aws-runs")
_GONE = "gone"


@dataclass(frozen=True)
class Made:
    """Something that is, or was about to be, made."""

    kind: Kind
    name: str


@dataclass(frozen=True)
class Run:
    """The first line: whose run it is, and where."""

    run: str
    endpoint: str
    region: str


@dataclass(frozen=True)
class Left:
    """The journal of a run that is under way, or did not delete all that it made."""

    path: Path
    run: Run
    made: frozenset[Made]
    is_under_way: bool


class Journal:
    """The file of one run."""

    def __init__(self, run: Run, folder: Path = FOLDER) -> None:
        folder.mkdir(exist_ok=True)
        self.run = run
        self.path = folder / f"{run.run}.jsonl"
        self._guard = threading.Lock()
        self._made: set[Made] = set()
        self._file = self.path.open("a")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._write(asdict(run))

    def note(self, made: Made) -> None:
        """Write it down, once; returns when it is on the disk."""
        with self._guard:
            if made not in self._made:
                self._write(asdict(made))
                self._made.add(made)

    def forget(self, gone: Made) -> None:
        """The service has deleted it."""
        with self._guard:
            if gone in self._made:
                self._file.write(json.dumps({_GONE: asdict(gone)}) + "\n")  # lost, it is looked for once more
                self._file.flush()
                self._made.remove(gone)

    @property
    def made(self) -> frozenset[Made]:
        """All of it that the service has not been seen to delete."""
        with self._guard:
            return frozenset(self._made)

    def close(self, *, all_gone: bool) -> None:
        """The run has ended; the file stays where not all that it lists is gone."""
        if all_gone:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _write(self, line: object) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def left_journals(folder: Path = FOLDER) -> Iterator[Left]:
    """The journals that are there. A last line may have been cut short."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        if lines:
            yield Left(path, Run(**lines[0]), _made_by(lines[1:]), _is_locked(path))


def deleted_by(operation: str, request: bytes) -> Made | None:
    """What a request of DynamoDB or SQS deletes whole, if it does."""
    if operation == "DeleteTable":
        return Made("table", str(json.loads(request).get("TableName", "")))
    if operation == "DeleteQueue":
        return Made("queue", str(json.loads(request).get("QueueUrl", "")).rpartition("/")[2])
    return None


def _made_by(lines: list[dict[str, Any]]) -> frozenset[Made]:
    made: set[Made] = set()
    for line in lines:
        if _GONE in line:
            made.discard(Made(**line[_GONE]))
        else:
            made.add(Made(**line))
    return frozenset(made)


def _is_locked(path: Path) -> bool:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
