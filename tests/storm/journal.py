"""What a process of the storm did, as lines on its standard output: a call before it is tried, then its outcome.

A line is written before the next thing happens, so a process that is killed leaves at most one call without an
outcome: that one may have taken effect or not.
"""

from __future__ import annotations

import json
import os
import threading  # noqa: TID251
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from singletable.records import Finding

Outcome = Literal["done", "refused", "undone", "unknown"]
"""Took effect; was refused by the stored data; was given up without effect; may have taken effect."""
_ONLY_WRITER = threading.Lock()


@dataclass
class Call:
    """One call of one client, and its outcome: `unknown` until one is noted."""

    client: str
    number: int
    what: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outcome: Outcome = "unknown"

    @property
    def id(self) -> str:
        return f"{self.client}-{self.number}"


def _write(line: bytes) -> None:
    data = line + b"\n"
    with _ONLY_WRITER:
        while data:
            data = data[os.write(1, data) :]


_listeners: list[Callable[[bytes], None]] = [_write]


def say(**line: Any) -> None:
    """Say one line whole, from any thread: on standard output, or to the journal that listens in this process."""
    _listeners[-1](json.dumps(line).encode())


def told(finding: Finding) -> str:
    """A finding of a check, with the key that its text leaves out."""
    return f"{finding} {finding.key}"


@contextmanager
def heard_by(journal: Journal) -> Iterator[None]:
    """What this process says goes into a journal of its own."""
    _listeners.append(journal.take)
    try:
        yield
    finally:
        _listeners.pop()


@dataclass
class Journal:
    """All that the processes of a run said."""

    calls: dict[tuple[str, int], Call] = field(default_factory=dict[tuple[str, int], Call])
    handled: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Changes that were handled, as item and count, in order."""
    mutated: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """What was said of each mutation of a document, by document, client and number."""
    reasons: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Why a mutation was rejected."""
    broken: list[str] = field(default_factory=list[str])
    """Errors that no part of the storm explains."""
    operations: int = 0
    """Requests of DynamoDB that were sent, or lost before they were."""
    faults: int = 0
    runs: int = 0
    """How many times a task's function was called."""

    def take(self, line: bytes) -> None:
        said = json.loads(line)
        match said.pop("say"):
            case "begin":
                self.calls[said["client"], said["number"]] = Call(**said)
            case "end":
                self.calls[said["client"], said["number"]].outcome = said["outcome"]
            case "handled":
                self.handled.append((said["item"], said["count"]))
            case "mutated":
                self.mutated.setdefault(said["place"], set()).add(said["status"])
                self.reasons[said["place"]] = said.get("why")
            case "ran":
                self.runs += 1
            case "passed":
                self.operations += said["requests"]
                self.faults += said["faults"]
            case "broken":
                self.broken.append(said["error"])
            case other:
                raise AssertionError(f"a process of the storm says {other!r}")

    def keep(self, path: Path) -> None:
        """Write the calls down, a line each, in the order that they were begun."""
        lines = (json.dumps(vars(call)) for call in self.calls.values())
        path.write_text("".join(f"{line}\n" for line in lines))

    @property
    def count(self) -> int:
        """Calls of all layers: verbs, mutations, handled changes, runs of tasks."""
        return len(self.calls) + len(self.handled) + len(self.mutated) + self.runs

    def of(self, *what: str) -> list[Call]:
        """Every call of some sorts, each client's in its order."""
        return [each for each in self.calls.values() if each.what in what]

    def next_number(self, client: str) -> int:
        return 1 + max((number for name, number in self.calls if name == client), default=0)
