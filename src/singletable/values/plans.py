"""Plans: how one declared type is stored, read and written.

A plan gives the same rule twice: as source text for the generated codec (`read`, `write`), and as a plain method for
the slow path (`load`), which takes any form DynamoDB may answer in and says why a value can't be read.

    str S · int, Decimal, float N · bytes B · bool BOOL · datetime, date, time, UUID S · Enum by its value
    set[...] SS, NS, BS · list[...], tuple[X, ...] L · dict[str, ...] M · a dataclass M · Literal by its values · Any

A plan says its `form`, too: all that decides which bytes it writes, as JSON. A table's record holds it.

    "S text" · {"of": "S text", "values": {"OPEN": "open"}} · {"list": "N integer"} · {"object": {"street": {...}}}
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from singletable.errors import InvalidValue
from singletable.values.checks import literal_value, mapping, member, sequence, set_value, tuple_value
from singletable.values.kinds import Kind
from singletable.values.numbers import PLAIN_INT
from singletable.values.source import Source
from singletable.values.untyped import AttributeValue, from_attribute_value, map_name, to_attribute_value

_LAST_ELEMENT = 2**31 - 1
"""DynamoDB refuses a path with a larger number of an element; the embedded engine takes it for one that is missing."""
Form = str | dict[str, Any]
"""The form of stored values, as JSON: two types with equal forms write the same bytes, and read each other's."""


class ValuePlan(Struct, frozen=True, eq=False):
    """The stored form of a type. `wire` is the msgspec type of its attribute value. Each plan has the first five."""

    is_set: ClassVar[bool] = False
    holds_none: ClassVar[bool] = False
    """Whether None is one of its values, stored as a NULL."""

    @property
    def wire(self) -> Any:
        raise self._unsaid()

    def read(self, source: Source, name: str) -> str:
        """An expression: the Python value of the wire value called `name`."""
        raise self._unsaid()

    def write(self, source: Source, name: str) -> str:
        """An expression: the attribute value of the Python value called `name`, its type checked."""
        raise self._unsaid()

    def load(self, value: AttributeValue) -> Any:
        """The Python value of an attribute value; ValueError or LookupError if it holds something else."""
        raise self._unsaid()

    @property
    def form(self) -> Form:
        """All that decides which bytes it writes."""
        raise self._unsaid()

    def _unsaid(self) -> TypeError:
        return TypeError(f"{type(self).__name__} is incomplete: a plan has a wire type, read, write, load and form")

    def child(self, step: str | int) -> tuple[str | int, ValuePlan]:
        """The stored name and plan of what lies inside, for a path such as `User.address.city`."""
        raise InvalidValue(f"there is nothing inside a value of this type to name, as {step!r} does")

    @property
    def children(self) -> tuple[str, ...]:
        """The names of what lies inside, where they are declared."""
        return ()

    def child_is_optional(self, step: str | int) -> bool:
        """Whether what lies there may be None, which is stored as absence."""
        return False

    @property
    def children_may_go(self) -> bool:
        """Whether what lies inside can be taken away by itself: the keys of a map, the elements of a list."""
        return False

    @property
    def without_none(self) -> ValuePlan:
        """The plan of its values other than None."""
        return self


@cache
def wire_struct(tag: str, inner: Any) -> Any:
    """A struct for {"S": ...}: the wrapper of one type's letter around the typed content."""
    return msgspec.defstruct(f"Wire{tag}", [(tag, inner)], gc=False)


@cache
def writer_of(plan: ValuePlan) -> Callable[[Any], AttributeValue]:
    """The function that writes a value of a type, and checks it, outside of any class."""
    source = Source()
    text = plan.write(source, "value")
    return eval(f"lambda value: {text}", source.names)  # type: ignore[no-any-return]  # noqa: S307 our own text


