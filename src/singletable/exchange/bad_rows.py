"""Rows that were not imported, and the file that names them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from singletable.errors import SingletableError


class BadRow(Struct, frozen=True):
    """A row that was not imported."""

    part: str
    """The file, or the table, that it is in."""
    number: int
    reason: str
    """Without the row's values."""


class BadRowFile:
    """Where bad rows are told, a line of JSON each. The file is made with the first of them."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.size = path, 0

    def begin(self, size: int) -> None:
        """Go on after what was told when the import was last written down."""
        if self.path is not None and self.path.exists():
            self.size = min(size, self.path.stat().st_size)
            os.truncate(self.path, self.size)

    def add(self, rows: Sequence[BadRow]) -> None:
        if self.path is not None and rows:
            with open(self.path, "ab") as file:
                file.write(msgspec.json.Encoder().encode_lines(rows))
                self.size = file.tell()


def reason_of(error: SingletableError) -> str:
    """Why a row was refused, without its values."""
    where = f"{error.attribute}: " if error.attribute else ""
    return f"{where}{error.what}"
