"""What a run makes, written down before it is made: a file that outlives the run if the run is killed.

One line each, JSON, flushed to the disk. The file is deleted when all that it lists is gone.
"""

from __future__ import annotations

import json
import os
import threading  # noqa: TID251  (the gateway's threads write it)
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["table", "queue", "bucket"]
FOLDER_VARIABLE = "SINGLETABLE_AWS_RUNS"
"""Another folder for journals than `.aws-runs`."""
FOLDER = Path(os.environ.get(FOLDER_VARIABLE) or Path(__file__).parents[2] / ".aws-runs")


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


class Journal:
    """The file of one run."""

    def __init__(self, run: Run, folder: Path = FOLDER) -> None:
        folder.mkdir(exist_ok=True)
        self.run = run
        self.path = folder / f"{run.run}.jsonl"
        self._guard = threading.Lock()
        self._known: set[Made] = set()
        self._write(asdict(run))

    def note(self, made: Made) -> None:
        """Write it down, once; returns when it is on the disk."""
        with self._guard:
            if made not in self._known:
                self._write(asdict(made))
                self._known.add(made)

    @property
    def made(self) -> frozenset[Made]:
        with self._guard:
            return frozenset(self._known)

    def close(self) -> None:
        """All that it lists is gone."""
        self.path.unlink(missing_ok=True)

    def _write(self, line: object) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def left_journals(folder: Path = FOLDER) -> Iterator[tuple[Path, Run, frozenset[Made]]]:
    """The journals of runs that did not delete all that they made. A last line may have been cut short."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        if lines:
            yield path, Run(**lines[0]), frozenset(Made(**line) for line in lines[1:])
