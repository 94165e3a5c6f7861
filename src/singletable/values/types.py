"""From a declared type to its plan."""

from __future__ import annotations

import dataclasses
import re
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from typing import Annotated, Any, Literal, NewType, TypeGuard, Union, get_args, get_origin, get_type_hints

import msgspec

from singletable.errors import DeclarationError
from singletable.values.checks import refusal_of_others
from singletable.values.codecs import Codec
from singletable.values.fields import Field, Role
from singletable.values.kinds import Kind
from singletable.values.other_forms import ReadsAlso, either_of
from singletable.values.plans import (
    Form,
    FreePlan,
    ListPlan,
    MapPlan,
    OptionalPlan,
    Scalar,
    SetPlan,
    ValuePlan,
    literal_plan,
    wire_struct,
)
from singletable.values.source import Source
from singletable.values.stored_as import ConvertedPlan, StoredAs
from singletable.values.unions import Tagged, UnionPlan
from singletable.values.untyped import MAX_CONTAINERS, MAX_NAME_BYTES, AttributeValue, too_deep
from singletable.values.value_types import EXPIRY, INSTANT, INTEGER, VALUE_TYPES, scalar_of, value_type_of

METADATA = "singletable"
"""The name under which `field(...)` keeps its options in a dataclass field's metadata."""

_under_way: ContextVar[tuple[type[Any], ...]] = ContextVar("plans under way", default=())
_depth: ContextVar[int] = ContextVar("objects of a class in each other", default=0)
_formed: ContextVar[tuple[type[Any], ...]] = ContextVar("forms under way", default=())
_ALIAS = "TypeAliasType"
"""The class of `type X = ...`: of `typing` from Python 3.12 on, and of `typing_extensions`."""
_nested: dict[type[Any], Codec[Any]] = {}


_NOT_IN_NAMES = r'[\x00-\x1f"\\\ud800-\udfff]'
"""Characters that the parser of answers takes in no name, and lone surrogates, which no request can hold."""


def check_name(name: str, **where: Any) -> None:
    """Raise DeclarationError for a name that no attribute can be stored under."""
    if not 0 < len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME_BYTES:
        raise DeclarationError(f"it is stored under no name: DynamoDB's have 1 to {MAX_NAME_BYTES} bytes", **where)
    if not name.isidentifier() and (refused := re.search(_NOT_IN_NAMES, name)):
        raise DeclarationError(
            f"it is stored as {name!r}, and {refused[0]!r} can't be in an attribute's name",
            hint="A stored name has no quotation mark, backslash, control character or lone surrogate.",
            **where,
        )


def make_field(name: str, kind: Any, declared: dataclasses.Field[Any]) -> Field:
    """The stored form of one dataclass field; DeclarationError if its type has none."""
    options = declared.metadata.get(METADATA, {})
    inner, optional = split_optional(kind)
    try:
        plan = plan_for(inner)
    except DeclarationError as error:
        raise DeclarationError(error.what, hint=error.hint, attribute=name) from None
    if plan.is_set and optional:
        raise DeclarationError(
            "a set attribute can't also be None: DynamoDB stores neither",
            attribute=name,
            hint="Declare it as a set; absent reads as the empty set.",
        )
    role: Role = options.get("role", "")
    if role:
        plan = _plan_of_role(role, name, plan, declared)
    stored = options.get("name")
    if stored is not None:
        check_name(stored, attribute=name)
    is_made = declared.default_factory is not dataclasses.MISSING
    former = {"was": options.get("was"), "since": options.get("since", 0)}
    in_key = bool(options.get("in_key"))
    if in_key and (role or optional or plan.is_set or stored is not None):
        raise DeclarationError(
            "a value that is in the key only has no name, no role, and is never None",
            attribute=name,
            hint="Declare it without the other options.",
        )
    own = Field(name, stored or name, plan, optional, _default(declared), role, is_made=is_made, **former)
    return msgspec.structs.replace(own, is_written=False, is_in_key=True) if in_key else own


