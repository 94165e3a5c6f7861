"""Handles: `User.age` read on the class is the attribute itself, a path. `attr()` adds its operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol, cast

from msgspec import Struct

from singletable.errors import InvalidRequest, SingletableError
from singletable.values import Field, ValuePlan


class HandleOwner(Protocol):
    """The members of a class that a handle needs."""

    __name__: str

    def __field__(self, name: str) -> Field: ...


def nothing() -> None:
    """None: what an absence inside an attribute is read as."""


class Path(Struct, frozen=True):
    """A handle, looked up: the stored names from the item inward, and how the value there is stored."""

    stored: tuple[str | int, ...]
    plan: ValuePlan
    optional: bool
    removable: bool
    """May be None, or is a key of a map or an element of a list."""
    absent: Callable[[], Any] = nothing
    """Makes the value of an item that lacks the attribute."""

    @property
    def is_top(self) -> bool:
        return len(self.stored) == 1


VERBS = frozenset(
    (
        *("add", "append", "between", "contains", "exclude", "exists", "include"),
        *("is_", "is_in", "remove", "set", "size", "starts_with"),
    )
)
"""The methods of `attr(...)`, by which a call of one without it is known."""


class Handle:
    """An attribute of an entity class, or a path into one: `User.address.city`, `User.homes[0]`.

    It has no operations of its own, so that every name stays free for attributes: `attr(handle)` has them.
    """

    def __init__(self, owner: Any, *path: str | int) -> None:
        self.__dict__.update(_owner=owner, _path=path)

    def __getattr__(self, name: str) -> Handle:
        if name.startswith("_") and name.endswith("_"):  # Python's own, and what notebooks ask every object for
            raise AttributeError(name)
        return Handle(self.__dict__["_owner"], *self.__dict__["_path"], name)

    def __getitem__(self, step: str | int) -> Handle:
        return Handle(self.__dict__["_owner"], *self.__dict__["_path"], step)

    def __get__(self, instance: object, owner: type[Any]) -> Handle:
        if instance is None:
            return self
        raise AttributeError(f"{owner.__name__}.{self.__dict__['_path'][0]} was not loaded: only(...) left it out")

    def __str__(self) -> str:
        return f"{self.__dict__['_owner'].__name__}.{'.'.join(map(str, self.__dict__['_path']))}"

    def __repr__(self) -> str:
        return f"<attribute {self}>"

    def __dir__(self) -> list[str]:
        """The attributes of what it holds, for completion: `User.address.` lists those of an address."""
        try:
            return sorted(resolve(self).plan.children)
        except SingletableError:  # a path to what is not there
            return []

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(f"{self} is an attribute of the class, not a value: write attr({self}) to compare or change it")

    def __call__(self, *_: object, **__: object) -> NoReturn:
        *before, last = self.__dict__["_path"]
        if not before or last not in VERBS:
            self._refuse()
        attribute = Handle(self.__dict__["_owner"], *before)
        raise TypeError(f"{attribute} is an attribute of the class, not a value: write attr({attribute}).{last}(...)")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __iter__ = __len__ = __add__ = __contains__ = _refuse
    __eq__ = __ne__ = _refuse  # pyright: ignore[reportAssignmentType]
    __hash__ = object.__hash__


def owner_of(handle: Handle) -> type[Any]:
    return cast("type[Any]", handle.__dict__["_owner"])


def first_name(handle: Handle) -> str:
    """The attribute that the handle is, or lies in."""
    return str(handle.__dict__["_path"][0])


def is_whole(handle: Handle) -> bool:
    """Whether it is the attribute itself, not a path into it."""
    return len(handle.__dict__["_path"]) == 1


def is_element(handle: Handle) -> bool:
    """Whether it is an element of a list."""
    path = handle.__dict__["_path"]
    return len(path) > 1 and isinstance(path[-1], int)


def resolve(handle: Handle, kinds: tuple[type[Any], ...] = ()) -> Path:
    """Look a handle up; raises InvalidRequest if `kinds` are given and its class is not among them."""
    owner, (name, *rest) = handle.__dict__["_owner"], handle.__dict__["_path"]
    if kinds and owner not in kinds and not any(issubclass(kind, owner) for kind in kinds):
        named = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidRequest(
            f"{handle} is not an attribute of {named}", hint="Use an attribute of the class that is asked for."
        )
    field = owner.__field__(name)
    stored: list[str | int] = [field.stored]
    plan, optional = field.plan, field.optional
    removable = optional
    for step in rest:
        outer = plan
        inner, plan = outer.child(step)
        stored.append(inner)
        optional = outer.child_is_optional(step)
        removable = optional or outer.children_may_go
    return Path(tuple(stored), plan, optional, removable, nothing if rest or not field.may_be_absent else field.absent)
