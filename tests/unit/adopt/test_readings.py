"""Which readings of a key are the likeliest."""

from __future__ import annotations

from singletable.adopt.key_texts import CLASSES, SlotValue
from singletable.adopt.readings import KeyTexts, cost, readings_of

NAME = frozenset({SlotValue("name", CLASSES["word"][1])})


def test_the_first_word_of_a_key_is_rather_a_literal_than_a_later_one() -> None:
    """Of one item a word behind a value may be another value."""
    assert cost(("user#", NAME), few=True) < cost((NAME, "#user"), few=True)


def test_of_a_key_with_many_readings_the_likeliest_are_followed() -> None:
    """Fourteen values that any class of text may be: more ways than are kept."""
    text = "#".join(f"a{n}b{n}" for n in range(14))
    assert 0 < len(readings_of([KeyTexts(text, {})])) <= 600
