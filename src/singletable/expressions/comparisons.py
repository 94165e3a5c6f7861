"""Checks that DynamoDB can compare the values that are sent. The service refuses other comparisons, or treats them as
never true; engines differ in which of the two."""

from __future__ import annotations

import operator
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from singletable.errors import InvalidRequest
from singletable.values import AttributeValue, ValuePlan

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ORDERINGS = frozenset({"<", "<=", ">", ">="})
_ORDER: Mapping[str, Callable[[Any], Any]] = {
    "N": Decimal,
    "S": str.encode,
    "B": lambda value: value if isinstance(value, bytes) else b64decode(value),
}
"""The service's order of the values of a type: numbers by amount, texts and bytes byte by byte."""
_WITHOUT_SIZE = frozenset({"N", "BOOL", "NULL"})
_KINDS = {
    "N": "a number",
    "S": "a text",
    "B": "bytes",
    "BOOL": "a bool",
    "NULL": "None",
    "L": "a list",
    "M": "a map",
    "SS": "a set",
    "NS": "a set",
    "BS": "a set",
}


def has_order(tag: str) -> bool:
    """Whether values of a type have an order."""
    return tag in _ORDER


def check_ordered(how: str, value: AttributeValue, attribute: str) -> None:
    """InvalidRequest for an order of what has none."""
    (tag,) = value
    if not has_order(tag):
        raise InvalidRequest(
            f"{how} compares texts, numbers and bytes, not {_KINDS[tag]}",
            attribute=attribute,
            hint="Compare it with == or !=, or ask contains().",
        )


def check_between(low: AttributeValue, high: AttributeValue, attribute: str) -> None:
    """InvalidRequest for bounds of two types, and for the higher one first."""
    for bound in (low, high):
        check_ordered("between()", bound, attribute)
    ((tag, one),), ((other_tag, other),) = low.items(), high.items()
    if tag != other_tag:
        raise InvalidRequest("between() takes two values of one type", attribute=attribute)
    if _ORDER[tag](one) > _ORDER[tag](other):
        raise InvalidRequest(
            "between() takes the lower value first", attribute=attribute, hint="Turn the two values around."
        )


def check_prefix(prefix: AttributeValue, attribute: str) -> None:
    """InvalidRequest for a beginning that no text and no bytes can have."""
    (tag,) = prefix
    if tag not in ("S", "B"):
        raise InvalidRequest(f"starts_with() takes a text or bytes, not {_KINDS[tag]}", attribute=attribute)


def check_sized(plan: ValuePlan, attribute: str) -> None:
    """InvalidRequest for the size of a number or a bool."""
    tag = getattr(plan, "tag", "")
    if tag in _WITHOUT_SIZE:
        raise InvalidRequest(f"{_KINDS[tag]} has no size", attribute=attribute, hint="Compare the value itself.")
