"""A situation: what goes wrong, what a program prints then, what that means, what to do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from tests.situations.program import Program

Work = Callable[[Program], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Situation:
    """`work` is what the program does."""

    title: str
    work: Work
    shows: tuple[str, ...]
    """The parts of the output that name the cause."""
    records: tuple[str, ...]
    """The records of the log, as `WARNING RequestEnded`."""
    cause: str
    todo: str


SITUATIONS: Final[list[Situation]] = []
"""All of them, in the order of the page."""


def situation(title: str, *, shows: str, records: str = "", cause: str, todo: str) -> Callable[[Work], Work]:
    """Declare one. `shows` and `records` are lists, one a line."""

    def declare(work: Work) -> Work:
        SITUATIONS.append(Situation(title, work, _lines(shows), _lines(records), _words(cause), _words(todo)))
        return work

    return declare


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _words(text: str) -> str:
    return " ".join(text.split())
