"""Decimals in keys: a number too long for any key is refused before its text, of up to a gigabyte, is made."""

from __future__ import annotations

import tracemalloc
from decimal import Decimal

import pytest

from singletable import InvalidValue
from singletable.values.key_numbers import read_decimal, write_decimal


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1e999999", "a number of 1000000 digits; a key allows 26"),
        ("-1e26", "a number of 27 digits; a key allows 26"),
        ("1e-999999", "a number of 999999 decimals; no key has more than 2048 bytes"),
        ("-1e-2049", "a number of 2049 decimals; no key has more than 2048 bytes"),
    ],
)
def test_a_number_too_long_for_any_key_is_refused_without_its_text(text: str, said: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InvalidValue) as raised:
            write_decimal(Decimal(text))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert raised.value.what == said


@pytest.mark.parametrize("text", ["9" * 26, "-" + "9" * 26, "1e-130", "-1e-130", "12.5", "1e25"])
def test_what_a_number_may_be_is_written_and_read(text: str) -> None:
    assert read_decimal(write_decimal(Decimal(text))) == Decimal(text)


@pytest.mark.parametrize("text", ["0", "-0", "0e999999", "0e-999999"])
def test_zero_is_one_text_whatever_its_exponent(text: str) -> None:
    assert write_decimal(Decimal(text)) == "a0.0"
