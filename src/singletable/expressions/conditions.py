"""`attr(User.age) >= 18`: conditions and updates, typed by the attribute.

A condition or an update is a frozen value; `render` turns it into DynamoDB's text. Nothing here is a string of the
caller's: names and values go to the service as placeholders only.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from typing import Any, Generic, NoReturn, TypeVar, overload

from msgspec import Struct

from singletable.expressions.handles import Handle
from singletable.values import AttributeValue

T = TypeVar("T")
V = TypeVar("V")
T_contra = TypeVar("T_contra", contravariant=True)
JOINS = frozenset({"AND", "OR"})


class Condition(Struct, frozen=True):
    """Asked by the database. `how` is an operator or function, `operands` what stands around or in it."""

    how: str
    operands: tuple[Any, ...]

    def __repr__(self) -> str:
        """The condition without the values that it compares with, as a traceback may show it."""
        return f"<{words(self)}>"

    def __and__(self, other: Condition) -> Condition:
        return self._with("AND", other)

    def __or__(self, other: Condition) -> Condition:
        return self._with("OR", other)

    def __invert__(self) -> Condition:
        return Condition("NOT", (self,))

    def _with(self, how: str, other: Condition) -> Condition:
        """Both; `a & b & c` is one AND of three, so that long chains stay flat."""
        other = _condition(other)
        before = self.operands if self.how == how else (self,)
        return Condition(how, (*before, *(other.operands if other.how == how else (other,))))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a condition is asked by the database: combine with & | ~, not and/or/not, "
            "and write a < x < b as x.between(a, b)"
        )


def handles_in(condition: Condition) -> Iterator[Handle]:
    """The attributes that a condition names, in their order."""
    waiting: list[Any] = [condition]
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Condition):
            waiting += reversed(operand.operands)
        elif isinstance(operand, Size):
            waiting.append(operand.handle)
        elif isinstance(operand, Handle):
            yield operand


def _condition(value: object) -> Condition:
    if not isinstance(value, Condition):
        raise TypeError(f"a condition is combined with a condition, not with a {type(value).__name__}: compare first")
    return value


class Update(Struct, frozen=True):
    """A change of one attribute. `verb` is SET, ADD, DELETE, REMOVE or APPEND."""

    verb: str
    path: Handle
    value: Any = None

    def __repr__(self) -> str:
        """The update without its value, as a traceback may show it."""
        return f"<{self.verb} {self.path}>"

    @property
    def is_of_members(self) -> bool:
        """Members of a set, to include or exclude."""
        return isinstance(self.value, (set, frozenset))


class Size(Struct, frozen=True, eq=False):
    """The size of an attribute: characters of a text, bytes, elements of a set, list or map."""

    handle: Any
    """A handle; or, of the library's own conditions, a stored attribute."""

    def __repr__(self) -> str:
        return f"size({self.handle})"

    def __eq__(self, other: int) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return Condition("=", (self, other))

    def __ne__(self, other: int) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return Condition("<>", (self, other))

    __hash__ = object.__hash__

    def __lt__(self, other: int) -> Condition:
        return Condition("<", (self, other))

    def __le__(self, other: int) -> Condition:
        return Condition("<=", (self, other))

    def __gt__(self, other: int) -> Condition:
        return Condition(">", (self, other))

    def __ge__(self, other: int) -> Condition:
        return Condition(">=", (self, other))


class Stored(Struct, frozen=True):
    """An attribute by its stored name, or what lies `inside` one: for what the library itself asks of items."""

    name: str
    inside: tuple[str | int, ...] = ()


class Given(Struct, frozen=True):
    """An attribute value that is sent unchanged."""

    value: AttributeValue

    def __repr__(self) -> str:
        return "<Given>"


def words(condition: Condition) -> str:
    """A condition for people, its values left out: `User.age >= ... and not (User.email == ...)`."""
    parts: list[str] = []
    waiting: list[str | Condition] = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            parts.append(part)
        elif part.how in JOINS:
            spelled = [x for c in part.operands for x in (f" {part.how.lower()} ", *_grouped(c))][1:]
            waiting += reversed(spelled)
        elif part.how == "NOT":
            waiting += [")", part.operands[0], "not ("]
        else:
            parts.append(_test_words(part))
    return "".join(parts)


def _grouped(condition: Condition) -> tuple[str | Condition, ...]:
    return ("(", condition, ")") if condition.how in JOINS else (condition,)


def _test_words(condition: Condition) -> str:
    how, operands = condition.how, condition.operands
    left = shown(operands[0])
    if how == "attribute_exists":
        return f"{left} exists"
    if how == "attribute_not_exists":
        return f"{left} does not exist"
    return f"{left} {_SAID.get(how, how.lower())} {'None' if operands[1] is None else '...'}"


_SAID = {"=": "==", "<>": "!=", "begins_with": "starts with"}
"""Operators as Python has them."""


