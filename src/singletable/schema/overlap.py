"""Decides exactly whether two key templates could write the same text, with an example if they could.

Each template is a few sequences of steps, a step being one character out of a set, or any number of them. Two
sequences meet when a walk through both at once reaches both ends; the characters taken on the way are the example.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import cast

from singletable.schema.key_text import KeyPart, Template
from singletable.values import ANYTHING, Steps, exactly


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
    head = Template((*other.parts[:parts], KeyPart(literal)), other.separator)
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
    choices = [list(_part(template, part)) for part in template.parts]
    joint = exactly(template.separator)
    for chosen in product(*choices):
        steps: Steps = ()
        for i, part in enumerate(chosen):
            steps += (*joint, *part) if i else part
        yield steps


def _part(template: Template, part: KeyPart) -> Iterator[Steps]:
    before = exactly(part.literal)
    if part.slot is None:
        yield before
        return
    for steps in part.slot.key_type.paths(template.place_of(part.slot)):
        yield (*before, *steps)
