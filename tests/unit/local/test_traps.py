"""What upper layers ask about the engine."""

from __future__ import annotations

import pytest

from singletable.local import EMBEDDED, pad_sequence_number


def test_sequence_numbers_sort_as_numbers() -> None:
    numbers = [1, 9, 10, 99, 75000]
    assert sorted(pad_sequence_number(str(number)) for number in numbers) == [
        pad_sequence_number(str(number)) for number in numbers
    ]


@pytest.mark.parametrize("text", ["7", "123456789012345678901", "1234567890123456789012345"])
def test_a_sequence_number_keeps_its_value_and_has_the_width(text: str) -> None:
    padded = pad_sequence_number(text)
    assert int(padded) == int(text)
    assert len(padded) >= EMBEDDED.sequence_number_width


def test_the_traits_are_those_of_the_engine_in_use() -> None:
    assert EMBEDDED.scan_page_limit == 1000
    assert EMBEDDED.synchronous_indexes
    assert not EMBEDDED.sweeps_ttl
