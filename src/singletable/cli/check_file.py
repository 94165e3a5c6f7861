"""The file of a check: its findings as JSON lines, with a line after each round that has its progress.

The first line says what is checked. A run that was killed leaves at most what one round wrote behind the last line of
that kind: the next run cuts it off, and goes on from there. So no finding is in the file twice, and none is missing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from io import BufferedRandom
from pathlib import Path
from types import TracebackType
from typing import Any

import click
import msgspec

from singletable.flow import sync_directory
from singletable.records import CheckState, RepairMode

if sys.platform != "win32":  # the command must import where a check writes no file
    import fcntl

_MOST_HEAD_BYTES = 1_000_000


class Head(msgspec.Struct, frozen=True):
    """The scope of a check. A resumed run must have the same."""

    tables: list[str]
    at: str
    passes: list[str]
    left_out: list[str]
    segments: int
    sample: float | None
    seed: int
    repair: RepairMode | None
    from_export: str | None = None


class _HeadLine(msgspec.Struct, frozen=True):
    check: Head


class _StateLine(msgspec.Struct, frozen=True):
    checkpoint: CheckState


class CheckFile:
    """A file to which one run of a check writes, and from which the next one goes on. Close it, or use it in `with`."""

    def __init__(self, path: Path, head: Head) -> None:
        self.path = path
        self._file = _opened(path)
        self.state = self._resumed(head)

    def __enter__(self) -> CheckFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def write(self, findings: Iterable[Mapping[str, Any]], state: CheckState) -> None:
        """A round: its findings and the line after them, on the disk when it returns."""
        lines = [*map(_line, findings), _line(_StateLine(state))]
        self._file.write(b"".join(lines))
        self._sync()

    def _resumed(self, head: Head) -> CheckState | None:
        """The state of the last run, with its later lines cut off; None for a new file."""
        wanted = _line(_HeadLine(head))
        first = self._file.readline(_MOST_HEAD_BYTES)
        if not first.endswith(b"\n") and wanted.startswith(first):  # new, or killed in its first write
            self._cut(0)
            self._file.write(wanted)
            self._sync()
            sync_directory(self.path.resolve().parent)  # the name of a new file, too, outlives a power failure
            return None
        self._check(first, head)
        state, end = None, self._file.tell()
        for line in iter(self._file.readline, b""):
            if line.startswith(b'{"checkpoint":') and line.endswith(b"\n"):
                state, end = msgspec.json.decode(line, type=_StateLine).checkpoint, self._file.tell()
        self._cut(end)
        return state

    def _check(self, first: bytes, head: Head) -> None:
        try:
            known = msgspec.json.decode(first, type=_HeadLine).check
        except msgspec.DecodeError:
            raise click.UsageError(f"{self.path} is not a file of a check. Name another, or delete it.") from None
        pairs = ((name, getattr(known, name), getattr(head, name)) for name in Head.__struct_fields__)
        others = [f"{name} was {was}, and is {now}" for name, was, now in pairs if was != now]
        if others:
            raise click.UsageError(
                f"{self.path} holds another check: {'; '.join(others)}. Repeat its options, or name another file."
            )

    def _cut(self, end: int) -> None:
        self._file.seek(end)
        self._file.truncate()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())


def _opened(path: Path) -> BufferedRandom:
    """The file, at its beginning; no other run has it."""
    if sys.platform == "win32":
        raise click.UsageError("A check that is kept in a file takes a lock that Windows has not: leave the file out.")
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    except OSError as error:
        raise click.UsageError(f"{path} can't be written: {error.strerror}.") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise click.UsageError(f"Another run writes to {path}. Wait for its end, or name another file.") from None
    return file


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"
