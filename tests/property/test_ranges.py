"""A range lies around exactly the keys it means: what it gives as bounds, over texts."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import assume, given, strategies as st

from singletable.schema.key_bounds import Range, bounds, within
from singletable.schema.key_text import KeyPart, Slot, Template
from singletable.values.key_types import TOP
from tests.property.examples import times
from tests.property.keys import Role, Status, near, of_slot, separators, text
from tests.property.ranges import HOWS, wanted

TYPES = (str, int, Decimal, datetime, date, UUID, Role, Status)


def asked(how: str, low: Any, high: Any) -> Range:
    return Range(
        how,
        low if how in ("after", "at_least", "between") else None,
        high if how in ("before", "at_most", "between") else None,
    )


@given(st.data(), separators, st.sampled_from(TYPES), st.booleans(), st.sampled_from(HOWS))
def test_exactly_the_values_of_the_range_lie_in_it(
    data: st.DataObject, separator: str, kind: type, last: bool, how: str
) -> None:
    assume(kind is not str or separator == "#" or last)
    width = data.draw(st.sampled_from([0, 6])) if kind is int else 0
    slot = Slot.of("v", kind, f"0{width}" if width else "")
    tail = () if last else (KeyPart("", Slot.of("w", str)),)
    template = Template(
        (KeyPart("", Slot.of("a", str)), KeyPart(data.draw(st.sampled_from(["", "pv_"])), slot), *tail), separator
    )
    value, low, high = (data.draw(of_slot(slot)) for _ in range(3))
    close = near(value) if kind is str else st.just(value)
    low, high = (data.draw(st.just(bound) | close) for bound in (low, high))
    head = data.draw(text)
    lowest, highest = bounds(template, {"a": head}, slot, asked(how, low, high))
    written = template.write({"a": (other := data.draw(st.just(head) | text)), "v": value, "w": data.draw(text)})
    inside = lowest.encode() <= written.encode() <= highest.encode()
    assert inside == (wanted(how, value, low, high) and head == other)


@given(st.data(), separators, st.booleans())
def test_exactly_the_texts_that_start_so_lie_in_it(data: st.DataObject, separator: str, last: bool) -> None:
    slot = Slot.of("v", str)
    template = Template(
        (KeyPart("p"), KeyPart("", slot)) + (() if last else (KeyPart("", Slot.of("w", str)),)), separator
    )
    value = data.draw(text)
    start = data.draw(st.integers(0, 3).map(lambda n: value[:n]) | near(value))
    lowest, highest = bounds(template, {}, slot, Range("starting_with", low=start))
    written = template.write({"v": value, "w": data.draw(text)})
    assert (lowest.encode() <= written.encode() <= highest.encode()) == value.startswith(start)


CORNERS = ("\0", "a", "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000")
corners = st.sampled_from(CORNERS)


@times(20)
@given(st.lists(corners, min_size=1, max_size=3).map("".join), st.integers(0, 2), st.data())
def test_bounds_that_no_key_could_have_are_made_shorter(key: str, room: int, data: st.DataObject) -> None:
    limit = max(4, len(key.encode()) + room)
    ends = st.lists(corners | st.just(TOP), max_size=3).map("".join)
    low, high = (key[: data.draw(st.integers(0, 3))] + data.draw(ends) for _ in range(2))
    first, last = within(low, high, limit)
    assert max(len(first.encode()), len(last.encode())) <= limit
    assert (low.encode() <= key.encode() <= high.encode()) == (first.encode() <= key.encode() <= last.encode())
