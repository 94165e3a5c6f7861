"""Two texts line by line: what is gone, what is new, and a little of what stayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

from singletable.hidden_fields import repr_without

_AROUND = 3
"""Lines that stayed, shown before and after each change."""
_MOST_LINES = 2_000
"""The most lines of a text to compare; longer texts are shown whole, the old and the new."""

_Change = tuple[str, int, int, int, int]
"""An opcode of `SequenceMatcher.get_opcodes`."""


class Line(Struct, frozen=True):
    """One line, or a number of lines that are left out."""

    what: Literal["same", "gone", "new", "skipped"]
    text: str

    __repr__ = repr_without("text")


def compared(before: str, after: str) -> tuple[Line, ...]:
    """The lines of two texts, in one list."""
    one, other = before.splitlines(), after.splitlines()
    if max(len(one), len(other)) > _MOST_LINES:
        return tuple([Line("gone", text) for text in one] + [Line("new", text) for text in other])
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return tuple(_lines(one, other, matcher.get_opcodes()))


def _lines(one: Sequence[str], other: Sequence[str], changes: Sequence[_Change]) -> Iterator[Line]:
    for number, (what, begin, end, begins, ends) in enumerate(changes):
        if what == "equal":
            yield from _same(one[begin:end], is_first=number == 0, is_last=number == len(changes) - 1)
        else:
            yield from (Line("gone", text) for text in one[begin:end])
            yield from (Line("new", text) for text in other[begins:ends])


def _same(lines: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[Line]:
    head = 0 if is_first else _AROUND
    tail = 0 if is_last else _AROUND
    if is_first and is_last:
        head = len(lines)
    if len(lines) <= head + tail + 1:
        yield from (Line("same", text) for text in lines)
        return
    yield from (Line("same", text) for text in lines[:head])
    yield Line("skipped", f"{len(lines) - head - tail} lines")
    yield from (Line("same", text) for text in lines[len(lines) - tail :])
