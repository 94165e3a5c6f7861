"""Sizes as DynamoDB counts them: AWS, "DynamoDB item sizes and formats"; numbers as bisected on the 400 KB limit."""

from __future__ import annotations

from typing import Any

import pytest

from singletable.values import item_size, largest_attributes, to_attribute_value
from singletable.values.sizes import number_size, value_size


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "é𝄞"}, 6),
        ({"B": "AAAA"}, 3),
        ({"B": "AAA="}, 2),
        ({"B": "AA=="}, 1),
        ({"B": ""}, 0),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + 3 + 2),
        ({"M": {}}, 3),
        ({"M": {"key": {"S": "ab"}}}, 3 + 3 + 2 + 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "22"]}, 4),
        ({"BS": ["AAAA", "AA=="]}, 4),
    ],
)
def test_the_size_of_a_value(value: dict[str, Any], size: int) -> None:
    assert value_size(value) == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[("0", 1), ("-0", 1), ("0.00", 1), ("7", 2), ("-7", 3), ("42", 2), ("123", 3), ("100", 2), ("120", 2)],
        *[("1E+2", 2), ("1.5", 3), ("0.05", 2), ("10.001", 4), ("100.1", 4), ("9" * 38, 20), ("1E-100", 2)],
        *[("12e3", 2), ("+5", 2)],
    ],
)
def test_the_size_of_a_number(text: str, size: int) -> None:
    assert number_size(text) == size


def test_names_count() -> None:
    item = {"pk": {"S": "a"}, "näme": {"S": "xyz"}, "n": {"N": "5"}}
    assert item_size(item) == (2 + 1) + (5 + 3) + (1 + 2)
    assert largest_attributes(item, 2) == [("näme", 8), ("pk", 3)]


@pytest.mark.parametrize("value", [5, "é", b"abc", [1, {"x": None}], {"a": {1, 2}}, True, None])
def test_json_is_never_shorter_than_the_size(value: object) -> None:
    """What lets a short body pass without counting."""
    import msgspec

    stored = to_attribute_value(value)
    assert value_size(stored) <= len(msgspec.json.encode(stored))