class Scalar(ValuePlan, frozen=True, eq=False):
    """One S, N, B or BOOL. `reader` is None if the wire's value is the Python value."""

    kind: Kind
    tag: str
    inner: Any
    parse: Callable[[Any], Any]
    """From the JSON value inside the tag, on the slow path."""
    check: Callable[[Any], Any]
    """To the JSON value inside the tag; InvalidValue for another type."""
    fast_check: str
    """An expression over `{v}`: true where the value needs no `check`."""
    fast_write: str = "{v}"
    reader: Callable[[Any], Any] | None = None
    choices: tuple[Any, ...] = ()
    """The stored values of an Enum or a Literal; of other types none."""
    names: tuple[str, ...] = ()
    """The names of an Enum's members, in the order of `choices`. The values of a Literal have none."""
    shape: str = ""
    """The shape of its texts (`values.shapes`), where all have one; they sort as values do, and keys hold them too."""
    stored: Scalar | None = None
    """The plan of the values that it stores, where those are of another type."""
    name: str = ""
    """The name of its form, where it stores values of another type."""

    @property
    def wire(self) -> Any:
        return wire_struct(self.tag, self.inner)

    def read(self, source: Source, name: str) -> str:
        return self.read_inner(source, f"{name}.{self.tag}")

    def write(self, source: Source, name: str) -> str:
        return f'{{"{self.tag}": {self.write_inner(source, name)}}}'

    def read_inner(self, source: Source, expression: str) -> str:
        if self.reader is None:
            return expression
        return f"{source.bind(self.reader, 'read')}({expression})"

    def write_inner(self, source: Source, name: str) -> str:
        check = f"{source.bind(self.check, 'check')}({name})"
        if not self.fast_check:
            return check
        fast_check = self.fast_check.format(v=name, limit=PLAIN_INT)
        return f"({self.fast_write.format(v=name)} if {fast_check} else {check})"

    def load(self, value: AttributeValue) -> Any:
        return self.parse(_only(value, self.tag))

    @property
    def form(self) -> Form:
        form = " ".join(filter(None, (self.tag, self.kind.value, self.shape)))
        if self.stored is not None:
            return {"as": self.name, "of": self.stored.form}
        if not self.choices:
            return form
        texts = [str(choice) for choice in self.choices]
        return {"of": form, "values": dict(zip(self.names or texts, texts, strict=True))}


def _only(value: AttributeValue, tag: str) -> Any:
    if tag in value:
        return value[tag]
    raise ValueError(f"stored as {', '.join(value)}, not as {tag}")


def enum_plan(kind: type[Enum], base: Scalar) -> Scalar:
    """An enum is stored as its value."""
    members = {m.value: m for m in kind}
    writers = {m: str(m.value) for m in kind}

    def parse(inner: Any) -> Any:
        return members[base.parse(inner)]

    return Scalar(
        base.kind,
        base.tag,
        base.inner,
        parse,
        member(kind, writers),
        "",
        reader=members.__getitem__,
        choices=tuple(members),
        names=tuple(m.name for m in members.values()),
    )


def literal_plan(values: tuple[Any, ...], base: Scalar) -> Scalar:
    """One of a few values, checked when written and when read."""
    allowed = frozenset(values)

    def parse(inner: Any) -> Any:
        value = base.parse(inner)
        if value not in allowed:
            raise ValueError("the stored value is not a declared one")
        return value

    check = literal_value(allowed, base.check)
    return Scalar(base.kind, base.tag, Literal[values], parse, check, "", choices=values)


class SetPlan(ValuePlan, frozen=True, eq=False):
    """A set of scalars. Empty is absent, and absent is empty."""

    element: Scalar
    kind: type[Any] = set
    is_set: ClassVar[bool] = True

    @property
    def wire(self) -> Any:
        raw = self.element.reader is None
        inner: Any = set[self.element.inner] if raw else list[self.element.inner]  # type: ignore[name-defined]
        return wire_struct(self.tag, inner)

    @property
    def tag(self) -> str:
        return f"{self.element.tag}S"

    def read(self, source: Source, name: str) -> str:
        inner = f"{name}.{self.tag}"
        if self.element.reader is not None:
            e = source.fresh("e")
            inner = f"{{{self.element.read_inner(source, e)} for {e} in {inner}}}"
        return f"frozenset({inner})" if self.kind is frozenset else inner

    def write(self, source: Source, name: str) -> str:
        e = source.fresh("e")
        check = source.bind(set_value, "set_value")
        checked = f"({name} if {name}.__class__ is set and {name} else {check}({name}))"
        return f'{{"{self.tag}": sorted({{{self.element.write_inner(source, e)} for {e} in {checked}}})}}'

    def load(self, value: AttributeValue) -> Any:
        return self.kind(self.element.parse(e) for e in _only(value, self.tag))

    @property
    def form(self) -> Form:
        return {"set": self.element.form}


def _element_number(step: int) -> int:
    if step < 0:
        raise InvalidValue("an element of a list is counted from 0: DynamoDB can't count from the end")
    if step > _LAST_ELEMENT:
        raise InvalidValue(f"an element of a list has a number of at most {_LAST_ELEMENT:,}")
    return step