def _plan_of_role(role: Role, name: str, plan: ValuePlan, declared: dataclasses.Field[Any]) -> ValuePlan:
    if role == "version" and (plan is not INTEGER or declared.default != 0):
        hint = "Declare it: int = field(version=True, default=0)."
        raise DeclarationError("a version counts writes", attribute=name, hint=hint)
    if role == "expires":
        if plan is not INSTANT:
            raise DeclarationError("what expires is a datetime, or None for never", attribute=name)
        return EXPIRY
    return plan


def plan_for(kind: Any) -> ValuePlan:
    """The plan for a type; raises DeclarationError if DynamoDB has no form for it."""
    if (alias := alias_of(kind)) is not None:
        return _plan_of_alias(alias)
    kind = bare(kind)
    if kind is Any or kind is object:
        return FreePlan()
    if (also := _said_of(kind, ReadsAlso)) is not None:
        first, *others = get_args(kind)
        rest = tuple(other for other in others if other is not also)
        return either_of(plan_for(Annotated[first, *rest] if rest else first), plan_for(also.kind))
    if (codec := stored_as(kind)) is not None:
        return codec.plan(get_args(kind)[0], plan_for(codec.stored))
    inner, optional = split_optional(kind)
    if optional:
        return OptionalPlan(plan_for(inner))
    if (classes := _classes_in(kind)) is not None:
        tagged: Tagged = _said_of(kind, Tagged) or Tagged()
        untagged: Any = tagged.untagged
        return _union_plan(tagged.name, tuple(tagged.tags_of(classes).items()), untagged)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return literal_plan(arguments, scalar_of(arguments, "a Literal's values"))
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](arguments)
    if _is_class(kind):
        value_type = value_type_of(kind)
        if value_type is not None and value_type.kind is not Kind.REFERENCE:
            return value_type.plan
        if dataclasses.is_dataclass(kind):
            return NestedPlan(kind)
    names = ", ".join(one.__name__ for one in VALUE_TYPES)
    raise DeclarationError(
        f"{getattr(kind, '__name__', kind)} has no form in DynamoDB",
        hint=f"Use {names}, an Enum, a Literal, a dataclass, list, dict, set or Any.",
    )


def _is_class(kind: Any) -> TypeGuard[type[Any]]:
    return isinstance(kind, type)


def bare(kind: Any) -> Any:
    """A type without NewType, aliases and Annotated around it, unless that says how it is stored."""
    while True:
        if isinstance(kind, NewType):
            kind = kind.__supertype__
        elif (alias := alias_of(kind)) is not None:
            kind = alias
        elif get_origin(kind) is Annotated and not _said_of(kind, (StoredAs, Tagged, ReadsAlso)):
            kind = get_args(kind)[0]
        else:
            return kind


def stored_as(kind: Any) -> StoredAs | None:
    """How the values of `Annotated[X, StoredAs(...)]` are stored."""
    codec: StoredAs | None = _said_of(kind, StoredAs)
    return codec


def _said_of(kind: Any, what: Any) -> Any:
    """The annotation of these classes in `Annotated[X, ...]`; None if there is none."""
    said = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((one for one in said if isinstance(one, what)), None)


def alias_of(kind: Any) -> Any:
    """The type that an alias `type Name = ...` stands for, with its parameters filled in; None for another type."""
    origin = get_origin(kind)
    if type(origin).__name__ == _ALIAS:
        return origin.__value__[get_args(kind)]
    return kind.__value__ if type(kind).__name__ == _ALIAS else None


def _plan_of_alias(kind: Any) -> ValuePlan:
    try:
        return plan_for(kind)
    except RecursionError:
        raise DeclarationError(
            "a type alias that holds itself has no end", hint="Use a dataclass, which may hold itself, or Any."
        ) from None


