"""Sizes in bytes, as DynamoDB counts them for its 400 KB limit and for capacity units.

Sources: AWS, "DynamoDB item sizes and formats"; for numbers the exact rule, found by bisecting the 400 KB limit, is
half a byte a digit on each side of the point, one byte more, and one for a sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MAX_ITEM_BYTES = 409_600
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """The bytes of a whole item: names and values, keys included."""
    return sum(text_size(name) + value_size(value) for name, value in item.items())


def largest_attributes(item: Mapping[str, Mapping[str, Any]], count: int = 3) -> list[tuple[str, int]]:
    """The attributes that take most of an item, largest first, with their bytes."""
    sizes = [(name, text_size(name) + value_size(value)) for name, value in item.items()]
    return sorted(sizes, key=lambda pair: -pair[1])[:count]


def value_size(value: Mapping[str, Any]) -> int:
    """The bytes of one attribute value, without its name."""
    ((tag, inner),) = value.items()
    if tag == "S":
        return text_size(inner)
    if tag == "N":
        return number_size(inner)
    if tag == "B":
        return binary_size(inner)
    if tag == "SS":
        return sum(map(text_size, inner))
    if tag == "NS":
        return sum(map(number_size, inner))
    if tag == "BS":
        return sum(map(binary_size, inner))
    if tag == "L":
        return 3 + sum(value_size(element) + 1 for element in inner)
    if tag == "M":
        return 3 + sum(text_size(name) + value_size(element) + 1 for name, element in inner.items())
    return 1  # BOOL and NULL


def text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def texts_size(texts: Iterable[str]) -> int:
    """The size of all texts together, in a fraction of the time."""
    return text_size("".join(texts))


def binary_size(value: bytes | str) -> int:
    """Raw bytes; the wire's base64 text counts as what it stands for."""
    return len(value) if isinstance(value, bytes) else len(value) * 3 // 4 - value[-2:].count("=")


def number_size(text: str) -> int:
    mantissa, _, exponent = text.upper().partition("E")
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    shift = int(exponent or 0)
    digits, point = whole + fraction, len(whole) + shift
    if point > len(digits):
        digits += "0" * (point - len(digits))
    if point < 0:
        digits, point = "0" * -point + digits, 0
    left, right = digits[:point].lstrip("0"), digits[point:].rstrip("0")
    if not left and not right:
        return 1
    # Zeros that only place the point are not stored: 12000 takes what 12 takes, and 0.0012 too.
    left, right = left if right else left.rstrip("0"), right if left else right.lstrip("0")
    return (len(left) + 1) // 2 + (len(right) + 1) // 2 + 1 + text.startswith("-")