class ListPlan(ValuePlan, frozen=True, eq=False):
    element: ValuePlan
    kind: type[Any] = list

    @property
    def wire(self) -> Any:
        return wire_struct("L", list[self.element.wire])  # type: ignore[name-defined]

    def read(self, source: Source, name: str) -> str:
        e = source.fresh("e")
        inner = f"{self.element.read(source, e)} for {e} in {name}.L"
        return f"tuple([{inner}])" if self.kind is tuple else f"[{inner}]"

    def write(self, source: Source, name: str) -> str:
        e = source.fresh("e")
        check = source.bind(tuple_value if self.kind is tuple else sequence, "sequence")
        checked = f"({name} if {name}.__class__ is {self.kind.__name__} else {check}({name}))"
        return f'{{"L": [{self.element.write(source, e)} for {e} in {checked}]}}'

    def load(self, value: AttributeValue) -> Any:
        return self.kind(self.element.load(e) for e in _only(value, "L"))

    @property
    def form(self) -> Form:
        return {"list": self.element.form}

    def child(self, step: str | int) -> tuple[str | int, ValuePlan]:
        if not isinstance(step, int):
            raise InvalidValue(f"an element of a list is named by its number, not by {step!r}")
        return _element_number(step), self.element

    @property
    def children_may_go(self) -> bool:
        return True


_MAP_NAME = Scalar(Kind.TEXT, "S", str, str, map_name, "{v}.__class__ is str and 0 < len({v}) < 16384")


class MapPlan(ValuePlan, frozen=True, eq=False):
    """dict[str, X]."""

    element: ValuePlan

    @property
    def wire(self) -> Any:
        return wire_struct("M", dict[str, self.element.wire])  # type: ignore[name-defined]

    def read(self, source: Source, name: str) -> str:
        k, e = source.fresh("k"), source.fresh("e")
        return f"{{{k}: {self.element.read(source, e)} for {k}, {e} in {name}.M.items()}}"

    def write(self, source: Source, name: str) -> str:
        k, e = source.fresh("k"), source.fresh("e")
        checked = f"{source.bind(mapping, 'mapping')}({name})"
        key = _MAP_NAME.write_inner(source, k)
        return f'{{"M": {{{key}: {self.element.write(source, e)} for {k}, {e} in {checked}.items()}}}}'

    def load(self, value: AttributeValue) -> Any:
        return {k: self.element.load(e) for k, e in _only(value, "M").items()}

    @property
    def form(self) -> Form:
        return {"map": self.element.form}

    def child(self, step: str | int) -> tuple[str | int, ValuePlan]:
        return map_name(str(step)), self.element

    @property
    def children_may_go(self) -> bool:
        return True


class FreePlan(ValuePlan, frozen=True, eq=False):
    """`Any`: whatever DynamoDB can hold."""

    holds_none: ClassVar[bool] = True

    @property
    def wire(self) -> Any:
        return Any

    def read(self, source: Source, name: str) -> str:
        return f"{source.bind(from_attribute_value, 'free')}({name})"

    def write(self, source: Source, name: str) -> str:
        return f"{source.bind(to_attribute_value, 'free')}({name})"

    def load(self, value: AttributeValue) -> Any:
        return from_attribute_value(value)

    @property
    def form(self) -> Form:
        return "any"

    def child(self, step: str | int) -> tuple[str | int, ValuePlan]:
        return (_element_number(step) if isinstance(step, int) else map_name(step)), self

    @property
    def children_may_go(self) -> bool:
        return True


class OptionalPlan(ValuePlan, frozen=True, eq=False):
    """`X | None` inside a list or a map, where absence can't stand for None: it is a NULL."""

    inner: ValuePlan
    holds_none: ClassVar[bool] = True

    @property
    def wire(self) -> Any:
        return Any

    def read(self, source: Source, name: str) -> str:
        return f"{source.bind(self.load, 'load')}({name})"

    def write(self, source: Source, name: str) -> str:
        return f'({{"NULL": True}} if {name} is None else {self.inner.write(source, name)})'

    def load(self, value: AttributeValue) -> Any:
        return None if "NULL" in value else self.inner.load(value)

    @property
    def form(self) -> Form:
        return {"or null": self.inner.form}

    @property
    def without_none(self) -> ValuePlan:
        return self.inner

    def child_is_optional(self, step: str | int) -> bool:
        return self.inner.child_is_optional(step)

    @property
    def children_may_go(self) -> bool:
        return self.inner.children_may_go

    @property
    def children(self) -> tuple[str, ...]:
        return self.inner.children

    def child(self, step: str | int) -> tuple[str | int, ValuePlan]:
        return self.inner.child(step)
