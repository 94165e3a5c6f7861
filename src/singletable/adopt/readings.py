"""Readings: the ways to read the texts of a key attribute as literals, and attributes in some form.

One text is read in every way that its item allows; each further item leaves the readings that are right for it, too.
Where several attributes stand in one place in all items, the place keeps them all: nothing here chooses.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from singletable.adopt.key_texts import ATOM, CLASSES, TIME_TEXT, UUID_TEXT, SlotValue

Piece = str | frozenset[SlotValue]
"""A literal; or what may stand there."""
Reading = tuple[Piece, ...]
Texts = Mapping[SlotValue, str]
"""The texts that an item's attributes would have in a key."""
_MOST = 600
"""The readings that are followed of a text of usual length; fewer of a longer one, which has more places to try."""
_USUAL_LENGTH = 128
_IN_KEY = {name: SlotValue("", form, name) for name, (_, form) in CLASSES.items()}
_ANYTHING = frozenset({_IN_KEY["rest"]})
_BREADTH = {name: {"word": 0.2, "part": 0.6, "rest": 9.0}.get(name, 0.1) for name in CLASSES}
"""The unlikelihood of a value that is in keys alone, by its class."""
_WORD = re.compile(r"[^\W_]+")
_MIXED = r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[0-9A-Za-z]{6,}"
_VALUE = re.compile(
    rf"(?<![0-9A-Za-z_])(?:{UUID_TEXT}|{TIME_TEXT}|\d{{2,}}|{_MIXED})(?![0-9A-Za-z])",
    re.ASCII,
)
"""An identifier, a time or a number in a literal: rather a value that is the same in all items that were read."""
_LEAST_INSIDE = 3
"""The least length of a value that a key has without a mark before or behind it."""
_LETTERS = re.compile(r"(?<![^\W_])[A-Za-z]{1,3}$")
"""The letters before the digits of a value, at the beginning of a word."""
_MARKS = re.compile(r"[#|/:]")


class KeyTexts(Struct, frozen=True):
    """A key's text in an item, with what the item's attributes would be there."""

    text: str
    places: Texts


def readings_of(keys: Sequence[KeyTexts]) -> list[Reading]:
    """The readings that are right for every item, the likeliest first."""
    few = len(keys) < 3
    first, *others = keys
    live = _likeliest(_all(first), few=few)
    for key in others:
        live = _likeliest((narrowed for reading in live for narrowed in fitting(reading, key)), few=few)
    return live


def readings_in(readings: Sequence[Reading], keys: Sequence[KeyTexts]) -> list[Reading]:
    """The readings that are right for more items, too; the likeliest first."""
    live = [*readings]
    for key in keys:
        live = [*dict.fromkeys(narrowed for reading in live for narrowed in fitting(reading, key))]
    return _likeliest(live, few=len(keys) < 3)


def _likeliest(readings: Iterable[Reading], *, few: bool) -> list[Reading]:
    return sorted(set(readings), key=lambda each: (cost(each, few=few), _order(each)))[:_MOST]


def _order(reading: Reading) -> list[str]:
    return [piece if isinstance(piece, str) else str(sorted(piece)) for piece in reading]


def cost(reading: Reading, *, few: bool) -> float:
    """The unlikelihood of a reading. Of few items a literal says little: it may be a value that is the same in them."""
    total = 1.5 if reading == (_ANYTHING,) else 0.0  # a literal in front of it says more
    for before, piece in zip(("", *reading), reading, strict=False):
        if isinstance(piece, str):
            total += 8.0 * sum(1 for _ in _VALUE.finditer(piece))
            total += sum(_word_cost(word, is_first=not before) for word in _WORD.findall(piece)) if few else 0
            continue
        total += min(_cost_of(place, before) for place in piece)
    return total


def _word_cost(word: str, *, is_first: bool) -> float:
    """The unlikelihood of a word as a literal, if few items were read: it may be a value."""
    return min(3.0, 0.4 * len(word)) if is_first or word.isupper() or word.istitle() else 5.0


def is_named(before: Piece, name: str) -> bool:
    """Whether the literal before a value ends with the name of an attribute: `#userid_`."""
    return isinstance(before, str) and before.rstrip("_:=#-").lower().endswith(name.lower())


def _cost_of(place: SlotValue, before: Piece) -> float:
    if not place.name:
        return 4.0 + _BREADTH[place.kind]
    return 1.0 + place.form.cost - 0.5 * is_named(before, place.name)