def split_optional(kind: Any) -> tuple[Any, bool]:
    """`X | None` as (X, True), any other as (itself, False)."""
    kind = bare(kind)
    if get_origin(kind) not in (Union, types.UnionType):
        return kind, False
    rest = tuple(a for a in get_args(kind) if a is not type(None))
    if len(rest) > 1 and not all(dataclasses.is_dataclass(one) for one in rest):
        raise DeclarationError(
            "a union of several types has no one form in DynamoDB",
            hint="Declare one type, a union of dataclasses, or Any for free-form data.",
        )
    return bare(rest[0] if len(rest) == 1 else Union[rest]), len(rest) < len(get_args(kind))  # noqa: UP007


@cache
def _union_plan(name: str, classes: Any, untagged: Any) -> UnionPlan:
    """One for each union, so that a class of it may hold the union again."""
    return UnionPlan(name, dict(classes), _fields_of, untagged)


def _classes_in(kind: Any) -> Sequence[type[Any]] | None:
    """The dataclasses of a union; None for another type."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(kind) not in (Union, types.UnionType):
        return None
    return get_args(kind)


def _fields_of(kind: type[Any]) -> tuple[Field, ...]:
    """The attributes of a dataclass; NameError while a class that they name is not defined yet."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_nested_field(f, hints[f.name], kind) for f in dataclasses.fields(kind))


def plans_within(plan: ValuePlan) -> Iterator[ValuePlan]:
    """A plan, and those of all that lies inside, each class once. DeclarationError for a type that can't be stored;
    what is not defined yet waits for first use."""
    waiting, seen = [plan], set[type[Any]]()
    while waiting:
        plan = waiting.pop()
        yield plan
        waiting += [
            p for p in (getattr(plan, "element", None), getattr(plan, "inner", None)) if isinstance(p, ValuePlan)
        ]
        for kind in _classes_of(plan):
            if kind not in seen:
                seen.add(kind)
                with suppress(NameError):
                    waiting += [field.plan for field in _fields_of(kind)]


def _classes_of(plan: ValuePlan) -> Sequence[type[Any]]:
    if isinstance(plan, UnionPlan):
        return list(plan.classes.values())
    return [plan.kind] if isinstance(plan, NestedPlan) else []


def check_within(plan: ValuePlan) -> None:
    """DeclarationError for a type within a value that can't be stored."""
    deque(plans_within(plan), maxlen=0)


@cache
def is_shown_as_stored(plan: ValuePlan) -> bool:
    """Whether a person sees the stored form: of `Any`, of what is stored as another type, of sets of an Enum, whose
    members have no order, and of what has one of them inside."""
    return any(isinstance(one, (FreePlan, ConvertedPlan)) or _is_converted(one) for one in plans_within(plan))


def _is_converted(plan: ValuePlan) -> bool:
    if isinstance(plan, SetPlan):
        return bool(plan.element.choices)
    return isinstance(plan, Scalar) and plan.stored is not None


