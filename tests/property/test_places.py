"""An object is read from under its own key and no other: by the compiled comparison as by the slow path."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as with_

from singletable import Corrupt
from singletable.schema.key_text import Part, Template
from singletable.schema.places import Places
from singletable.values import Codec, json_decoder, make_field
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
            Part(
                draw(LITERALS) + part.literal, with_(part.slot, name=f"{name}_{part.slot.name}") if part.slot else None
            )
            for part in drawn.parts
        ]
        made.append(replace(drawn, parts=tuple(parts)))
    return made[0], made[1]


class Reading:
    """A class of these keys, read in both ways."""

    def __init__(self, made: tuple[Template, Template]) -> None:
        slots = [part.slot for template in made for part in template.parts if part.slot]
        kind = dataclasses.make_dataclass("Kind", [(slot.name, slot.type) for slot in slots])
        fields = [make_field(f.name, f.type, f) for f in dataclasses.fields(kind)]
        self.kind: Any = kind
        self.places = Places(kind, "table", KEY, made, {field.name: field for field in fields})
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
    alone = {name: items[0][name] for name in KEY}
    assert reading.slow(alone) == wanted[0]


@settings(max_examples=300)
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
    with pytest.raises(Corrupt, match="lies under another"):
        reading.slow(item)
