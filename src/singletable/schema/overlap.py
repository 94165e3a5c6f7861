"""Decides exactly whether two key templates could write the same text, with an example if they could: `automata`."""

from __future__ import annotations

from typing import cast

from singletable.schema.automata import common_text
from singletable.schema.key_text import Template


def could_meet(one: Template, other: Template) -> str | None:
    """A text that both templates could write, or None."""
    begins, other_begins = one.segments[:1], other.segments[:1]
    if begins and other_begins and not _begin_alike(begins[0][0], other_begins[0][0]):
        return None
    return common_text(one.automaton, other.automaton)


def _begin_alike(one: str, other: str) -> bool:
    """Whether two literals may stand at the beginning of one text."""
    return one.startswith(other) or other.startswith(one)


def common_key(one: tuple[Template, Template], other: tuple[Template, Template]) -> str | None:
    """A primary key that both pairs of templates could write, as a text for people, or None."""
    texts = [could_meet(a, b) for a, b in zip(one, other, strict=True)]
    return None if None in texts else " / ".join(cast("list[str]", texts))


def could_begin(one: Template, other: Template, parts: int) -> bool:
    """Whether `one` could write a text that begins as `other` does through its first `parts` parts.

    `other` whole, when it has no more parts than that.
    """
    begins = other.automaton if parts >= len(other.parts) else other.beginning(parts)
    return common_text(one.automaton, begins) is not None
