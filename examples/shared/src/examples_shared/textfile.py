"""Files from anywhere, as text: bounded, decoded, and with a place for each complaint.

text = read_text(Path("acme.yaml"), most_bytes=4_000_000)
raise Place("acme.yaml", 12).refuses(f"login {shown(login)}: it has a space")     # acme.yaml:12: login 'a b': ...
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from examples_shared.errors import Invalid

MOST_SHOWN = 60
MOST_NAME_CHARACTERS = 200
MOST_KEY_BYTES = 400
"""Of a name within a key: two of them fit into one, which has 1,024 bytes."""
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a name never holds: control characters, lone surrogates, and what turns the direction of a text around."""


@dataclass(frozen=True)
class Place:
    """A line of a file, counted from 1."""

    source: str
    line: int

    def refuses(self, said: str) -> Invalid:
        return Invalid(f"{self.source}:{self.line}: {said}")


def read_text(path: Path, most_bytes: int) -> str:
    """The whole text of a file in UTF-8, with or without a byte order mark. Invalid, with the line, for any other."""
    source = name_of(path)
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise Invalid(f"{source} can't be read: {error.strerror or type(error).__name__}") from error
    if len(content) > most_bytes:
        raise Invalid(f"{source} has more than {most_bytes} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Place(source, line).refuses("this is not UTF-8 text") from error


def name_of(path: Path) -> str:
    """A path as it can be printed."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def shown(text: str) -> str:
    """A text of a file within a complaint: short, in one line, with escapes for what can't be seen."""
    return repr(text) if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]!r}... ({len(text)} characters)"


def check_name(text: str, most_characters: int = MOST_NAME_CHARACTERS) -> None:
    """ValueError, with the reason, for a text that can't be anybody's or anything's name."""
    if not text.strip():
        raise ValueError("it is empty")
    if len(text) > most_characters:
        raise ValueError(f"it has more than {most_characters} characters")
    check_text(text)


def check_text(text: str) -> None:
    """ValueError for what can't be stored and shown as it is."""
    if found := _UNSEEN.search(text):
        raise ValueError(f"it holds the character {found[0]!r}, which can't be seen")


def check_identifier(text: str, most_characters: int = MOST_NAME_CHARACTERS) -> None:
    """As check_name, for a name that is a part of a key: what looks the same must be the same."""
    check_name(text, most_characters)
    if len(text.encode()) > MOST_KEY_BYTES:
        raise ValueError(f"it has more than {MOST_KEY_BYTES} bytes")
    if not unicodedata.is_normalized("NFC", text):
        raise ValueError("it is not in Unicode's normal form C")
