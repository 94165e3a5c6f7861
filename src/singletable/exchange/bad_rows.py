"""Rows that were not imported, and the file that names them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest, SingletableError
from singletable.exchange.store_faults import faults

_LONGEST: Final = 1 << 20


class BadRow(Struct, frozen=True):
    """A row that was not imported."""

    part: str
    """The file, or the table, that it is in."""
    number: int
    reason: str
    """Without the row's values."""


class BadRowFile:
    """The file of bad rows, a line of JSON each. The first bad row creates it."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.size = path, 0

    def begin(self, size: int) -> None:
        """Go on after what was told when the import was last written down. InvalidRequest for a file that holds
        anything else than bad rows: it would be lost."""
        if self.path is None:
            return
        with faults(str(self.path.parent), "write"):
            if not self.path.exists():
                return
            self._check()
            self.size = min(size, self.path.stat().st_size)
            os.truncate(self.path, self.size)

    def add(self, rows: Sequence[BadRow]) -> None:
        if self.path is not None and rows:
            with faults(str(self.path.parent), "write"), open(self.path, "ab") as file:
                file.write(msgspec.json.Encoder().encode_lines(rows))
                self.size = file.tell()

    def _check(self) -> None:
        assert self.path is not None
        with open(self.path, "rb") as file:
            first = file.readline(_LONGEST)
        try:
            if first:
                msgspec.json.decode(first, type=BadRow)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise InvalidRequest(
                f"{self.path} is there, and holds something else than bad rows", hint="Name another file for them."
            ) from None


def reason_of(error: SingletableError) -> str:
    """Why a row was refused, without its values."""
    if not error.attribute:
        return error.what
    why = error.what.partition(" can't be read: ")[2]  # of an item, as a read says it; this is a row
    return f"{error.attribute}: {why or error.what}"
