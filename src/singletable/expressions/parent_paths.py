"""The parent that an update of a path such as `User.address.city` needs: `address`, as a map.

DynamoDB refuses the whole update where it is not, in words that name nothing; the embedded engine lets a REMOVE pass.
So it is held as a condition, whose refusal says which path it was. An element that is set stands in its list or right
behind its end: further on, DynamoDB would append it under another number, and the embedded engine fill the gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from singletable.expressions.conditions import Condition, Given, Size, Stored, Update
from singletable.expressions.handles import Handle, is_whole, resolve
from singletable.values import AttributeValue


class Parent(Struct, frozen=True):
    """The map or list that holds a changed path."""

    handle: Handle
    """The path itself."""
    steps: tuple[str | int, ...]
    """The path of the parent, by stored names."""
    tag: str
    """The required type of the parent: M for a map, L for a list."""
    least: int = 0
    """The number of elements that a list must have."""

    @property
    def condition(self) -> Condition:
        parent = Stored(str(self.steps[0]), self.steps[1:])
        is_there = Condition("attribute_type", (parent, Given({"S": self.tag})))
        return is_there & (Size(parent) >= self.least) if self.least else is_there

    def is_in(self, item: Mapping[str, AttributeValue]) -> bool:
        """Return True if a stored item has it."""
        value: AttributeValue = {"M": item}
        for step in self.steps:
            inner = _within(value, step)
            if inner is None:
                return False
            value = inner
        return self.tag in value and len(value[self.tag]) >= self.least

    @property
    def shown(self) -> str:
        """`map at User.address`, `list of 3 elements or more at User.homes`."""
        owner, path = self.handle.__dict__["_owner"], self.handle.__dict__["_path"]
        kind = "map" if self.tag == "M" else f"list of {self.least} elements or more" if self.least else "list"
        return f"{kind} at {Handle(owner, *path[:-1])}"


def _within(value: AttributeValue, step: str | int) -> AttributeValue | None:
    """An element of a stored map or list; None if it is missing."""
    inner: Any = value.get("L" if isinstance(step, int) else "M", ())
    there = step < len(inner) if isinstance(step, int) else step in inner
    return inner[step] if there else None


def parents_of(updates: Iterable[Update]) -> Iterable[Parent]:
    """The parents of all paths that are changed, each once; none for whole attributes."""
    parents: dict[tuple[str | int, ...], Parent] = {}
    for update in updates:
        if is_whole(update.path):
            continue
        *steps, last = resolve(update.path).stored
        least = last if isinstance(last, int) and update.verb != "REMOVE" else 0
        place = tuple(steps)
        if place not in parents or parents[place].least < least:
            parents[place] = Parent(update.path, place, "L" if isinstance(last, int) else "M", least)
    return parents.values()
