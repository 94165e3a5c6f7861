"""Decides exactly whether two key templates could write the same text, with an example if they could: `automata`."""

from __future__ import annotations

from typing import cast

from singletable.schema.automata import common_text
from singletable.schema.key_text import Template


def could_meet(one: Template, other: Template) -> str | None:
    """A text that both templates could write, or None."""
    return common_text(one.automaton, other.automaton)


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
