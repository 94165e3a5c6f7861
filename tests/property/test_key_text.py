"""Key text: different values give different texts, in the order of the values, exact by prefix, and read back."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from uuid import UUID

import pytest
from hypothesis import assume, given, strategies as st

from singletable import InvalidValue
from singletable.schema.key_text import MAX_PARTITION_BYTES, MAX_SORT_BYTES, KeyPart, Slot, Template
from singletable.values.key_types import KeyPlace
from tests.property.keys import CORNERS, Rank, Role, has_order, near, of_slot, rank, separators, templates, text, values


@given(st.data(), separators)
def test_a_text_reads_back_into_its_values(data: st.DataObject, separator: str) -> None:
    template = data.draw(templates(separator, rest=True))
    given_ = data.draw(values(template))
    written = "".join(template.prefix(given_))
    assume(written)
    assert template.write(given_) == written
    assert template.read(written) == given_


@given(st.data(), separators)
def test_different_values_give_different_texts(data: st.DataObject, separator: str) -> None:
    template = data.draw(templates(separator, rest=True))
    one, other = data.draw(values(template)), data.draw(values(template))
    assert (template.prefix(one) == template.prefix(other)) == (one == other)


@given(st.data(), separators)
def test_it_reads_only_what_it_writes(data: st.DataObject, separator: str) -> None:
    template = data.draw(templates(separator))
    pieces = st.sampled_from(
        ["-", "#", "/", "2026-11-20", "2026", "11", "a5", "%", "%23", "%2F", "user", "x", "000005", "b12.5"]
    )
    said = "".join(data.draw(st.lists(pieces, max_size=6)))
    found = template.read(said)
    assert found is None or template.write(found) == said


@given(st.data(), separators)
def test_texts_sort_as_tuples_of_values(data: st.DataObject, separator: str) -> None:
    template = data.draw(templates(separator, rest=True))
    *before, last = template.parts
    assume(has_order(last, separator, True) and all(has_order(part, separator, False) for part in before))
    one, other = data.draw(values(template)), data.draw(values(template))
    for name in template.names:
        if data.draw(st.booleans()):
            other[name] = one[name]  # so that later parts decide
        elif isinstance(one[name], str):
            other[name] = data.draw(near(one[name]))
    mine, theirs = ([rank(v[name]) for name in template.names] for v in (one, other))
    first, second = (template.prefix(v).encode() for v in (one, other))
    assert (mine < theirs) == (first < second)


@given(st.data(), text, separators, st.sampled_from(["", "pv_"]))
def test_a_text_that_is_last_sorts_as_its_bytes(data: st.DataObject, one: str, separator: str, literal: str) -> None:
    other = data.draw(near(one))
    template = Template((KeyPart("p"), KeyPart(literal, Slot.of("v", str))), separator)
    first, second = (template.write({"v": v}).encode() for v in (one, other))
    assert (one.encode() < other.encode()) == (first < second)


@pytest.mark.parametrize(("separator", "last"), [("#", True), ("#", False), ("/", True), ("-", True)])
def test_every_character_sorts_in_its_place(separator: str, last: bool) -> None:
    """All of them in every place: chance finds the one that is wrong too seldom."""
    characters = [*map(chr, range(0x80)), *CORNERS]
    said = {"", *characters, *(c + "a" for c in characters), *("a" + c for c in characters), "##", "#$", "$#", "%#"}
    said |= {"%25", "%2D", "%2F", "--", "-%", "%-", "//", "/%", "%/"}
    tail = () if last else (KeyPart("", Slot.of("w", str)),)
    template = Template((KeyPart("p"), KeyPart("", Slot.of("v", str)), *tail), separator)
    values = [{"v": v, "w": w} for v in said for w in (("",) if last else ("", "a", "#", "~"))]
    by_value = sorted(values, key=lambda v: (v["v"].encode(), v["w"].encode()))
    assert sorted(values, key=lambda v: template.write(v).encode()) == by_value
    assert [template.read(template.write(v)) for v in by_value] == [{n: v[n] for n in template.names} for v in by_value]


@given(st.data(), separators)
def test_a_prefix_is_exact(data: st.DataObject, separator: str) -> None:
    template = data.draw(templates(separator))
    names = template.names
    assume(names)
    one, other = data.draw(values(template)), data.draw(values(template))
    known = data.draw(st.integers(0, len(names) - 1))
    if data.draw(st.booleans()):
        other |= {name: one[name] for name in names[:known]}
    prefix = template.prefix({name: one[name] for name in names[:known]})
    begins = template.prefix(other).encode().startswith(prefix.encode())
    assert begins == all(one[name] == other[name] for name in names[:known])


@given(st.uuids(), st.emails(), st.from_regex(r"[A-Za-z0-9_.]{1,12}", fullmatch=True))
def test_what_people_use_stands_as_it_is(ref: UUID, email: str, slug: str) -> None:
    for value in (ref, slug, "Ada Lovelace", date(2026, 11, 20)):
        template = Template((KeyPart("user"), KeyPart("", Slot.of("v", type(value)))), "#")
        assert template.write({"v": value}) == f"user#{value}"
    if not set(email) & set("#$%"):
        assert Template((KeyPart("user"), KeyPart("", Slot.of("v", str))), "#").write({"v": email}) == f"user#{email}"


def write(value: object, *, last: bool = True, separator: str = "#", width: int = 0) -> str:
    slot = Slot.of("v", type(value), f"0{width}" if width else "")
    return slot.key_type.writer("v", KeyPlace(separator, last))(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (7, "a7"),
        (42, "b42"),
        (1000, "d1000"),
        (0, "a0"),
        (-7, "-z2"),
        (-42, "-y57"),
        (Decimal("12.5"), "b12.5"),
        (Decimal("0.05"), "a0.05"),
        (Decimal("12.00"), "b12.0"),
        (Decimal("-12.5"), "-y87.4~"),
        (Decimal("1E+3"), "d1000.0"),
        (Decimal("-0.0"), "a0.0"),
        (date(2026, 11, 20), "2026-11-20"),
        (datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc), "2026-11-20T09:30:00.000000Z"),
        (UUID("CB421E73-43BB-4C68-BEA3-BE8F1F6140E8"), "cb421e73-43bb-4c68-bea3-be8f1f6140e8"),
        (Role.LEAD, "500.LEAD"),
        (Rank.HIGH, "b20"),
        ("50% #1", "50%25 %231"),
    ],
)
def test_the_rule_by_example(value: object, said: str) -> None:
    assert write(value) == said


def test_before_another_part_spaces_are_escaped_and_with_other_separators_they_are_not() -> None:
    assert write("Ada L.", last=False) == "Ada%20L."
    assert write("a-b/c d%", separator="/", last=False) == "a-b%2Fc d%25"
    assert write("a-b/c d%", separator="-", last=False) == "a%2Db/c d%25"
    assert write("a-b/c d%", separator="/") == write("a-b/c d%", separator="-") == "a-b/c d%25"
    assert write(42, width=6) == "000042"


class Seven(int, Enum):
    """Formatted by its name, from Python 3.12 on."""

    SEVEN = 7


class Eight(IntEnum):
    EIGHT = 8


class Odd(int):
    """Written otherwise than the number that it is."""

    def __str__(self) -> str:
        return "odd"

    def __format__(self, spec: str) -> str:
        return "000odd"


@pytest.mark.parametrize(("number", "digit"), [(Seven.SEVEN, 7), (Eight.EIGHT, 8), (Odd(9), 9)])
def test_a_number_of_a_subclass_is_written_as_the_number(number: int, digit: int) -> None:
    for width, said in ((0, f"a{digit}"), (6, f"00000{digit}")):
        template = Template((KeyPart("", Slot.of("v", int, f"0{width}" if width else "")),), "#")
        assert template.write({"v": number}) == template.prefix({"v": number}) == said


@pytest.mark.parametrize("number", [-1, 1_000_000, 10**20])
def test_a_number_that_does_not_fit_its_width_is_refused(number: int) -> None:
    with pytest.raises(InvalidValue, match="does not fit its width"):
        write(number, width=6)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, 5),
        (int, "5"),
        (int, True),
        (int, 5.0),
        (int, None),
        (int, 10**26),
        (Decimal, Decimal("NaN")),
        (Decimal, 5),
        (datetime, datetime(2026, 1, 1)),
        (datetime, date(2026, 1, 1)),
        (date, datetime(2026, 1, 1, tzinfo=timezone.utc)),
        (UUID, "cb421e73-43bb-4c68-bea3-be8f1f6140e8"),
        (Role, "LEAD"),
        (str, "\ud800"),
        (str, "\U0010ffff"),
    ],
)
def test_a_value_without_a_place_in_a_key_is_refused(kind: type, value: object) -> None:
    with pytest.raises(InvalidValue) as caught:
        Slot.of("v", kind).key_type.writer("v", KeyPlace("#", is_last=True))(value)
    assert "cb42" not in str(caught.value)


@pytest.mark.parametrize("value", ["a\x00b", "a\nb", "\x7f", "e\u0301", "\u0085"])
def test_an_identifier_is_normal_and_without_controls(value: str) -> None:
    text = Slot.of("v", str).key_type
    with pytest.raises(InvalidValue):
        text.writer("v", KeyPlace("#", is_last=True, is_identifier=True))(value)
    assert text.writer("v", KeyPlace("#", is_last=True))(value)


@given(st.data())
def test_a_key_over_its_limit_is_refused(data: st.DataObject) -> None:
    limit = data.draw(st.sampled_from([MAX_SORT_BYTES, MAX_PARTITION_BYTES]))
    template = Template((KeyPart("", Slot.of("v", str)),), "#", limit=limit)
    size = data.draw(st.integers(limit - 24, limit + 26))
    value = data.draw(st.sampled_from(["a", "é", "𝄞"])) * size
    if len(value.encode()) <= limit:
        assert template.write({"v": value}) == value
    else:
        with pytest.raises(InvalidValue, match=str(limit)):
            template.write({"v": value})
    with pytest.raises(InvalidValue, match="empty"):
        template.write({"v": ""})
    assert of_slot(template.parts[0].slot or Slot.of("v", str)) is not None
