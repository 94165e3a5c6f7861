"""The records of a CSV file, one after the other: text in quotes is text, nothing is null.

Python's `csv` can't tell `""` from nothing, and Arrow's reader ends at the first record of another length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TextIO

_FIELD: Final = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^,"]*))(,|$)')
_OPEN: Final = re.compile(r'"[^"]*(?:""[^"]*)*$')
MOST_LINES: Final = 1_000
"""Of one record: more, and a quote is taken to be missing."""


class BadRecord(ValueError):
    """A record that is no CSV."""


def records(file: TextIO) -> Iterator[list[str | None] | BadRecord]:
    """Each record of a file that was opened with `newline=""`; for one that can't be read, the error."""
    lines: list[str] = []
    for line in file:
        lines.append(line)
        if not line.endswith("\n"):  # a carriage return alone, or the last line
            continue
        found = _fields("".join(lines).removesuffix("\n").removesuffix("\r"))
        if found is None and len(lines) < MOST_LINES:
            continue
        if lines != ["\n"] and lines != ["\r\n"]:
            yield found if found is not None else _unclosed()
        lines = []
    if lines:
        last = _fields("".join(lines))
        yield last if last is not None else _unclosed()


def _fields(text: str) -> list[str | None] | BadRecord | None:
    """The values of a record; None for a text that ends inside quotes, so that the record goes on."""
    found: list[str | None] = []
    at = 0
    while True:
        match = _FIELD.match(text, at)
        if match is None:
            return None if _OPEN.match(text, at) else BadRecord("a quote inside a value is written twice, in quotes")
        quoted, plain, end = match.groups()
        found.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        at = match.end()
        if not end:
            return found


def _unclosed() -> BadRecord:
    return BadRecord("a quote is not closed")
