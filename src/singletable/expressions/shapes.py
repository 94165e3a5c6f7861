"""Texts that are made once for each shape: a further request of the same shape has new values only.

    shape, values = parted_updates((attr(User.age).set(36),))    # (("SET", User, "age"),), [36]
    blanks, expressions = Blanks((User,)), Expressions((User,))
    text = expressions.update(blanks.updates(shape))             # "SET #0 = :0"
    blanks.values_in(expressions).filled(values)                 # {":0": {"N": "36"}}

A shape is what the caller names, without the values. There is none where a value may decide over the text: None and an
empty set are absence, the key of a map and the number of an element are data. `Expressions` makes every text, of blanks
as of values. Who is given a value that does not fit renders it anew, as that names the attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from singletable.expressions.comparisons import OPERATORS, ORDERINGS, has_order
from singletable.expressions.conditions import JOINS, Condition, Given, Update
from singletable.expressions.handles import Handle, resolve
from singletable.expressions.texts import Expressions
from singletable.values import AttributeValue, FreePlan, writer_of

Shape = tuple[Any, ...]
"""Verbs or operators with the attributes that they are for, in their order."""
Parted = tuple[Shape, list[Any]]
"""A shape and its values, one for each of its parts."""
Write = Callable[[Any], AttributeValue]
_SHAPED_VERBS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})


def parted_updates(updates: Iterable[Update]) -> Parted | None:
    """The shape and values of changes; None where values may decide over the text."""
    shape: list[Any] = []
    values: list[Any] = []
    for update in updates:
        if update.__class__ is not Update:
            return None
        verb, value, place = update.verb, update.value, update.path.__dict__
        path = place["_path"]
        if len(path) != 1 or verb not in _SHAPED_VERBS:
            return None
        if (value is None and verb != "REMOVE") or (value.__class__ in _SETS and not value):
            return None
        shape.append((verb, place["_owner"], path[0]))
        values.append(value)
    return tuple(shape), values


def parted_condition(condition: Condition | None) -> Parted | None:
    """The same of comparisons, one or several that are joined; no condition has the empty shape."""
    if condition is None:
        return _NOTHING
    shape: list[Any] = [condition.how]
    values: list[Any] = []
    for test in condition.operands if condition.how in JOINS else (condition,):
        how, operands = test.how, test.operands
        if how not in OPERATORS or operands[0].__class__ is not Handle:
            return None
        place, value = operands[0].__dict__, operands[1]
        path = place["_path"]
        if len(path) != 1 or value is None or (value.__class__ in _SETS and not value):
            return None
        shape.append((how, place["_owner"], path[0]))
        values.append(value)
    return tuple(shape), values


_NOTHING: Parted = ((), [])
_SETS: frozenset[Any] = frozenset({set, frozenset})


class Unshaped(Exception):
    """Raised where the type of an attribute leaves it to a value which text is made."""


class BlankValues(Struct, frozen=True):
    """The values of a text that was made with blanks."""

    all: dict[str, AttributeValue]
    """By their placeholders, in order, the blanks among them."""
    blanks: tuple[tuple[str, int, Write | None], ...]
    """The placeholders of the blanks, each with the number of its value and what writes that; None: it is written."""

    def filled(self, given: Sequence[Any]) -> dict[str, AttributeValue]:
        """All values, those that are given in place of the blanks. Raises what a value's type raises for another."""
        values = self.all.copy()
        for placeholder, number, write in self.blanks:
            values[placeholder] = given[number] if write is None else write(given[number])
        return values


class Blanks:
    """Attribute values that are not known yet: each is an object of its own, by which it is found in the values."""

    def __init__(self, kinds: tuple[type[Any], ...]) -> None:
        self._kinds = kinds
        self._blanks: list[tuple[AttributeValue, int, Write | None]] = []

    def blank(self, number: int, write: Write | None) -> Given:
        """The blank of the value with a number among those that will be given."""
        value: AttributeValue = {"S": ""}
        self._blanks.append((value, number, write))
        return Given(value)

    def updates(self, shape: Shape, first: int = 0) -> list[Update]:
        """The changes of a shape, whose values are given from a number on. Raises Unshaped, and as `resolve`."""
        return [self._update(number, *part) for number, part in enumerate(shape, first)]

    def condition(self, shape: Shape, first: int = 0) -> Condition | None:
        """The condition of a shape, in the same way."""
        if not shape:
            return None
        how, *parts = shape
        tests = tuple(self._test(number, *part) for number, part in enumerate(parts, first))
        return Condition(how, tests) if how in JOINS else tests[0]

    def values_in(self, expressions: Expressions) -> BlankValues:
        """The values of all texts that were rendered, with the places of the blanks."""
        places = [
            (placeholder, number, write)
            for placeholder, value in expressions.values.items()
            for blank, number, write in self._blanks
            if blank is value
        ]
        return BlankValues(dict(expressions.values), tuple(places))

    def _update(self, number: int, verb: str, owner: type[Any], name: str) -> Update:
        handle = Handle(owner, name)
        plan = resolve(handle, self._kinds).plan
        if verb == "REMOVE":
            return Update(verb, handle)
        if verb != "SET" and isinstance(plan.without_none, FreePlan):  # a number is added, a set has members
            raise Unshaped
        return Update(verb, handle, self.blank(number, writer_of(plan)))

    def _test(self, number: int, how: str, owner: type[Any], name: str) -> Condition:
        handle = Handle(owner, name)
        plan = resolve(handle, self._kinds).plan
        if how in ORDERINGS and not has_order(getattr(plan.without_none, "tag", "")):
            raise Unshaped
        return Condition(how, (handle, self.blank(number, writer_of(plan))))