def shown(operand: Any) -> str:
    if isinstance(operand, Stored):
        return operand.name
    return f"size of {shown(operand.handle)}" if isinstance(operand, Size) else str(operand)


def present(value: T | None) -> T:
    """Look into an optional attribute: `attr(present(User.address).city)`."""
    return value  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def attr(value: T) -> Attribute[T]:
    """The operations of an attribute: comparisons for conditions, `set`, `add` and the like for updates."""
    if not isinstance(value, Handle):
        raise TypeError(
            f"attr() takes an attribute of an entity class, as in attr(User.age), not a {type(value).__name__}"
        )
    return Attribute(value)


class Attribute(Generic[T_contra]):
    """Contravariant: what can be done to an `int` attribute can be done to an `int | None` one."""

    def __init__(self, handle: Any) -> None:
        self.handle: Handle = handle

    def __repr__(self) -> str:
        return f"<attr({self.handle})>"

    # --- conditions -------------------------------------------------------------------------------------------------
    def __eq__(self, other: T_contra) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return Condition("=", (self.handle, other))

    def __ne__(self, other: T_contra) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return Condition("<>", (self.handle, other))

    __hash__ = object.__hash__

    def __lt__(self, other: T_contra) -> Condition:
        return Condition("<", (self.handle, other))

    def __le__(self, other: T_contra) -> Condition:
        return Condition("<=", (self.handle, other))

    def __gt__(self, other: T_contra) -> Condition:
        return Condition(">", (self.handle, other))

    def __ge__(self, other: T_contra) -> Condition:
        return Condition(">=", (self.handle, other))

    def is_(self, value: T_contra) -> Condition:
        """The same as `==`, for True, False and None, which linters want compared by `is`."""
        return Condition("=", (self.handle, value))

    def is_in(self, *values: T_contra) -> Condition:
        """Equal to one of up to 100 values, among which None and an empty set may be."""
        return Condition("IN", (self.handle, *values))

    def between(self, low: T_contra, high: T_contra) -> Condition:
        """Both ends included."""
        return Condition("BETWEEN", (self.handle, low, high))

    def exists(self) -> Condition:
        """Has a value: not None, which other programs store as a NULL, and not an empty set."""
        return Condition("attribute_exists", (self.handle,))

    def starts_with(self: Attribute[str], prefix: str) -> Condition:
        """Begins with a text."""
        return Condition("begins_with", (self.handle, prefix))

    @overload
    def contains(self: Attribute[str], value: str) -> Condition: ...
    @overload
    def contains(self: Attribute[list[V]], value: V) -> Condition: ...
    @overload
    def contains(self: Attribute[builtins.set[V]], value: V) -> Condition: ...
    def contains(self: Any, value: Any) -> Condition:
        """A part of a text, an element of a list or a set."""
        return Condition("contains", (self.handle, value))

    def size(self) -> Size:
        """The number of characters, bytes or elements, to compare with. An empty set has 0, None has none."""
        return Size(self.handle)

    # --- updates ----------------------------------------------------------------------------------------------------
    def set(self, value: T_contra) -> Update:
        """Set this value; None and an empty set remove the attribute."""
        return Update("SET", self.handle, value)

    @overload
    def remove(self: Attribute[None]) -> Update: ...
    @overload
    def remove(self: Attribute[dict[str, V]], step: str) -> Update: ...
    @overload
    def remove(self: Attribute[list[V]], step: int) -> Update: ...
    def remove(self: Any, step: str | int | None = None) -> Update:
        """Take away an attribute that may be None; or of a map its key, of a list its element: `remove("a")`.

        A missing one is not an error. Elements behind a removed one move up, so this is not repeatable: see
        `exactly_once`.
        """
        return Update("REMOVE", self.handle if step is None else self.handle[step])

    @overload
    def add(self: Attribute[int], number: int) -> Update: ...
    @overload
    def add(self: Attribute[Decimal], number: Decimal) -> Update: ...
    @overload
    def add(self: Attribute[timedelta], number: timedelta) -> Update: ...
    def add(self: Any, number: Any) -> Update:
        """Add a number; an absent attribute counts as what is read then, or 0. Not repeatable: see `exactly_once`.

        Not to a float, whose sums would not be exact.
        """
        return Update("ADD", self.handle, number)

    def append(self: Attribute[list[V]], *values: V) -> Update:
        """Add values at the end of a list. Not repeatable: see `exactly_once`."""
        return Update("APPEND", self.handle, list(values))

    def include(self: Attribute[builtins.set[V]], values: AbstractSet[V]) -> Update:
        """Add members to a set; those there already stay."""
        return Update("ADD", self.handle, values)

    def exclude(self: Attribute[builtins.set[V]], values: AbstractSet[V]) -> Update:
        """Take members out of a set; a missing member is not an error."""
        return Update("DELETE", self.handle, values)
