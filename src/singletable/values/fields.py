"""Fields: the attributes of a class, each with the plan of its type, its stored name and what its absence means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, Literal, get_origin

import msgspec
from msgspec import Struct

from singletable.errors import SingletableError
from singletable.values.plans import SetPlan, ValuePlan, writer_of
from singletable.values.source import Source
from singletable.values.untyped import AttributeValue

Role = Literal["", "unique", "expires", "version"]
"""unique: no other item may have the value. expires: the time of expiry. version: the number of writes of the item."""
Was = str | Mapping[Any, Any] | tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""The form of an attribute in an older schema version: its stored name, its members by their former values, or two
functions between its stored values, up and down."""
_EMPTY: tuple[Any, ...] = (list, dict, tuple, str, int, float, bool, bytes)
"""The factories of a default that make the same value each time, and do nothing else."""


class Field(Struct, frozen=True, eq=False):
    """One attribute of an entity or of a nested dataclass."""

    name: str
    """The name in Python."""
    stored: str
    """The name in DynamoDB."""
    plan: ValuePlan
    optional: bool = False
    """May be None, which is stored as absence."""
    default: Callable[[], Any] | None = None
    """Makes the value for an item that lacks the attribute; None if the attribute is required."""
    role: Role = ""
    """The library's use of the attribute, beyond storing it."""
    is_written: bool = True
    """False for what an object does not write itself: a part of its key's text, or what a layer above keeps there."""
    is_in_key: bool = False
    """Whether it is stored in the item's key only, under no name of its own."""
    is_made: bool = False
    """Whether a function makes the default, as `default_factory` says."""
    was: Was | None = None
    """The form that it had before the version `since` of its class."""
    since: int = 0

    @property
    def may_be_absent(self) -> bool:
        return self.optional or self.plan.is_set or self.default is not None

    @property
    def form(self) -> dict[str, Any]:
        """All that decides how it is stored under its name, and what an item without it reads as, as JSON."""
        is_read = self.default is not None and not self.optional and not self.plan.is_set
        facts = {
            "form": self.plan.form,
            "optional": self.optional,
            "default": self._default_form() if is_read else None,
            "makes": self._value_form() if is_read and self._is_constant else None,
            "role": self.role,
            "in key": not self.is_written,
        }
        return {name: fact for name, fact in facts.items() if fact}

    def absent(self) -> Any:
        """The value for an item that lacks the attribute."""
        if self.optional:
            return None
        if isinstance(self.plan, SetPlan):
            return self.plan.kind()
        if self.default is None:
            raise LookupError("it is not there, and has no default")
        return self.default()

    def _default_form(self) -> AttributeValue | str:
        """The stored form of the default; "made" where a function of the application makes it, perhaps another each
        time."""
        default: Any = self.default
        return "made" if self.is_made and (get_origin(default) or default) not in _EMPTY else self._value_form()

    @property
    def _is_constant(self) -> bool:
        """Whether the function that makes the default names nothing, as `lambda: []`: it makes an equal one each time,
        and does nothing else."""
        code: Any = getattr(self.default, "__code__", None) if self.is_made else None
        if code is None or code.co_names or code.co_varnames or code.co_freevars:
            return False
        return not any(isinstance(constant, CodeType) for constant in code.co_consts)

    def _value_form(self) -> AttributeValue | str:
        default: Any = self.default
        try:
            return msgspec.to_builtins(writer_of(self.plan)(default()))  # type: ignore[no-any-return]
        except (SingletableError, AttributeError, KeyError, TypeError, ValueError):
            return "no value of its type"  # a declaration may say so, and an item without the attribute has it then


class Constant(Struct, frozen=True):
    """An attribute that every item of a class carries, the same in each: its type, its schema version."""

    stored: str
    value: AttributeValue
    wire: Any
    """The msgspec type that only this value passes."""
    may_be_absent: bool = False
    """Whether an item that lacks it is one of the class, as in a table that another program writes too."""


class Derived(Struct, frozen=True):
    """An attribute computed from the others, such as a key's text. If it is None, the attribute is left out."""

    stored: str
    compute: Callable[[Any], str | None] | None
    """The function that returns the text of one that may be None; no other has one."""
    lines: Callable[[Source, str], list[str]]
    """Generated code that sets a variable to the text, from the object `o`: most items need no call for it."""
    tag: str = "S"