# --- one text ---------------------------------------------------------------------------------------------------------
def _all(key: KeyTexts) -> set[Reading]:
    """Every way to read one text."""
    spans, most = _spans(key), _MOST * _USUAL_LENGTH // max(len(key.text), _USUAL_LENGTH)
    known: dict[int, set[Reading]] = {len(key.text): {()}}
    for start in range(len(key.text) - 1, -1, -1):
        some: set[Reading] = {_with_literal(key.text[start], rest) for rest in known[start + 1]}
        for end, places in spans.get(start, {}).items():
            some |= {(frozenset(places), *rest) for rest in known[end]}
        known[start] = {*_likeliest(some, few=True)[:most]} if len(some) > most else some
    return known[0]


def _with_literal(character: str, rest: Reading) -> Reading:
    if rest and isinstance(rest[0], str):
        return (character + rest[0], *rest[1:])
    return (character, *rest)


def _spans(key: KeyTexts) -> Mapping[int, Mapping[int, set[SlotValue]]]:
    """The values that may stand in a text, by their first character and the one behind them."""
    spans: dict[int, dict[int, set[SlotValue]]] = defaultdict(lambda: defaultdict(set))
    for place, text in key.places.items():
        for match in re.finditer(f"(?={re.escape(text)})", key.text):
            start, end = match.start(), match.start() + len(text)
            if _is_between(key.text, start, end):
                spans[start][end].add(place)
    for match in ATOM.finditer(key.text):
        for end in _ends(key.text, match):
            for name in _classes_at(key.text, match.start(), end):
                spans[match.start()][end].add(_IN_KEY[name])
    return spans


def stands_in(text: str, key: str) -> bool:
    """Whether a text is in a key, and no part of a longer word or number there."""
    matches = re.finditer(f"(?={re.escape(text)})", key)
    return any(_is_between(key, match.start(), match.start() + len(text)) for match in matches)


def _is_between(text: str, start: int, end: int) -> bool:
    """Whether a value may stand there: between edges; or as the digits of a word of letters before it, as in `v7`."""
    if not _is_edge(text, end, end - start):
        return False
    return _is_edge(text, start, end - start) or (text[start].isdigit() and _LETTERS.search(text, 0, start) is not None)


def _is_edge(text: str, at: int, length: int) -> bool:
    """Whether a value of a length may begin or end there: not within a word or digits, between both if it is long."""
    if at in (0, len(text)):
        return True
    one, other = text[at - 1], text[at]
    return not (one.isalnum() and other.isalnum()) or (length >= _LEAST_INSIDE and one.isdigit() is not other.isdigit())


def _ends(text: str, match: re.Match[str]) -> Iterator[int]:
    """Where a value that is only in keys may end: with its word, at the next mark, at the end."""
    yield match.end()
    mark = _MARKS.search(text, match.end())
    yield mark.start() if mark else len(text)
    yield len(text)


def _classes_at(text: str, start: int, end: int) -> Iterator[str]:
    for name, (pattern, _) in CLASSES.items():
        match = pattern.match(text, start)
        if match is not None and match.end() == end:
            yield name


# --- further texts ----------------------------------------------------------------------------------------------------
def fitting(reading: Reading, key: KeyTexts, at: int = 0, start: int = 0) -> Iterator[Reading]:
    """The reading with what of its places is right for another item, in each way that fits."""
    if at == len(reading):
        if start == len(key.text):
            yield ()
        return
    piece = reading[at]
    if isinstance(piece, str):
        if key.text.startswith(piece, start):
            for rest in fitting(reading, key, at + 1, start + len(piece)):
                yield (piece, *rest)
        return
    for end, places in _held(piece, key, start).items():
        for rest in fitting(reading, key, at + 1, end):
            yield (frozenset(places), *rest)


def _held(piece: frozenset[SlotValue], key: KeyTexts, start: int) -> Mapping[int, set[SlotValue]]:
    """The values of a piece that the text has there, by their ends."""
    held: dict[int, set[SlotValue]] = defaultdict(set)
    for place in piece:
        if place.name:
            text = key.places.get(place, "")
            if text and key.text.startswith(text, start):
                held[start + len(text)].add(place)
            continue
        match = CLASSES[place.kind][0].match(key.text, start)
        if match is not None:
            held[match.end()].add(place)
    return held
