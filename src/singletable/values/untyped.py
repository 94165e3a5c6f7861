"""Free-form values: any Python value that DynamoDB can hold, without a declared type.

    str S · int, Decimal, float N · bytes B · bool BOOL · None NULL · list L · dict M
    set of str SS · set of numbers NS · set of bytes BS

Reading back, a number is an int where it is whole and a Decimal otherwise, of a float's shortest text too; a set is a
set. A tuple is refused, as it would be read as a list.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from decimal import Decimal
from typing import Any, TypeVar, cast

from singletable.errors import InvalidValue
from singletable.values.checks import binary, text
from singletable.values.exact import named
from singletable.values.numbers import decimal_text, float_text, integer_text

T = TypeVar("T")
AttributeValue = dict[str, Any]
"""One value as DynamoDB's JSON has it: a dict of its type's letter to its text, {"S": "x"}."""


MAX_CONTAINERS = 31
"""Lists and maps in each other; the scalar in the innermost is DynamoDB's 32nd level."""
MAX_NAME_BYTES = 65_535


def to_attribute_value(value: Any, depth: int = 0) -> AttributeValue:
    """The attribute value of any Python value DynamoDB can hold; InvalidValue for any other. `depth` lists and maps are
    around it."""
    writer = _WRITERS.get(value.__class__)
    if writer is not None:
        return writer(value)
    nested = _NESTED.get(value.__class__) or _of_parent(_NESTED, value)
    if nested is not None:
        if depth >= MAX_CONTAINERS:
            raise too_deep()
        return nested(value, depth + 1)
    writer = _of_parent(_WRITERS, value)
    if writer is None:
        raise InvalidValue(
            f"DynamoDB has no type for a {named(value)}",
            hint="Declare the attribute's type, or give what DynamoDB has: a text, a number, a list.",
        )
    return writer(value)


def too_deep() -> InvalidValue:
    """The error for lists and maps in each other, deeper than DynamoDB takes."""
    return InvalidValue(
        f"a value nested deeper than the {MAX_CONTAINERS + 1} levels that DynamoDB takes",
        hint="Flatten it, or keep it as text.",
    )


def map_name(name: object) -> str:
    """The key of a map, checked: it is the name of what lies there."""
    if not isinstance(name, str):
        raise InvalidValue("the keys of a map are str", hint="Give the key's text, as str(key).")
    if not name:
        raise InvalidValue("a key of a map has at least one character", hint="Give it another name.")
    if len(name) * 4 > MAX_NAME_BYTES and len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        raise InvalidValue(f"a key of a map has at most {MAX_NAME_BYTES} bytes", hint="Keep it as a value.")
    return str.__str__(name)


def from_attribute_value(value: Mapping[str, Any]) -> Any:
    """The Python value of an attribute value; ValueError if it is none."""
    if len(value) != 1:
        raise ValueError("an attribute value has exactly one type")
    ((tag, inner),) = value.items()
    reader = _READERS.get(tag)
    if reader is None:
        raise ValueError("an attribute value of a type that is not known")
    return reader(inner)


def read_number(text: str) -> int | Decimal:
    """An int if the number is whole and written without an exponent; else the Decimal, with all its digits."""
    try:
        return int(text)
    except ValueError:
        return Decimal(text)


def _set(values: AbstractSet[Any]) -> AttributeValue:
    if not values:
        raise InvalidValue("DynamoDB has no empty set inside another value", hint="Leave it out, or use a list.")
    if all(isinstance(v, str) for v in values):
        return {"SS": sorted(map(text, values))}
    if all(isinstance(v, bytes) for v in values):
        return {"BS": sorted(b64encode(binary(v)).decode() for v in values)}
    numbers = {Decimal(text): text for text in map(_number, values)}  # 0.1 and Decimal("0.1") are one in DynamoDB
    return {"NS": sorted(numbers.values())}


def _number(value: object) -> str:
    if isinstance(value, Decimal):
        return decimal_text(value)
    return float_text(value) if isinstance(value, float) else integer_text(value)


def _map(value: Mapping[Any, Any], depth: int) -> AttributeValue:
    return {"M": {map_name(name): to_attribute_value(v, depth) for name, v in value.items()}}


def _list(value: Sequence[Any], depth: int) -> AttributeValue:
    return {"L": [to_attribute_value(e, depth) for e in value]}


def _of_parent(writers: Mapping[type[Any], T], value: object) -> T | None:
    return next((writer for kind, writer in writers.items() if isinstance(value, kind)), None)


_WRITERS: dict[type[Any], Callable[[Any], AttributeValue]] = {
    str: lambda v: {"S": v if v.__class__ is str else text(v)},
    bool: lambda v: {"BOOL": v},
    int: lambda v: {"N": integer_text(v)},
    Decimal: lambda v: {"N": decimal_text(v)},
    float: lambda v: {"N": float_text(v)},
    bytes: lambda v: {"B": b64encode(binary(v)).decode()},
    type(None): lambda _: {"NULL": True},
    set: _set,
    frozenset: _set,
}
_NESTED: dict[type[Any], Callable[[Any, int], AttributeValue]] = {list: _list, dict: _map}

_READERS: dict[str, Callable[[Any], Any]] = {
    "S": str,
    "N": read_number,
    "B": b64decode,
    "BOOL": bool,
    "NULL": lambda _: None,
    "SS": set,
    "NS": lambda v: {read_number(n) for n in v},
    "BS": lambda v: {b64decode(b) for b in v},
    "L": lambda v: [from_attribute_value(e) for e in v],
    "M": lambda v: {name: from_attribute_value(e) for name, e in cast("dict[str, Any]", v).items()},
}
