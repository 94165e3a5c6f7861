"""The words of a text, folded: what a search by words finds."""

from __future__ import annotations

import re
from typing import ClassVar

from singletable.values.key_forms.folded import LONGEST, fold
from singletable.values.key_types import EscapedText, KeyPlace, check_key_text

USUAL_WORDS, MOST_WORDS = 8, 24
"""The limit of words of one text. A write that changes all of them writes two items for each, of 100 in all."""
_SIGNS = re.compile(r"[\0-/:-@\[-`{-\x7f\U0010ffff]+")  # the last one ends ranges, and is in no key


def words_in(text: str, separator: str) -> list[str]:
    """The different words of a text, in their order: the parts between spaces, ASCII signs and the separator."""
    parts = _SIGNS.sub(" ", fold(text).replace(separator, " ")).split(" ")
    return list(dict.fromkeys(part[:LONGEST] for part in parts if part))


class WordsText(EscapedText, frozen=True):
    """The words of a str, up to a limit."""

    word: ClassVar[str] = "words"
    alike: ClassVar[str] = "two texts of the same words"
    formats: ClassVar[tuple[str, ...]] = ()
    most: int
    rule: int = 1
    """The rule's number. A record has it: after a change of the rule a plan rewrites the words."""

    def is_ordered(self, place: KeyPlace) -> bool:
        return False

    def why_unordered(self, place: KeyPlace) -> str:
        return "words have no order"

    def asked(self, name: str, text: object) -> str:
        """A text that is asked for. InvalidValue for another type, and for characters that no key has."""
        checked: str = self.checked(name, text)
        check_key_text(name, checked)
        return checked
