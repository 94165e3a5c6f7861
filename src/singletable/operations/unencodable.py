"""Where a request holds a text that has no form in UTF-8, for its error. Looked for after it was refused alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

_EXPRESSIONS = ("UpdateExpression", "ConditionExpression", "FilterExpression", "KeyConditionExpression")
_TAGS = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})


def attribute_of(body: Any) -> str | None:
    """The attribute that holds such a text, as `tags` or `home.city`; None where that can't be told."""
    for request, value_name, steps in _places(body, {}, "", ()):
        names = [step for step in steps if step not in _TAGS]
        if value_name:
            names = [*_compared_with(request, value_name), *names]
        return ".".join(names).encode("utf-8", "backslashreplace").decode() or None
    return None


Place = tuple[Mapping[str, Any], str, tuple[str, ...]]


def _places(value: Any, request: Mapping[str, Any], value_name: str, steps: tuple[str, ...]) -> Iterator[Place]:
    """Each such text: the request around it, its placeholder in an expression, and the names on the way to it."""
    if isinstance(value, str):
        if not _has_form(value):
            yield request, value_name, steps
    elif isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        around = held if "TableName" in held else request
        for name, one in held.items():
            inside = () if name in ("Item", "Key", "ExpressionAttributeValues") else (*steps, name)
            placeholder = name if name.startswith(":") else value_name
            if not _has_form(name):
                yield around, value_name, inside
            yield from _places(one, around, placeholder, () if name.startswith(":") else inside)
    elif isinstance(value, (list, set, frozenset)):
        for one in cast("list[Any]", value):
            yield from _places(one, request, value_name, steps)


def _compared_with(request: Mapping[str, Any], value_name: str) -> tuple[str, ...]:
    """The attribute before a placeholder in an expression."""
    names = cast("Mapping[str, str]", request.get("ExpressionAttributeNames", {}))
    text = " ".join(str(request.get(expression, "")) for expression in _EXPRESSIONS)
    before = re.split(f"{value_name}(?![0-9])", text)[0]
    found = re.findall(r"#[0-9]+(?:\.#[0-9]+|\[[0-9]+\])*", before)
    return (re.sub("#[0-9]+", lambda name: names[name[0]], found[-1]),) if found else ()


def _has_form(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