class NestedPlan(ValuePlan, frozen=True, eq=False):
    """A dataclass inside an item: a map of its attributes."""

    kind: type[Any]

    @property
    def codec(self) -> Codec[Any]:
        """Compiled when first needed, so that classes may name each other."""
        if self.kind not in _nested:
            token = _under_way.set((*_under_way.get(), self.kind))
            try:
                _nested[self.kind] = Codec(self.kind, _fields_of(self.kind)).with_writer()
            finally:
                _under_way.reset(token)
        return _nested[self.kind]

    @property
    def _recursive(self) -> bool:
        return self.kind in _under_way.get()

    @property
    def wire(self) -> Any:
        return Any if self._recursive else wire_struct("M", self.codec.wire)

    def read(self, source: Source, name: str) -> str:
        if self._recursive:
            return f"{source.bind(self.load, 'load')}({name})"
        return f"{source.bind(self.codec.build, 'build')}({name}.M)"

    def write(self, source: Source, name: str) -> str:
        kind, refuse = source.bind(self.kind, "kind"), source.bind(refusal_of_others(self.kind), "refuse")
        dump = source.bind(self._dump if self._recursive else self.codec.dump_within, "dump")
        return f'{{"M": {dump}({name} if {name}.__class__ is {kind} else {refuse}({name}))}}'

    def _dump(self, value: Any) -> dict[str, AttributeValue]:
        """The stored form of an object inside one of its own class, which may nest without end."""
        depth = _depth.get() + 1
        if depth >= MAX_CONTAINERS:
            raise too_deep()
        token = _depth.set(depth)
        try:
            return self.codec.dump_within(value)
        finally:
            _depth.reset(token)

    def load(self, value: AttributeValue) -> Any:
        if "M" not in value:
            raise ValueError(f"stored as {', '.join(value)}, not as M")
        return self.codec.load(value["M"])

    @property
    def form(self) -> Form:
        """The attributes by their stored names; of a class inside of itself, the number of objects up to it: "^1"."""
        around = _formed.get()
        if self.kind in around:
            return f"^{len(around) - around.index(self.kind)}"
        token = _formed.set((*around, self.kind))
        try:
            return {"object": {field.stored: field.form for field in self.codec.fields}}
        finally:
            _formed.reset(token)

    @property
    def children(self) -> tuple[str, ...]:
        return tuple(self.codec.by_name)

    def child(self, step: str | int) -> tuple[str | int, ValuePlan]:
        found = self.codec.by_name.get(str(step))
        if found is None:
            raise DeclarationError(f"{self.kind.__name__} has no attribute {step!r}")
        return found.stored, found.plan

    def child_is_optional(self, step: str | int) -> bool:
        return self.codec.by_name[str(step)].optional


def _nested_field(declared: dataclasses.Field[Any], kind: Any, owner: type[Any]) -> Field:
    """Raises DeclarationError for an option that holds for an entity's own attributes: it would do nothing."""
    options = declared.metadata.get(METADATA, {})
    for option, value in options.items():
        if option != "name" and value:
            shown = value if option == "role" else option
            raise DeclarationError(
                f"{owner.__name__}.{declared.name} is declared with {shown}=, which does nothing in a dataclass inside "
                "an item",
                hint="Say it of the entity's attribute that holds it, as in home: Address = field(personal=True).",
            )
    return make_field(declared.name, kind, declared)


def _element(arguments: tuple[Any, ...], what: str) -> Any:
    if not arguments:
        raise DeclarationError(f"a {what} says what it holds, as in {what}[str]")
    return arguments[0]


def _set_plan(kind: type[Any]) -> Callable[[tuple[Any, ...]], ValuePlan]:
    def make(arguments: tuple[Any, ...]) -> ValuePlan:
        element = plan_for(_element(arguments, "set"))
        if not isinstance(element, Scalar) or element.tag not in "SNB":
            raise DeclarationError("a DynamoDB set holds texts, numbers or bytes", hint="Use a list.")
        return SetPlan(element, kind)

    return make


def _tuple_plan(arguments: tuple[Any, ...]) -> ValuePlan:
    if len(arguments) != 2 or arguments[1] is not Ellipsis:
        raise DeclarationError(
            "a tuple is declared as tuple[X, ...]", hint="For parts of several types use a dataclass."
        )
    return ListPlan(plan_for(arguments[0]), tuple)


def _map_plan(arguments: tuple[Any, ...]) -> ValuePlan:
    if len(arguments) != 2 or bare(arguments[0]) is not str:
        raise DeclarationError("a dict is declared as dict[str, X]: the keys of a DynamoDB map are texts")
    return MapPlan(plan_for(arguments[1]))


_CONTAINERS: Mapping[Any, Callable[[tuple[Any, ...]], ValuePlan]] = {
    set: _set_plan(set),
    frozenset: _set_plan(frozenset),
    list: lambda arguments: ListPlan(plan_for(_element(arguments, "list"))),
    tuple: _tuple_plan,
    dict: _map_plan,
}


def _default(declared: dataclasses.Field[Any]) -> Any:
    if declared.default_factory is not dataclasses.MISSING:
        return declared.default_factory
    if declared.default is not dataclasses.MISSING:
        value = declared.default
        return lambda: value
    return None
