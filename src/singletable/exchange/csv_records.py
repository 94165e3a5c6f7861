"""The records of a CSV file, one after the other: text in quotes is text, nothing is null.

Python's `csv` can't distinguish `""` from nothing, and Arrow's reader ends at the first record of another length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from singletable.exchange.foreign_text import MOST_ROW_BYTES, TOO_LONG

_FIELD: Final = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,"]*))(,|$)')
_OPEN: Final = re.compile(r'"[^"]*(?:""[^"]*)*$')
MOST_LINES: Final = 1_000
"""The most lines of a record: with more, a quote must be missing."""


class BadRecord(ValueError):
    """A record that is not CSV."""


def records(lines: Iterator[bytes | None]) -> Iterator[list[str | None] | BadRecord]:
    """Each record of a file's lines; for one that can't be read, the error. It takes as long as the file is."""
    record = _Record()
    for line in lines:
        if line is None:
            yield BadRecord(TOO_LONG)
            record = _Record()
            continue
        whole = record.add(line.decode(errors="surrogateescape"))
        if whole is not None:
            if not record.is_blank:
                yield whole
            record = _Record()
    if record.count:
        yield BadRecord("a quote is not closed")


class _Record:
    """A record whose lines are read."""

    def __init__(self) -> None:
        self.fields: list[str | None] = []
        self.open: list[str] = []
        """Lines of a field in quotes, which goes on."""
        self.count, self.size = 0, 0
        self.is_blank = False

    def add(self, line: str) -> list[str | None] | BadRecord | None:
        """The record, where it ends with this line. Only a line with a quote that is not doubled can end a field."""
        self.count += 1
        self.size += len(line)
        self.is_blank = self.count == 1 and line in ("\n", "\r\n")
        if self.open and line.count('"') == 2 * line.count('""'):
            self.open.append(line)
        elif (found := self._parse("".join((*self.open, line)))) is not None:
            return found
        if self.count >= MOST_LINES or self.size > MOST_ROW_BYTES:
            return BadRecord(f"a quote is not closed, or {TOO_LONG}")
        return None

    def _parse(self, text: str) -> list[str | None] | BadRecord | None:
        at, whole = 0, text.removesuffix("\n").removesuffix("\r")
        while match := _FIELD.match(whole, at):
            quoted, plain, end = match.groups()
            self.fields.append(quoted.replace('""', '"') if quoted is not None else plain or None)
            at = match.end()
            if not end:
                return self.fields
        if not _OPEN.match(whole, at):
            return BadRecord("a quote inside a value is written twice, in quotes")
        self.open = [text[at:]]
        return None
