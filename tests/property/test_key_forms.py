"""Keys in every form: different values give different texts or the key is refused, in the order of the values or ranges
are refused, and read back or are not told."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from singletable.schema.key_bounds import Range, bounds
from singletable.schema.key_text import Slot, Template
from singletable.values import VALUE_TYPES, in_form
from singletable.values.key_forms.every_form import FORMS
from singletable.values.key_forms.shard import SHARD, ShardText
from singletable.values.key_types import DecimalNumber, PaddedNumber, RestText, WholeNumber
from tests.property.key_forms import random_template, random_value
from tests.property.keys import rank

HOWS = ("before", "after", "at_least", "at_most", "between")


def checked(random: Random) -> str:
    """One key with two sets of values. Returns what was found of it."""
    template = random_template(random)
    if template is None:
        return "not a key"
    one, other = ({name: random_value(random, template, name) for name in template.names} for _ in range(2))
    for name in template.names:  # so that later values decide
        if random.random() < 0.4:
            other[name] = one[name]
    if not all(template.prefix(values) for values in (one, other)):
        return "empty"
    if template.meeting_when_open:
        check_example(template)
        return "ambiguous"
    check_told(template, one, other)
    check_prefix(template, one, other)
    return "ordered" if check_order(random, template, one, other) else "told"


def check_told(template: Template, one: dict[str, Any], other: dict[str, Any]) -> None:
    texts = [template.write(values) for values in (one, other)]
    alike = [tuple(template.text_of(slot, values[slot.name]) for slot in slots(template)) for values in (one, other)]
    assert (texts[0] == texts[1]) == (alike[0] == alike[1])
    for values, text in zip((one, other), texts, strict=True):
        told = {name: value for name, value in values.items() if name not in template.untold}
        assert template.read(text) == told
        again = template.read(text, whole=True)
        assert again is not None
        assert template.write(again) == text
        assert not template.alike or again.keys() == values.keys()


def check_example(template: Template) -> None:
    """Both readings of a text are values that give it, and differ. The shape of a number without a width doesn't count
    its digits, so a reading may have one that is none."""
    counted = any(isinstance(slot.key_type, (WholeNumber, DecimalNumber)) for slot in slots(template))
    if template.ambiguity is None or counted:
        return
    texts: list[dict[int, str]] = [{}, {}]
    for character, *places in template.ambiguity:
        for said, place in zip(texts, places, strict=True):
            said[place] = said.get(place, "") + character
    sides = [[said.get(2 * at + 1, "") for at, (_, slot) in enumerate(template.segments) if slot] for said in texts]
    assert sides[0] != sides[1]
    written = [[slot.key_type.read(text) for slot, text in zip(slots(template), side, strict=True)] for side in sides]
    names = template.names
    texts_of = [template.prefix(dict(zip(names, values, strict=True))) for values in written]
    assert texts_of[0] == texts_of[1] == "".join(character for character, _, _ in template.ambiguity)


def check_prefix(template: Template, one: dict[str, Any], other: dict[str, Any]) -> None:
    for known in range(len(template.names)):
        first = {name: one[name] for name in template.names[:known]}
        begins = template.write(other).startswith(template.prefix(first))
        same = all(
            template.text_of(slot, one[slot.name]) == template.text_of(slot, other[slot.name])
            for slot in slots(template)[:known]
        )
        assert begins == same


def check_order(random: Random, template: Template, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The first value that differs decides, where the template says that it has an order; a range has that order."""
    differing = [slot for slot in slots(template) if one[slot.name] != other[slot.name]]
    if not differing or not template.orders(differing[0]):
        return False
    slot = differing[0]
    mine, theirs = (rank(values[slot.name]) for values in (one, other))
    texts = [template.write(values).encode() for values in (one, other)]
    if not slot.key_type.is_truncated:
        assert (mine < theirs) == (texts[0] < texts[1])
    known = {name: one[name] for name in template.names[: template.names.index(slot.name)]}
    how, low, high = random.choice(HOWS), *sorted((one[slot.name], other[slot.name]), key=rank)
    has_low, has_high = how in ("after", "at_least", "between"), how in ("before", "at_most", "between")
    asked = Range(how, low if has_low else None, high if has_high else None)
    if slot.key_type.is_truncated:
        return True
    first, last = (text.encode() for text in bounds(template, known, slot, asked))
    for values, text in zip((one, other), texts, strict=True):
        value = rank(values[slot.name])
        inside = not (how == "before" and value >= rank(high)) and not (how == "after" and value <= rank(low))
        assert (first <= text <= last) == inside
    return True


def slots(template: Template) -> list[Slot]:
    return [slot for _, slot in template.segments if slot]


@pytest.mark.parametrize("draws", [400, pytest.param(20_000, marks=pytest.mark.soak)])
def test_a_key_in_any_form_is_told_ordered_and_read_back_or_refused(draws: int) -> None:
    kinds = [checked(Random(seed)) for seed in range(draws)]
    assert {"not a key", "ambiguous", "told", "ordered"} <= {*kinds}


def test_every_form_is_drawn() -> None:
    """Each that a key may have, but shards, which spread partitions alone: `tests/unit/schema/test_shards.py`."""
    templates = [random_template(Random(seed)) for seed in range(400)]
    drawn = {(slot.key_type.type, type(slot.key_type)) for one in templates if one for slot in slots(one)}
    own = {kind: value_type.key for kind, value_type in VALUE_TYPES.items() if value_type.key is not None}
    every = {(kind, type(in_form(own[kind], form.example))) for form in FORMS for kind in form.types}
    assert every - drawn == {(kind, ShardText) for kind in SHARD.types}
    assert {(str, RestText), (int, PaddedNumber)} <= drawn
