"""A commit object, parsed: who made it, when, and what they said of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone


@dataclass(frozen=True, slots=True)
class Commit:
    """`author` is `Name <address>`; `time` is ISO 8601 in that one's zone, or git's text where it is not a time."""

    author: str
    time: str
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


def parse_commit(content: bytes) -> Commit:
    """The commit of an object's bytes. Text that is not in the encoding it names keeps its odd bytes as `\\xff`."""
    head, _, message = content.partition(b"\n\n")
    lines = (line.partition(b" ") for line in reversed(head.split(b"\n")))
    fields = {name: value for name, _, value in lines}
    encoding = fields.get(b"encoding", b"utf-8").decode("ascii", "replace")
    author, _, when = _text(fields.get(b"author", b""), encoding).rpartition("> ")
    return Commit(author + ">" if author else "", _time(when), _text(message, encoding))


def parents_of(content: bytes) -> list[str]:
    """The ids of a commit's parents as its object names them, the first one first."""
    head = content.partition(b"\n\n")[0].split(b"\n")
    return [line[7:].decode("ascii", "replace") for line in head if line.startswith(b"parent ")]


def _text(said: bytes, encoding: str) -> str:
    try:
        text = said.decode(encoding, "backslashreplace")
    except (LookupError, ValueError):  # no encoding of that name, or one that is none of texts
        text = said.decode("utf-8", "backslashreplace")
    return text.encode("utf-8", "backslashreplace").decode()  # some encodings make lone surrogates


def _time(said: str) -> str:
    """`1700000000 +0130`."""
    try:
        seconds, zone = said.split(" ")
        offset = int(zone[:-2]) * 60 + int(zone[0] + zone[-2:])
        return datetime.fromtimestamp(int(seconds), timezone(timedelta(minutes=offset))).isoformat()
    except (ValueError, OverflowError, OSError):
        return said
