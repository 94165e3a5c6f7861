"""What docs/explanation/masks.md claims of masks, claim by claim."""

from __future__ import annotations

import calendar
import json
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from hashlib import blake2b, shake_256
from math import isqrt
from typing import Any
from uuid import UUID

import pytest

from singletable.exchange.masks import Mask, masked
from singletable.values.types import plan_for
from singletable.values.value_types import TEXT

KEY = b"sixteen random bytes, or more"
MASK, OTHER = Mask(KEY), Mask(b"another key of sixteen bytes")


def by_the_page(key: bytes, domain: bytes, number: int, count: int) -> int:
    """The permutation as the page gives it, written a second time."""
    secret = blake2b(key, digest_size=32).digest()
    a = isqrt(count - 1) + 1
    b = -(-count // a)

    def h(turn: int, half: int, size: int) -> int:
        said = secret + str(len(domain)).encode() + b" " + domain + f"{turn} {half}".encode()
        return int.from_bytes(shake_256(said).digest(size.bit_length() // 8 + 9), "big")

    while True:
        left, right = divmod(number, b)
        for turn in range(0, 8, 2):
            left = (left + h(turn, right, a)) % a
            right = (right + h(turn + 1, left, b)) % b
        number = left * b + right
        if number < count:
            return number


@pytest.mark.parametrize("year", [2023, 2024])
def test_the_construction_is_the_page_s(year: int) -> None:
    days = 366 if calendar.isleap(year) else 365
    for day in range(days):
        first = date(year, 1, 1)
        found = by_the_page(KEY, f"day {year}".encode(), day, days)
        assert MASK.day(first + timedelta(days=day)) == first + timedelta(days=found)


class Colour(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


def test_no_two_values_of_a_shape_meet() -> None:
    """Every value of small shapes: each mask is of the shape, and there once."""
    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    shapes: list[tuple[list[Any], Callable[[Any], Any]]] = [
        ([*range(10)], MASK.whole),
        ([*range(1000, 10_000)], MASK.whole),
        ([*range(-99, 100)], MASK.whole),  # a digit below zero does not become 0
        ([Decimal(n).scaleb(-1) for n in range(100) if n % 10 and n > 9], MASK.decimal),
        ([f"{a}{b}{c}" for a in "abcdefghij" for b in "klmnopqrst" for c in "0123456789"], MASK.text),
        ([bytes((a, b)) for a in range(256) for b in range(0, 256, 16)], MASK.octets),
        ([first + timedelta(seconds=n) for n in range(0, 365 * 86_400, 9_973)], MASK.instant),
    ]
    for values, make in shapes:
        assert len({make(each) for each in values}) == len(values)
    assert {MASK.whole(n) for n in range(1000, 10_000)} == set(range(1000, 10_000))
    assert {MASK.choice(each, [*Colour]) for each in Colour} == set(Colour)


def test_a_mask_tells_nothing_of_a_text_of_another_shape() -> None:
    """Texts that differ in their case alone have masks that differ in more; nothing is known from one of the other."""
    pairs = [("aBa", "aBB"), ("abC", "aBC"), ("Ab", "aB"), ("a1", "1a"), ("a-b", "ab-"), ("a", "A")]
    for one, other in pairs:
        alike = sum(mask.text(one).lower() == mask.text(other).lower() for mask in MANY)
        assert alike <= 10, (one, other)


MANY = [Mask(b"key number %08d" % n) for n in range(100)]


def test_each_key_has_masks_of_its_own_and_none_is_preferred() -> None:
    """A digit becomes each digit about as often, by 2,000 keys; so does a bool."""
    keys = [Mask(b"key number %08d" % n) for n in range(2_000)]
    digits = Counter[Any](mask.whole(7) for mask in keys)
    bools = Counter[Any](mask.choice(True, (False, True)) for mask in keys)
    for counts, many in ((digits, 10), (bools, 2)):
        mean = 2_000 / many
        assert len(counts) == many
        assert sum((each - mean) ** 2 / mean for each in counts.values()) < 40  # chi-square: by chance never
    assert MASK.text("Ada Lovelace") != OTHER.text("Ada Lovelace")


def test_what_stays_is_what_the_page_says() -> None:
    told = MASK.text("Ada O'Lovelace-Smith 42, München")
    kinds = ["U" if c.isupper() else "l" if c.islower() else "9" if c.isdigit() else c for c in told]
    assert "".join(kinds) == "Ull U'Ulllllll-Ullll 99, Ullllll"
    assert len(told.encode()) == len("Ada O'Lovelace-Smith 42, München".encode())
    assert MASK.text("ada@example.org").endswith(".invalid")
    assert MASK.day(date(1990, 5, 4)).year == 1990
    assert MASK.instant(datetime(1990, 5, 4, 3, 2, 1, 678, timezone.utc)).microsecond == 678
    assert 100 <= MASK.whole(555) <= 999
    assert -99 <= MASK.whole(-55) <= -10
    assert MASK.decimal(Decimal(0)) == 0
    assert MASK.decimal(Decimal("0.12")).as_tuple().exponent == -2
    assert len(MASK.octets(b"12345678901234567890")) == 20
    uuid = UUID("0190b6a0-0000-7000-8000-000000000001")
    assert (MASK.uuid(uuid).version, MASK.uuid(uuid).variant) == (uuid.version, uuid.variant)


def test_the_same_value_has_the_same_mask_wherever_it_stands() -> None:
    assert Mask(KEY).text("Ada") == MASK.text("Ada") != MASK.text("Adb")


def test_a_long_text_s_letters_are_spread_evenly() -> None:
    """Each by four bytes of a hash."""
    counts = Counter(MASK.text("a" * 26_000))
    assert len(counts) == 26
    assert sum((each - 1_000) ** 2 / 1_000 for each in counts.values()) < 70


def test_a_short_key_is_refused_and_none_is_shown() -> None:
    assert repr(MASK) == "Mask()"
    with pytest.raises(Exception, match="has 15 bytes"):
        Mask(b"x" * 15)


def test_names_of_parts_stay_in_free_values_and_json_texts_and_not_in_maps() -> None:
    """Programs look for them; the names in a map of declared values are values themselves."""
    told = json.loads(masked(MASK, TEXT, '{"street": "Longstreet", "flats": ["7b"]}'))
    assert (list(told), told["street"] == "Longstreet") == (["street", "flats"], False)
    assert list(masked(MASK, plan_for(dict[str, Any]), {"street": "x"})) == ["street"]
    assert list(masked(MASK, plan_for(dict[str, str]), {"street": "x"})) != ["street"]
