"""Decides exactly whether two key templates could write the same text, with an example if they could.

Each template is a few sequences of steps, a step being one character out of a set, or any number of them. Two
sequences meet when a walk through both at once reaches both ends; the characters taken on the way are the example.
"""

from __future__ import annotations

import string
from collections import deque
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from itertools import product
from typing import Any, cast
from uuid import UUID

from msgspec import Struct

from singletable.schema.key_text import Part, Template
from singletable.schema.key_values import Slot, Verbatim, enum_text, is_separated

_DIGIT = frozenset(string.digits)
_HEX = frozenset(string.digits + "abcdef")
_LETTER = frozenset(string.ascii_lowercase)
_LIKELY = "x" + string.ascii_lowercase + string.digits + string.printable + "é"


class Step(Struct, frozen=True):
    """One character, or any number of them when `many`: those in `chars`, or all but those when `other`."""

    chars: frozenset[str]
    other: bool = False
    many: bool = False

    def common(self, step: Step) -> str | None:
        """A character that both take."""
        if not self.other and not step.other:
            return _likeliest(self.chars & step.chars)
        if self.other and step.other:
            return next(c for c in _LIKELY if c not in self.chars | step.chars)
        given, without = (step, self) if self.other else (self, step)
        return _likeliest(given.chars - without.chars)


def _likeliest(chars: frozenset[str]) -> str | None:
    """One of them, so that the example makes sense: 1, which a number, a date and a UUID accept in every place."""
    return min(chars, key=lambda c: (c != "1", c), default=None)


Steps = tuple[Step, ...]
ANYTHING = Step(frozenset(), other=True, many=True)


def could_meet(one: Template, other: Template) -> str | None:
    """A text that both templates could write, or None."""
    return _first(_paths(one), _paths(other))


def common_key(one: tuple[Template, Template], other: tuple[Template, Template]) -> str | None:
    """A primary key that both pairs of templates could write, as a text for people, or None."""
    texts = [could_meet(a, b) for a, b in zip(one, other, strict=True)]
    return None if None in texts else " / ".join(cast("list[str]", texts))


def could_begin(one: Template, other: Template, parts: int) -> bool:
    """Whether `one` could write a text that begins as `other` does through its first `parts` parts.

    `other` whole, when it has no more parts than that.
    """
    if parts >= len(other.parts):
        return could_meet(one, other) is not None
    literal = other.parts[parts].literal
    head = Template((*other.parts[:parts], Part(literal)), other.separator)
    return _first(_paths(one), ((*steps, ANYTHING) for steps in _paths(head))) is not None


def _first(one: Iterator[Steps], others: Iterator[Steps]) -> str | None:
    for mine, theirs in product(list(one), list(others)):
        found = _walk(mine, theirs)
        if found is not None:
            return found
    return None


def _walk(a: Steps, b: Steps) -> str | None:
    """The shortest text that both sequences take, by breadth-first search over the pairs of their positions."""
    queue: deque[tuple[int, int, str]] = deque([(0, 0, "")])
    seen = {(0, 0)}
    while queue:
        i, j, text = queue.popleft()
        if i == len(a) and j == len(b):
            return text
        for at in _next(a, b, i, j):
            if at[:2] not in seen:
                seen.add(at[:2])
                queue.append((at[0], at[1], text + at[2]))
    return None


def _next(a: Steps, b: Steps, i: int, j: int) -> Iterator[tuple[int, int, str]]:
    if i < len(a) and a[i].many:
        yield i + 1, j, ""
    if j < len(b) and b[j].many:
        yield i, j + 1, ""
    if i < len(a) and j < len(b) and (taken := a[i].common(b[j])) is not None:
        yield (i if a[i].many else i + 1), (j if b[j].many else j + 1), taken


def _paths(template: Template) -> Iterator[Steps]:
    end = len(template.parts) - 1
    choices = [list(_part(part, template.separator, i == end)) for i, part in enumerate(template.parts)]
    joint = _text(template.separator)
    for chosen in product(*choices):
        steps: Steps = ()
        for i, part in enumerate(chosen):
            steps += (*joint, *part) if i else part
        yield steps


def _part(part: Part, separator: str, last: bool) -> Iterator[Steps]:
    before = _text(part.literal)
    if part.slot is None:
        yield before
        return
    for steps in _slot(part.slot, separator, last):
        yield (*before, *steps)


def _slot(slot: Slot, separator: str, last: bool) -> Iterator[Steps]:
    kind, width = slot.type, slot.width
    digits = (Step(_DIGIT), Step(_DIGIT, many=True))
    if slot.rest:
        yield (ANYTHING,)
    elif issubclass(kind, Verbatim):
        yield from ((*_text(prefix), ANYTHING) for prefix in kind.prefixes())
    elif issubclass(kind, Enum):
        yield from (_text(enum_text(m)) for m in kind)
    elif width:
        yield (Step(_DIGIT),) * width
    elif kind is int:
        yield (Step(_LETTER), *digits)
        yield (*_text("-z"), Step(_DIGIT))  # of one digit: what an example of a negative number looks like
        yield (*_text("-"), Step(_LETTER), *digits)
    elif kind is Decimal:
        fraction = (*_text("."), *digits)
        yield (Step(_LETTER), *digits, *fraction)
        yield (*_text("-z"), Step(_DIGIT), *fraction, *_text("~"))
        yield (*_text("-"), Step(_LETTER), *digits, *fraction, *_text("~"))
    elif kind in _SHAPES:
        yield tuple(Step({"d": _DIGIT, "x": _HEX}.get(c) or frozenset(c)) for c in _SHAPES[kind])
    elif is_separated(separator, last):
        yield (Step(frozenset(separator), other=True, many=True),)
    else:
        yield (ANYTHING,)


_SHAPES: dict[type[Any], str] = {
    date: "dddd-dd-dd",
    datetime: "dddd-dd-ddTdd:dd:dd.ddddddZ",
    UUID: "x" * 8 + "-xxxx" * 3 + "-" + "x" * 12,
}


def _text(text: str) -> Steps:
    return tuple(Step(frozenset(c)) for c in text)
