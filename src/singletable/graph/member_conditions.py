"""Conditions on mirrored attributes. They are evaluated here, on the members of an edge set, not by the service.

They have the service's meaning: stored values are compared, texts by their bytes. A condition is validated first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from singletable.errors import InvalidRequest
from singletable.expressions import OPERATORS, Condition, Expressions, Handle, encoded, first_name, is_whole, owner_of
from singletable.foundation import model_of

_JOINED = ("AND", "OR", "NOT")
Test = Callable[[Mapping[str, Any]], bool]
_ON_TEXT: Mapping[str, Callable[[Any, Any], bool]] = {
    "begins_with": lambda text, prefix: text.startswith(prefix),
    "contains": lambda text, part: part in text,
}


def check_condition(condition: Condition, edge: type[Any]) -> None:
    """Raises InvalidRequest for a condition that the edge set can't answer, or that the service would refuse."""
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if part.how in _JOINED:
            waiting += reversed(part.operands)
        else:
            _check_test(part, edge)
    Expressions((edge,)).condition(condition)


def _check_test(condition: Condition, edge: type[Any]) -> None:
    how, operands = condition.how, condition.operands
    handle = operands[0]
    name = first_name(handle) if isinstance(handle, Handle) else ""
    mirrored = name in (edge.__mirrors__ or ()) and owner_of(handle) is edge and is_whole(handle)
    if not mirrored:
        raise InvalidRequest(
            f"{handle} is not mirrored in the edge set of {edge.__name__}",
            hint=f'Declare it, as in mirrors=("{name or "role"}",), or read the edges themselves.',
        )
    if how not in (*OPERATORS, *_ON_TEXT, "IN", "BETWEEN", "attribute_exists"):
        raise InvalidRequest(f"{how} can't be asked of an edge set", attribute=str(handle))
    tags = [_stored(edge, name, value, handle)[0] for value in operands[1:]]
    if how in _ON_TEXT and tags != ["S"]:
        raise InvalidRequest(f"{how} is asked of a text", attribute=str(handle))


def test_of(condition: Condition, edge: type[Any]) -> Test:
    """A validated condition as a function of a member's values."""
    how, operands = condition.how, condition.operands
    if how in ("AND", "OR"):
        tests, joined = [test_of(c, edge) for c in operands], all if how == "AND" else any
        return lambda values: joined(test(values) for test in tests)
    if how == "NOT":
        negated = test_of(operands[0], edge)
        return lambda values: not negated(values)
    name = first_name(operands[0])
    asked = [_stored(edge, name, value) for value in operands[1:]]
    return lambda values: _compare(how, _stored(edge, name, values[name]), asked)


def _compare(how: str, has: tuple[str, Any], asked: Sequence[tuple[str, Any]]) -> bool:
    if how == "attribute_exists":
        return True
    if how == "IN":
        return has in asked
    (tag, value), others = has, [other for _, other in asked]
    if any(other_tag != tag for other_tag, _ in asked):
        return how == "<>"
    if how == "BETWEEN":
        return bool(others[0] <= value <= others[1])
    return bool({**OPERATORS, **_ON_TEXT}[how](value, others[0]))


def _stored(edge: type[Any], name: str, value: Any, handle: Handle | None = None) -> tuple[str, Any]:
    """A value's type, and the form in which the service compares it: a number by amount, a text by its bytes."""
    if value is None:
        return "", b""
    ((tag, stored),) = encoded(model_of(edge).by_name[name].plan, value, handle).items()
    return tag, Decimal(stored) if tag == "N" else str(stored).encode()
