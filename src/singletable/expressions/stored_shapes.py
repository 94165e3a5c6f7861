"""Texts of what a layer asks of stored attributes and changes in them, made once for each shape.

    condition = Condition("=", (Stored("fence"), Given({"N": "7"})))
    stored_texts((AttributeChange("wake", {"S": "2026"}),), condition)
    # "SET #0 = :0", "#1 = :1", {"#0": "wake", "#1": "fence"}, {":0": {"S": "2026"}, ":1": {"N": "7"}}

A layer's conditions are trees of `Stored` and `Given` in any depth. Their shape is the tree without the given values,
as a flat tuple, so that nothing here recurses. `Expressions` renders the first of a shape; the next ones only have new
values. The texts of the last 512 shapes are kept. A condition that names an attribute of a class (`Handle`) has no
shape here, and an operator whose text or check depends on a value has none either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from singletable.expressions.comparisons import OPERATORS
from singletable.expressions.conditions import JOINS, Condition, Given, Stored
from singletable.expressions.texts import AttributeChange, Expressions
from singletable.values import AttributeValue

KEPT: Final = 512
_SHAPED: Final = frozenset({*OPERATORS, *JOINS, "NOT", "IN", "attribute_exists", "attribute_not_exists"})
_Parts = tuple[Any, ...]


class StoredTexts(Struct, frozen=True):
    """The texts of a request, with its names and values."""

    update: str
    condition: str | None
    names: Mapping[str, str]
    values: dict[str, AttributeValue]


class _Rendered(Struct, frozen=True):
    update: str
    condition: str | None
    names: Mapping[str, str]
    places: tuple[tuple[str, int], ...]
    """The placeholders, each with the number of its value."""


def stored_texts(changes: Iterable[AttributeChange], condition: Condition | None) -> StoredTexts | None:
    """The texts of changes and of a condition; None for what has no shape. Raises as `Expressions`."""
    values: list[AttributeValue] = []
    changed = _shape_of_changes(changes, values)
    asked = _shape_of(condition, values)
    if asked is None:
        return None
    texts = _rendered(changed, asked)
    filled = {placeholder: values[number] for placeholder, number in texts.places}
    return StoredTexts(texts.update, texts.condition, texts.names, filled)


# --- shapes -----------------------------------------------------------------------------------------------------------
def _shape_of_changes(changes: Iterable[AttributeChange], values: list[AttributeValue]) -> _Parts:
    """Each change without its values, which are added to `values`."""
    shape: list[Any] = []
    for change in changes:
        value, plus = change.value, change.plus
        if value is not None:
            values.append(value)
            if plus is not None:
                values.append(plus)
        shape.append((change.name, value is None, plus is None, change.keep, change.clause))
    return tuple(shape)


def _shape_of(condition: Condition | None, values: list[AttributeValue]) -> _Parts | None:
    """A condition as operators, each with the number of its operands and then these; its values are added to `values`.
    None if it has no shape."""
    if condition is None:
        return ()
    shape: list[Any] = []
    waiting: list[Any] = [condition]
    while waiting:
        part = waiting.pop()
        kind = part.__class__
        if kind is Given:
            values.append(part.value)
            shape.append(None)
        elif kind is Stored:
            shape.append(part)
        elif kind is Condition and part.how in _SHAPED:
            operands = part.operands
            shape += (part.how, len(operands))
            waiting += operands[::-1]
        else:
            return None
    return tuple(shape)


# --- what is made once ------------------------------------------------------------------------------------------------
@lru_cache(KEPT)
def _rendered(changed: _Parts, asked: _Parts) -> _Rendered:
    blanks: list[AttributeValue] = []
    expressions = Expressions()
    changes = [_change(blanks, *part) for part in changed]
    condition = _condition(asked, blanks)
    update = expressions.update((), changes) if changes else ""
    text = None if condition is None else expressions.condition(condition)
    numbers = {id(blank): number for number, blank in enumerate(blanks)}
    places = tuple((placeholder, numbers[id(value)]) for placeholder, value in expressions.values.items())
    return _Rendered(update, text, expressions.names, places)


def _blank(blanks: list[AttributeValue]) -> AttributeValue:
    """A value that is not known yet: an object of its own, by which it is found."""
    blanks.append({"S": ""})
    return blanks[-1]


def _change(
    blanks: list[AttributeValue], name: str, removes: bool, adds_nothing: bool, keep: bool, clause: Any
) -> AttributeChange:
    value = None if removes else _blank(blanks)
    plus = None if removes or adds_nothing else _blank(blanks)
    return AttributeChange(name, value, plus, keep, clause)


def _condition(shape: Sequence[Any], blanks: list[AttributeValue]) -> Condition | None:
    """The condition of a shape, with blanks in the order of its values."""
    given = [Given(_blank(blanks)) for part in shape if part is None]
    operands: list[Any] = []
    waiting = list(shape)
    while waiting:  # from its end: the operands of an operator are there before it
        part = waiting.pop()
        if part is None:
            operands.append(given.pop())
        elif part.__class__ is int:
            parts = tuple(operands.pop() for _ in range(part))
            operands.append(Condition(waiting.pop(), parts))
        else:
            operands.append(part)
    return operands[0] if operands else None
