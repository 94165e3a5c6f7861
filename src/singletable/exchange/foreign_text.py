"""Lines and JSON of files that others made: bounded before they are in memory, and read without losing a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Final

from singletable.errors import Corrupt

MOST_ROW_BYTES: Final = 8 << 20
"""An item of 400 KB takes up to 3.6 MB as JSON, as a list of empty texts; 5.3 MB where that is a text in other JSON."""
TOO_LONG: Final = f"it has more than {MOST_ROW_BYTES >> 20} MB, and an item at most 400 KB"
_UTF_8_MARK, _UTF_16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


def lines_of(name: str, file: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a file, without its byte order mark; None for one that is too long. Corrupt for UTF-16."""
    line = file.readline(MOST_ROW_BYTES + 1)
    if line.startswith(_UTF_16_MARKS):
        raise Corrupt(f"{name} is UTF-16", hint="Save it as UTF-8.")
    line = line.removeprefix(_UTF_8_MARK)
    while line:
        is_too_long = len(line) > MOST_ROW_BYTES
        while len(line) > MOST_ROW_BYTES and not line.endswith(b"\n"):
            line = file.readline(MOST_ROW_BYTES + 1)
        yield None if is_too_long else line
        line = file.readline(MOST_ROW_BYTES + 1)


def json_bytes(line: bytes | None) -> int:
    """The approximate bytes of a line of JSON in memory: each value has 64 more."""
    return 0 if line is None else len(line) + 64 * line.count(b",")
