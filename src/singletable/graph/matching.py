"""Conditions on what an edge set mirrors: checked when they are written, and asked of members here, not by the service.

They mean what the service means by them: stored values are compared, texts by their bytes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from singletable.errors import InvalidRequest
from singletable.expressions import Condition, Handle, encoded, first_name, is_whole, owner_of
from singletable.records.models import model_of

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_JOINED = ("AND", "OR", "NOT")
_ON_TEXT: Mapping[str, Callable[[Any, Any], bool]] = {
    "begins_with": lambda text, prefix: text.startswith(prefix),
    "contains": lambda text, part: part in text,
}


def check_condition(condition: Condition, edge: type[Any]) -> None:
    """InvalidRequest for what the edge set can't answer."""
    how, operands = condition.how, condition.operands
    if how in _JOINED:
        for operand in operands:
            check_condition(operand, edge)
        return
    handle = operands[0]
    name = first_name(handle) if isinstance(handle, Handle) else ""
    mirrored = name in (edge.__mirrors__ or ()) and owner_of(handle) is edge and is_whole(handle)
    if not mirrored:
        raise InvalidRequest(
            f"{handle!r} is not mirrored in the edge set of {edge.__name__}",
            hint=f'Declare it, as in mirrors=("{name or "role"}",), or read the edges themselves.',
        )
    if how not in (*_COMPARED, *_ON_TEXT, "IN", "BETWEEN", "attribute_exists"):
        raise InvalidRequest(f"{how} can't be asked of an edge set", attribute=repr(handle))
    tags = [_stored(edge, name, value, handle)[0] for value in operands[1:]]
    if how in _ON_TEXT and tags != ["S"]:
        raise InvalidRequest(f"{how} is asked of a text", attribute=repr(handle))


def holds(condition: Condition, edge: type[Any], values: Mapping[str, Any]) -> bool:
    """Whether a condition that was checked holds for a member's values."""
    how, operands = condition.how, condition.operands
    if how == "AND":
        return all(holds(c, edge, values) for c in operands)
    if how == "OR":
        return any(holds(c, edge, values) for c in operands)
    if how == "NOT":
        return not holds(operands[0], edge, values)
    name = first_name(operands[0])
    has = _stored(edge, name, values[name])
    if how == "attribute_exists":
        return True
    asked = [_stored(edge, name, value) for value in operands[1:]]
    if how == "IN":
        return has in asked
    (tag, value), others = has, [other for _, other in asked]
    if any(other_tag != tag for other_tag, _ in asked):
        return how == "<>"
    if how == "BETWEEN":
        return bool(others[0] <= value <= others[1])
    return bool({**_COMPARED, **_ON_TEXT}[how](value, others[0]))


def _stored(edge: type[Any], name: str, value: Any, handle: Handle | None = None) -> tuple[str, Any]:
    """A value's type and what the service compares; a number by its amount, a text by its bytes."""
    if value is None:
        return "", b""
    ((tag, stored),) = encoded(model_of(edge).by_name[name].plan, value, handle).items()
    return tag, Decimal(stored) if tag == "N" else str(stored).encode()
