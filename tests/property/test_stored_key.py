"""An object is read from under its own key and no other: by the compiled comparison as by the slow path."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, strategies as st
from msgspec.structs import replace as with_

from singletable.errors import Corrupt
from singletable.schema.key_text import KeyPart, Slot, Template
from singletable.schema.stored_key import StoredKey
from singletable.tables import TableDefinition
from singletable.values import Codec, json_decoder, make_field
from singletable.values.key_numbers import MAX_KEY_DIGITS, count_letter, write_integer
from tests.property.examples import times
from tests.property.keys import near, separators, templates, text, values

KEY = ("pk", "sk")
LITERALS = st.sampled_from(["", 'a"b', "{}", "it's", "\\", "é", "{x!r}", "$"])


@st.composite
def keys(draw: st.DrawFn, separator: str) -> tuple[Template, Template]:
    """The two templates of a class, with any literals between the values and behind them."""
    made: list[Template] = []
    for name in KEY:
        drawn = draw(templates(separator))
        parts = [
            KeyPart(
                draw(LITERALS) + part.literal, with_(part.slot, name=f"{name}_{part.slot.name}") if part.slot else None
            )
            for part in drawn.parts
        ]
        made.append(with_(drawn, parts=tuple(parts)))
    return made[0], made[1]


class Reading:
    """A class of these keys, read in both ways."""

    def __init__(self, made: tuple[Template, Template]) -> None:
        slots = [part.slot for template in made for part in template.parts if part.slot]
        kind = dataclasses.make_dataclass("Kind", [(slot.name, slot.type) for slot in slots])
        fields = [make_field(f.name, f.type, f) for f in dataclasses.fields(kind)]
        self.kind: Any = kind
        self.places = StoredKey(kind, TableDefinition("table", KEY), made, {field.name: field for field in fields})
        self.codec: Codec[Any] = Codec(kind, fields, keys=self.places.key_texts([slot.name for slot in slots]))
        wire: Any = self.codec.wire
        self._wires = json_decoder(list[wire], strict=False).decode

    def item(self, given_: dict[str, Any], pk: str, sk: str) -> dict[str, Any]:
        return {**self.codec.dump(self.kind(**given_)), "pk": {"S": pk}, "sk": {"S": sk}}

    def fast(self, *items: dict[str, Any]) -> list[Any] | None:
        """None where the compiled reader leaves them to the slow path."""
        try:
            return [self.codec.build(wire) for wire in self._wires(msgspec.json.encode(items))]
        except (ValueError, LookupError):
            return None

    def slow(self, item: dict[str, Any]) -> Any:
        found = self.codec.load(item, self.places.known_from(item))
        self.places.check(found, item)
        return found


@given(st.data(), separators)
def test_every_item_is_read_from_under_its_own_key(data: st.DataObject, separator: str) -> None:
    made = data.draw(keys(separator))
    reading = Reading(made)
    several = [{**data.draw(values(made[0])), **data.draw(values(made[1]))} for _ in range(2)]
    assume(all(template.prefix(given_) for template in made for given_ in several))
    items = [reading.item(given_, *(template.write(given_) for template in made)) for given_ in several]
    items.append(items[0])
    wanted = [reading.kind(**given_) for given_ in (*several, several[0])]
    assert reading.fast(*items) == wanted
    assert [reading.slow(item) for item in items] == wanted
    send_alone = {name: items[0][name] for name in KEY}
    assert reading.slow(send_alone) == wanted[0]


@times(3)
@given(st.data(), separators)
def test_no_item_is_read_from_under_another_key(data: st.DataObject, separator: str) -> None:
    """Whatever was read before, the two ways say the same, and what they read lies where it would be written."""
    made = data.draw(keys(separator))
    reading = Reading(made)
    one, other = ({**data.draw(values(made[0])), **data.draw(values(made[1]))} for _ in range(2))
    assume(all(template.prefix(given_) for template in made for given_ in (one, other)))
    own = [template.write(one) for template in made]
    assert reading.fast(reading.item(one, *own)) is not None
    stored = [data.draw(st.sampled_from([mine, template.write(other)]) | near(mine) | text)
              for mine, template in zip(own, made, strict=True)]  # fmt: skip
    item = reading.item(one, *stored)
    if stored == own:
        assert reading.fast(item) == [reading.slow(item)] == [reading.kind(**one)]
        return
    assert reading.fast(item) is None
    with pytest.raises(Corrupt, match="has another"):
        reading.slow(item)


NUMBERS = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-1000, 1000) | st.integers(0, 30).map(lambda n: 10**n)


@st.composite
def numbers_in(draw: st.DrawFn, number: int, width: int) -> str:
    """A text for a number: right, or what only looks right, as with the letter of another count or a bare minus."""
    digits = str(number)
    letters = [count_letter(count) for count in (len(digits), len(digits) - 1, len(digits) + 1)]
    texts = [lead + digits for lead in (*letters, "", "-", "0", "0" * (width - len(digits)))]
    texts += [f"{number:0{width}}", *(write_integer(n) for n in (number, -number) if abs(n) < 10**MAX_KEY_DIGITS)]
    return draw(st.sampled_from(texts))


@times(5)
@given(st.data(), NUMBERS, st.sampled_from([0, 0, 2, 6, 30]), st.sampled_from(["", "#x", "#{more}"]))
def test_a_number_in_a_key_is_compared_exactly(data: st.DataObject, number: int, width: int, end: str) -> None:
    """The fast reader compares digits that it joins itself: it takes only what the slow path takes."""
    parts = [KeyPart("order"), KeyPart(data.draw(LITERALS), Slot.of("number", int, f"0{width}" if width else ""))]
    parts += {"": [], "#x": [KeyPart("x")], "#{more}": [KeyPart("", Slot.of("more", int))]}[end]
    reading = Reading((Template((KeyPart("p"),)), Template(tuple(parts))))
    given_ = {"number": number, **({"more": 7} if end == "#{more}" else {})}
    text = "order#" + parts[1].literal + data.draw(numbers_in(number, width)) + end.replace("{more}", "a7")
    item = reading.item(given_, "p", text)
    try:
        wanted = [reading.slow(item)]
    except Corrupt:
        wanted = None
    found = reading.fast(item)
    assert found == wanted or (found is None and len(str(number)) > max(MAX_KEY_DIGITS, width))
    assert found is None or wanted is not None
