"""Attribute values, items and keys against the documented limits of DynamoDB.

Source of the limits: the developer guide, "Quotas and constraints in Amazon DynamoDB" and "Supported data types and
naming rules".
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from decimal import Context, Decimal, InvalidOperation
from typing import Any

Typed = dict[str, Any]
"""One attribute value, as {"S": "text"}."""

MOST_DIGITS = 38
LEAST, BEYOND = Decimal("1e-130"), Decimal("1e126")
DEEPEST = 32
LONGEST_HASH_KEY, LONGEST_RANGE_KEY = 2048, 1024
LONGEST_KEY_NAME, LONGEST_NAME = 255, 65_535
LARGEST_ITEM = 400 * 1024
_EXACT = Context(prec=500)


def value_breaches(value: Typed, depth: int = 1) -> Iterator[str]:
    if len(value) != 1:
        yield f"a value has {len(value)} types"
        return
    if depth > DEEPEST:
        yield f"a value is nested deeper than {DEEPEST}"
        return
    [(kind, content)] = value.items()
    if kind in ("SS", "NS", "BS"):
        yield from _set_breaches(kind, content)
    if kind in ("N", "NS"):
        for number in [content] if kind == "N" else content:
            yield from _number_breaches(number)
    parts = content if kind == "L" else content.values() if kind == "M" else ()
    for part in parts:
        yield from value_breaches(part, depth + 1)


def _set_breaches(kind: str, content: list[str]) -> Iterator[str]:
    if not content:
        yield f"an {kind} is empty"
    members = {_number(each) for each in content} if kind == "NS" else set(content)
    if len(members) != len(content):
        yield f"an {kind} has a member twice"


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _number_breaches(text: str) -> Iterator[str]:
    number = _number(text)
    if number is None or not number.is_finite():
        yield "a number is none"
        return
    if len(_EXACT.normalize(number).as_tuple().digits) > MOST_DIGITS:
        yield f"a number has more than {MOST_DIGITS} digits"
    if number and not LEAST <= abs(number) < BEYOND:
        yield "a number is out of range"


# --- items and keys ---------------------------------------------------------------------------------------------------
def item_breaches(item: dict[str, Typed]) -> Iterator[str]:
    if not all(1 <= len(name.encode()) <= LONGEST_NAME for name in item):
        yield "an attribute's name is empty or too long"
    wrong = [breach for value in item.values() for breach in value_breaches(value)]
    yield from wrong
    if not wrong and item_size(item) > LARGEST_ITEM:
        yield f"an item of {item_size(item):,} bytes: more than 400 KB"


def key_breaches(key: dict[str, Typed], range_key: str | None) -> Iterator[str]:
    """Of a whole key, or of the key attributes of an item."""
    for name, value in key.items():
        if len(name.encode()) > LONGEST_KEY_NAME:
            yield "a key attribute's name is too long"
        if set(value) - {"S", "N", "B"}:
            yield f"a key attribute has the type {', '.join(value)}"
            continue
        most = LONGEST_RANGE_KEY if name == range_key else LONGEST_HASH_KEY
        size = value_size(value)
        if "N" not in value and not 1 <= size <= most:
            yield f"a key attribute has {size} bytes, not 1 to {most}"


def item_size(item: dict[str, Typed]) -> int:
    """In bytes, as DynamoDB counts them: names and values."""
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


def value_size(value: Typed) -> int:
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "B":
            return len(base64.b64decode(content))
        case "N":
            return _number_size(content)
        case "SS" | "NS" | "BS":
            return sum(value_size({kind[0]: each}) for each in content)
        case "L":
            return 3 + sum(1 + value_size(each) for each in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + value_size(each) for name, each in content.items())
        case _:
            return 1


def _number_size(text: str) -> int:
    """A byte for two significant digits, and one more; the sign has one too. The guide calls it approximate."""
    number = _number(text)
    if number is None or not number.is_finite():
        return len(text)
    digits = len(_EXACT.normalize(number).as_tuple().digits)
    return (digits + 1) // 2 + 1 + (number < 0)
