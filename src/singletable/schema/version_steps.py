"""Steps between the schema versions of a class: up for an item that is read, down for one stored in an older form too.

A step goes from one version to the next. It is made of the attributes that say `field(was=..., since=...)`, all at
once, and of the function under `@X.upcast`, in this order; down it is `@X.downcast`, and then the attributes. Both work
on an item's plain values by their stored names. `since` ties what an attribute was to one step, so that no later
version takes it for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, TypeVar, cast

from msgspec import Struct

from singletable.errors import Corrupt, DeclarationError
from singletable.values import (
    EXPIRY,
    INSTANT,
    AttributeValue,
    Field,
    Scalar,
    from_attribute_value,
    to_attribute_value,
    writer_of,
)

Values = dict[str, Any]
Upcaster = Callable[[Values], Values]
"""From the stored attributes of one schema version to those of the next; pure."""
_Convert = Callable[[Any], Any]
T = TypeVar("T")


class AttributeStep(Struct, frozen=True):
    """One attribute in two versions: its stored names, and the functions between its stored values."""

    old: str
    new: str
    read: _Convert
    write: _Convert


class VersionSteps(Struct, frozen=True):
    """All steps of a class."""

    kind: type[Any]
    table: str
    attributes: Mapping[int, Sequence[AttributeStep]]
    """The attributes that are otherwise since a version."""
    upcasters: Mapping[int, Upcaster]
    downcasters: Mapping[int, Upcaster]

    def check_down(self, version: int, stored_as: int) -> None:
        """DeclarationError for a step down that nothing declares."""
        steps = range(version, stored_as, -1)
        missing = next((n for n in steps if not self._is_declared(n, self.downcasters, n)), None)
        if missing is not None:
            raise DeclarationError(
                f"{self.kind.__name__} has stored_as={stored_as}, and no inverse of upcast({missing - 1})",
                table=self.table,
                hint=f"Write it: @{self.kind.__name__}.downcast({missing}). Or omit stored_as, once no program of that "
                "version runs.",
            )

    def up(self, item: Mapping[str, AttributeValue], version: int, to: int) -> dict[str, AttributeValue]:
        """A stored item of a version in the form of a later one. Corrupt if a step is missing."""
        values = {name: from_attribute_value(value) for name, value in item.items()}
        for step in range(version, to):
            if not self._is_declared(step + 1, self.upcasters, step):
                raise Corrupt(
                    f"an item of {self.kind.__name__} has schema version {step}, and no upcaster from it",
                    table=self.table,
                    hint=f"Write one: @{self.kind.__name__}.upcast({step}).",
                )
            values = _changed(values, [(a.old, a.new, a.read) for a in self.attributes.get(step + 1, ())])
            values = self.upcasters.get(step, dict)(values)
        nulls = {name for name, value in item.items() if "NULL" in value}
        return {name: to_attribute_value(value) for name, value in values.items() if value is not None or name in nulls}

    def down(self, item: Mapping[str, AttributeValue], version: int, to: int) -> dict[str, AttributeValue]:
        """The attributes that an item of a version has in the form of an earlier one."""
        values = {name: from_attribute_value(value) for name, value in item.items()}
        for step in range(version, to, -1):
            values = self.downcasters.get(step, dict)(dict(values))
            values = _changed(values, [(a.new, a.old, a.write) for a in self.attributes.get(step, ())])
        return {name: to_attribute_value(value) for name, value in values.items() if value is not None}

    def _is_declared(self, since: int, functions: Mapping[int, Upcaster], number: int) -> bool:
        return number in functions or since in self.attributes


def attribute_steps(fields: Sequence[Field], expiry: str) -> dict[int, list[AttributeStep]]:
    """The attributes that are otherwise since a version, by it. `expiry` is the name of the table's time of expiry."""
    steps: dict[int, list[AttributeStep]] = {}
    for field in fields:
        if field.was is not None:
            steps.setdefault(field.since, []).append(_step(field, field.was, expiry))
    return steps


def _step(field: Field, was: Any, expiry: str) -> AttributeStep:
    if isinstance(was, str):
        is_time = field.plan in (INSTANT, EXPIRY)
        before = INSTANT if field.role == "expires" else EXPIRY if is_time and was == expiry else None
        if before is None:
            return AttributeStep(was, field.stored, _same, _same)
        now = cast("Scalar", field.plan)
        return AttributeStep(was, field.stored, partial(_as, before, now), partial(_as, now, before))
    if isinstance(was, tuple):
        return AttributeStep(field.stored, field.stored, *cast("tuple[_Convert, _Convert]", was))
    values = {old: member.value if isinstance(member, Enum) else member for old, member in was.items()}
    former = {new: old for old, new in values.items()}
    return AttributeStep(field.stored, field.stored, partial(_mapped, values), partial(_mapped, former))


def _changed(values: Values, changes: Sequence[tuple[str, str, _Convert]]) -> Values:
    """The values with attributes from one form in the other, at once. One that is absent in the one form is absent in
    the other, whatever lies under its other name: a program that doesn't know that name has kept it there."""
    names = {name for before, after, _ in changes for name in (before, after)}
    kept = {name: value for name, value in values.items() if name not in names}
    taken = {after: convert(values[before]) for before, after, convert in changes if values.get(before) is not None}
    return {**kept, **taken}


def _same(value: T) -> T:
    return value


def _as(before: Scalar, now: Scalar, value: Any) -> Any:
    """A stored value of one type as that of another, which has the same values in Python."""
    return from_attribute_value(writer_of(now)(before.load(to_attribute_value(value))))


def _mapped(values: Mapping[Any, Any], value: Any) -> Any:
    """A value, or each of a list, set or map, as the one that it is now."""
    if isinstance(value, dict):
        return {name: _mapped(values, one) for name, one in cast("Values", value).items()}
    if isinstance(value, (list, set, frozenset)):
        parts = cast("list[Any] | set[Any]", value)
        return type(parts)(_mapped(values, one) for one in parts)
    return values.get(value, value)
