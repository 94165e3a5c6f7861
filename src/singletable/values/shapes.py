"""Shapes: the texts that a type writes, as steps: one character out of a set, or any number of them.

of_shape("dddd-dd-dd")              a digit for each d, a hexadecimal digit for each x, other characters as they are
"""

from __future__ import annotations

import re

from msgspec import Struct

DIGITS = "0123456789"
LOWER_CASE = "abcdefghijklmnopqrstuvwxyz"
UPPER_CASE = LOWER_CASE.upper()
"""The constants of `string`, whose import takes half a millisecond."""
DIGIT = frozenset(DIGITS)
HEX = frozenset(DIGITS + "abcdef")
LETTER = frozenset(LOWER_CASE)
_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n\r\v\f"
_LIKELY = f"x{LOWER_CASE}{DIGITS}{UPPER_CASE}{_SIGNS}é"
_CLASSES = {"d": DIGIT, "x": HEX}


class ShapeStep(Struct, frozen=True):
    """One character, or any number of them when `many`: those in `chars`, or all but those when `other`."""

    chars: frozenset[str]
    other: bool = False
    many: bool = False
    without: str = ""
    """Any characters but `chars`, one at least, in which this text of two or more does not stand."""

    def takes(self, character: str) -> bool:
        """Whether the character may stand there."""
        return (character in self.chars) is not self.other

    def common(self, step: ShapeStep) -> str | None:
        """A character that both take."""
        if not self.other and not step.other:
            return _likeliest(self.chars & step.chars)
        if self.other and step.other:
            return next(c for c in _LIKELY if c not in self.chars | step.chars)
        given, without = (step, self) if self.other else (self, step)
        return _likeliest(given.chars - without.chars)

    @property
    def regex(self) -> str:
        """The step as a regular expression."""
        if self.without:
            return ".+?"  # what is read is written again, and compared
        chars = re.escape("".join(sorted(self.chars)))
        one = f"[{'^' * self.other}{chars}]" if chars else "."
        return f"{one}{'*' * self.many}"


Steps = tuple[ShapeStep, ...]
ANYTHING = ShapeStep(frozenset(), other=True, many=True)


def exactly(text: str) -> Steps:
    """The steps of one text."""
    return tuple(ShapeStep(frozenset(c)) for c in text)


def of_shape(shape: str) -> Steps:
    """The steps of the texts of a shape."""
    return tuple(ShapeStep(_CLASSES.get(c) or frozenset(c)) for c in shape)


def _likeliest(chars: frozenset[str]) -> str | None:
    """One of them, so that the example makes sense: 1, which a number, a date and a UUID accept in every place."""
    return min(chars, key=lambda c: (c != "1", c), default=None)
