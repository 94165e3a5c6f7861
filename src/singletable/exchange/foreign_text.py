"""Lines and JSON of files that others made: bounded before they are in memory, and read without losing a value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any, Final

import msgspec

from singletable.errors import Corrupt

MOST_ROW_BYTES: Final = 8 << 20
"""An item of 400 KB takes up to 3.6 MB as JSON, as a list of empty texts; 5.3 MB where that is a text in other JSON."""
TOO_LONG: Final = f"it has more than {MOST_ROW_BYTES >> 20} MB, and an item at most 400 KB"
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
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


def exact_json(text: str | bytes) -> Any:
    """The value of a JSON text, numbers with all their digits. ValueError, RecursionError for what is not JSON, and for
    a name that stands twice in an object: one of the two values would be lost."""
    content = text.decode() if isinstance(text, bytes) else text
    if _SURROGATE.search(content):
        try:
            msgspec.json.decode(content)  # Python's own parser takes half a pair, which is not a character
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None
    return json.loads(content, object_pairs_hook=_once, parse_float=Decimal, parse_constant=_refuse)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object has the same name twice")
    return members


def _refuse(_: str) -> Any:
    raise ValueError("NaN and Infinity are not numbers of JSON")
