"""The texts of expressions against the documented grammar and limits: placeholders, operators, length, paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.conformance.attribute_values import value_breaches

KINDS = (
    "KeyConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
    "ConditionExpression",
    "UpdateExpression",
)
LONGEST_EXPRESSION = 4096
MOST_OPERATORS = 300
MOST_IN = 100
BARE = "without a placeholder"
LONGEST_PLACEHOLDER = 255
_KEYWORDS = ("AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE")
_TESTS = ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size")
_SYNTAX = frozenset((*_KEYWORDS, *_TESTS, "if_not_exists", "list_append"))
_OPERATORS = 300
MOST_IN = 100
LONGEST_PLACEHOLDER = 255
_SYNTAX = frozenset(
    [
        "AND",
        "OR",
        "NOT",
        "BETWEEN",
        "IN",
        "SET",
        "REMOVE",
        "ADD",
        "DELETE",
        "attribute_exists",
        "attribute_not_exists",
        "attribute_type",
        "begins_with",
        "contains",
        "size",
        "if_not_exists",
        "list_append",
    ]
)
_OPERATOR = re.compile(
    r"\b(?:AND|OR|NOT|BETWEEN|IN)\b|<>|<=|>=|[=<>+]| - |"
    r"\b(?:attribute_\w+|begins_with|contains|size|if_not_exists|list_append)(?=\()"
)
_BARE_NAME = re.compile(r"(?<![#:\w.])[A-Za-z_]\w*")
_SECTION = re.compile(r"\b(SET|REMOVE|ADD|DELETE)\b")
_COMMA_OUTSIDE_CALLS = re.compile(r",(?![^(]*\))")
_IN_LIST = re.compile(r"\bIN \(([^)]*)\)")

Path = tuple[str, ...]


def expression_breaches(body: dict[str, Any]) -> Iterator[str]:
    """Of one request, or of one action of a transaction."""
    texts = {kind: body[kind] for kind in KINDS if kind in body}
    names, values = body.get("ExpressionAttributeNames"), body.get("ExpressionAttributeValues")
    yield from _placeholder_breaches(" ".join(texts.values()), names, values)
    for kind, text in texts.items():
        yield from (f"{kind} {breach}" for breach in _text_breaches(text))
    for value in (values or {}).values():
        yield from value_breaches(value)
    for kind, paths in (
        ("ProjectionExpression", projected(body)),
        ("UpdateExpression", updated(body)),
    ):
        if _overlap(paths):
            yield f"{kind}: two paths overlap"


def _placeholder_breaches(text: str, names: dict[str, str] | None, values: dict[str, Any] | None) -> Iterator[str]:
    for sign, said in (("#", names), (":", values)):
        used = set(re.findall(rf"{sign}\w+", text))
        if said is not None and not said:
            yield f"the table of {sign} is empty"
        if used - set(said or {}):
            yield f"a placeholder of {sign} is not in its table"
        if set(said or {}) - used:
            yield f"a placeholder of {sign} is not used"
        if any(len(each) > LONGEST_PLACEHOLDER for each in said or {}):
            yield f"a placeholder of {sign} is longer than {LONGEST_PLACEHOLDER}"
    if names and not all(names.values()):
        yield "an attribute's name is empty"


def _text_breaches(text: str) -> Iterator[str]:
    if not text:
        yield "is empty"
    if len(text.encode()) > LONGEST_EXPRESSION:
        yield f"is longer than {LONGEST_EXPRESSION} bytes"
    if operators(text) > MOST_OPERATORS:
        yield f"has more than {MOST_OPERATORS} operators"
    if any(len(each.split(",")) > MOST_IN for each in _IN_LIST.findall(text)):
        yield f"has an IN of more than {MOST_IN} operands"
    sections = _SECTION.findall(text)
    if len(sections) != len(set(sections)):
        yield "has a section twice"
    bare = [name for name in _BARE_NAME.findall(text) if name not in _SYNTAX]
    if bare:  # one of some 570 words is reserved, and DynamoDB adds more
        yield f"names {bare[0]} {BARE}"


def operators(text: str) -> int:
    return len(_OPERATOR.findall(text))


# --- paths ------------------------------------------------------------------------------------------------------------
def names_in(body: dict[str, Any], kind: str) -> set[str]:
    """The attributes that an expression names at the top."""
    names = body.get("ExpressionAttributeNames") or {}
    return {names.get(each, each) for each in re.findall(r"(?<!\.)#\w+", body.get(kind, ""))}


def projected(body: dict[str, Any]) -> list[Path]:
    text = body.get("ProjectionExpression", "")
    return [_path(each, body) for each in text.split(",") if each.strip()]


def updated(body: dict[str, Any]) -> list[Path]:
    """The paths that an update changes."""
    parts = _SECTION.split(body.get("UpdateExpression", ""))[2::2]
    return [_path(each, body) for part in parts for each in _COMMA_OUTSIDE_CALLS.split(part) if each.strip()]


def _path(text: str, body: dict[str, Any]) -> Path:
    names = body.get("ExpressionAttributeNames") or {}
    target = re.split(r"[ =]", text.strip(), maxsplit=1)[0]
    parts: list[str] = re.split(r"\.|(?=\[)", target)
    return tuple(names.get(each, each) for each in parts)


def _overlap(paths: list[Path]) -> bool:
    ordered = sorted(paths)
    return any(after[: len(before)] == before for before, after in pairwise(ordered))
