"""`{name:folded}`: a text without case and accents, of which a search finds the beginning.

    fold("  Łódź  Straße ")     "lodz strasse"

Each character is folded by itself, so what begins a text begins it folded, too: `e` begins `é`, of one character
or two.

The rule is one for every Python. It takes the characters of Unicode 3.2, which the standard library has beside the
newest as `ucd_3_2_0`, and those in `_LATER`, which all were in Unicode 14, that of Python 3.11. Of a character that has
been assigned, decomposition, case folding and combining class never change:
https://www.unicode.org/policies/stability_policy.html. Other characters stand as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from singletable.values.key_lines import Piece
from singletable.values.key_types import EscapedText, KeyPlace, KeyType, check_key_text
from singletable.values.source import Source

LONGEST = 100
"""The characters of a folded text. They take 400 of the 1,024 bytes of a sort key: no text is too long for one."""
_FIRST = unicodedata.ucd_3_2_0
_LATER = (
    *((0x23A, 0x24F), (0x2C60, 0x2C7F), (0xA722, 0xA7CA), (0x1E9E, 0x1E9E)),  # Latin
    *((0x370, 0x377), (0x4F6, 0x52F), (0x1C80, 0x1C88), (0xA640, 0xA66D), (0xA680, 0xA69D)),  # Greek, Cyrillic
    *((0x10FC, 0x10FF), (0x1C90, 0x1CBA), (0x1CBD, 0x1CBF), (0x13F8, 0x13FD), (0xAB70, 0xABBF)),  # Georgian, Cherokee
    *((0x104B0, 0x104D3), (0x1E900, 0x1E94A), (0x7EB, 0x7F3)),  # Osage, Adlam, N'Ko
    *((0x1AB0, 0x1ACE), (0x1DC4, 0x1DFF), (0x2DE0, 0x2DFF)),  # marks
    *((0x1B06, 0x1B44), (0x11080, 0x110BA), (0x11100, 0x11134), (0x1134B, 0x1134D), (0x114BB, 0x114C3)),  # of two parts
    *((0x115BA, 0x115C0), (0x11938, 0x11938)),
    *((0xFA2E, 0xFA6D), (0xFA70, 0xFAD9), (0x2F800, 0x2FA1D)),  # Han; of the last ones Unicode 3.2 had five wrong
)
_PLAIN = {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"}
"""Letters that don't decompose, and what people type for them."""
_HIDDEN = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
)
"""Characters that only say how a text is shown: hyphens that may break, joiners, directions, forms of an emoji."""


def fold(text: str) -> str:
    """A text without case, accents and forms of one character, with one space between words. It may be empty."""
    return " ".join(text.translate(_FOLDS).split())


class _Folds(dict[int, str]):
    """The folded form of each character, as `str.translate` asks for it. Keeps those that change, 18,000 at most."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = _folded(character)
        if folded != character:
            self[code] = folded
        return folded


_FOLDS = _Folds()


def _folded(character: str) -> str:
    is_later = _is_in(_LATER, character)
    if not is_later and _FIRST.category(character) == "Cn":
        return character
    unicode = unicodedata if is_later else _FIRST
    decomposed = unicode.normalize("NFKD", unicode.normalize("NFKD", character).casefold())
    kept = (one for one in decomposed if not unicode.combining(one) and not _is_in(_HIDDEN, one))
    return "".join(_PLAIN.get(one, one) for one in kept)


def _is_in(ranges: Sequence[tuple[int, int]], character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)


class FoldedText(EscapedText, frozen=True):
    """A str that is folded, up to a length, then escaped as any."""

    word: ClassVar[str] = "folded"
    alike: ClassVar[str] = "'Ada' and 'ADÁ'"
    formats: ClassVar[tuple[str, ...]] = ()
    rule: int = 1
    """The rule's number: another rule is another form in a record, of which a plan writes the keys anew."""

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        escaped = re.compile(f"[{re.escape(self.escaped(place))}]")

        def write(value: Any) -> str:
            text = fold(str.__str__(self.checked(name, value)))[:LONGEST]
            check_key_text(name, text)
            return escaped.sub(lambda match: f"%{ord(match[0]):02X}", text)

        return write

    def source(self, place: KeyPlace, writer: Callable[[Any], str], source: Source, value: str) -> str:
        return KeyType.source(self, place, writer, source, value)

    def piece(self, literal: str, name: str, place: KeyPlace) -> Piece:
        return KeyType.piece(self, literal, name, place)

    def is_ordered(self, place: KeyPlace) -> bool:
        return False

    def why_unordered(self, place: KeyPlace) -> str:
        return "folded texts sort otherwise than the values; it takes starting_with() alone"

    def in_form(self, form: str) -> KeyType | None:
        return None
