"""Types of attributes as values: drawn, made into Python types, and filled with values.

A type of `VALUE_TYPES` is drawn without being named here. Its sample and its least and greatest are its values, and
what `MORE` adds.
"""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import cache
from random import Random
from typing import Any, Literal, Optional, cast
from zlib import crc32

from singletable import SingletableError, field
from singletable.values import VALUE_TYPES, Scalar, plan_for

NOON = datetime(2026, 11, 26, 12, tzinfo=timezone.utc)
MORE: dict[type[Any], list[Any]] = {
    str: ["Ada", "", "a#b%", "3", "2026-11-26"],
    int: [0, 3, 42, -1, 1_800_000_000],
    Decimal: [Decimal("3"), Decimal("1.50"), Decimal("-0.1")],
    float: [0.5, 3.0, 1e22],
    bytes: [b"", b"3"],
    datetime: [NOON, NOON + timedelta(days=20_000, microseconds=1)],
    date: [NOON.date()],
}
SCALARS = {kind.__name__: kind for kind in VALUE_TYPES}


@dataclass(frozen=True)
class Shape:
    """A type. `kind` says which; `of` is what it is made of: shapes, or the texts of an enum or a literal."""

    kind: str
    of: tuple[Any, ...] = ()
    texts: tuple[str, ...] = ()
    """The key texts of an enum's members, where it has others than the values."""

    def __repr__(self) -> str:
        inner = ", ".join(map(str, (*self.of, *self.texts)))
        return f"{self.kind}[{inner}]" if inner else self.kind


@dataclass(frozen=True)
class Attribute:
    """An attribute of a class, or of a dataclass inside an item."""

    name: str
    shape: Shape
    is_optional: bool = False
    default: int = -1
    """The number of its default among the values of its shape; -1 for a required one."""
    stored: str = ""
    role: str = ""
    is_personal: bool = False
    was: Any = None
    """What it was before version 2 of its class: another stored name, an enum's former values, or `AS_TEXT`."""


def _text_of(number: Any) -> str:
    return str(int(number))


AS_TEXT = _text_of, int
"""From a number to its text, and back: what an attribute says that was an int, and is a str."""
CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset}


@cache
def python_type(shape: Shape) -> Any:
    """The Python type of a shape: the same one for equal shapes."""
    if shape.kind == "any":
        return Any
    if shape.kind == "enum":
        base: Any = Enum
        made = base(f"State{_number_of(shape)}", dict(shape.of))
        if shape.texts:
            texts = dict(zip((name for name, _ in shape.of), shape.texts, strict=True))
            setattr(made, "key_text", lambda member: texts[member.name])  # noqa: B010 Enum's own attributes are typed
        return made
    if shape.kind == "literal":
        return cast("Any", Literal)[shape.of]
    if shape.kind == "object":
        rows: list[Any] = [(each.name, declared_type(each), declared_field(each)) for each in shape.of]
        return make_dataclass(f"Part{_number_of(shape)}", rows, kw_only=True)
    if shape.kind == "maybe":
        return cast("Any", Optional)[python_type(shape.of[0])]
    if shape.kind in CONTAINERS:
        inner = python_type(shape.of[0])
        return CONTAINERS[shape.kind][{"dict": (str, inner), "tuple": (inner, ...)}.get(shape.kind, inner)]
    return SCALARS[shape.kind]


def _number_of(shape: Shape) -> int:
    """A number for the name of a made type: the types of one class have names of their own."""
    return crc32(repr(shape).encode())


def declared_type(attribute: Attribute) -> Any:
    """The annotation of an attribute."""
    made = python_type(attribute.shape)
    return cast("Any", Optional)[made] if attribute.is_optional else made


def declared_field(attribute: Attribute) -> Any:
    """The `field(...)` of an attribute."""
    options: dict[str, Any] = {"name": attribute.stored} if attribute.stored else {}
    if attribute.role:
        options[attribute.role] = True
    if attribute.is_personal:
        options["personal"] = True
    if attribute.was is not None:
        is_of_values = isinstance(attribute.was, tuple) and attribute.was != AS_TEXT
        options |= {"was": dict(attribute.was) if is_of_values else attribute.was, "since": 2}
    if attribute.role == "version":
        return field(default=0, **options)
    if attribute.default < 0:
        return field(**options)
    if attribute.is_optional:
        return field(default=None, **options)
    value = default_of(attribute)
    if attribute.shape.kind in (*CONTAINERS, "any", "object"):
        kept = cast("Any", value)
        factory = type(kept) if kept in ([], {}, set()) else lambda: kept
        options.pop("unique", None)
        return field(default_factory=factory, **options)
    return field(default=value, **options)


def default_of(attribute: Attribute) -> Any:
    values = values_of(attribute.shape)
    return values[attribute.default % len(values)]


@cache
def values_of(shape: Shape) -> tuple[Any, ...]:
    """Values of a shape that its plan accepts; at least one."""
    made = python_type(shape)
    if shape.kind == "any":
        return "Ada", 3, ["a", None], {"a": {"b"}}, Decimal("1.5"), b"3", True
    if shape.kind == "enum":
        return tuple(made)
    if shape.kind == "literal":
        return shape.of
    if shape.kind == "maybe":
        return None, *values_of(shape.of[0])
    if shape.kind == "object":
        return tuple(_objects(shape, made))
    if shape.kind in CONTAINERS:
        inner = values_of(shape.of[0])
        if shape.kind == "dict":
            return {"a": inner[0]}, {}, {"b": inner[-1], "c": inner[0]}
        few = CONTAINERS[shape.kind]
        return few(inner[:1]), few(()), few((inner[-1], inner[0]))
    value_type = VALUE_TYPES[made]
    ends = [getattr(made, name) for name in ("min", "max") if isinstance(getattr(made, name, None), made)]
    return tuple(value for value in (value_type.sample, *MORE.get(made, ()), *ends) if _is_accepted(shape, value))


def _is_accepted(shape: Shape, value: Any) -> bool:
    plan: Any = plan_for(python_type(shape))
    try:
        plan.check(value)
    except SingletableError:
        return False
    return True


def _objects(shape: Shape, made: Any) -> Any:
    for number in range(3):
        yield made(**{each.name: value_of(each, number) for each in shape.of})


def value_of(attribute: Attribute, number: int) -> Any:
    """A value of an attribute; None now and then for one that may be None."""
    if attribute.is_optional and number % 3 == 0:
        return None
    values = values_of(attribute.shape)
    return values[number % len(values)]


# --- drawing ----------------------------------------------------------------------------------------------------------
STATES = (("OPEN", "open"), ("SENT", "sent"), ("LOST", "lost"))
NUMBERS = (("LOW", 1), ("HIGH", 20))


def drawn_shape(random: Random, depth: int = 2) -> Shape:
    """A type: each that there is has its share."""
    choice = random.randrange(10)
    if choice < 4 or depth == 0:
        return Shape(random.choice(list(SCALARS)))
    if choice == 4:
        return drawn_enum(random)
    if choice == 5:
        return Shape("literal", random.choice([("a", "b"), ("b", "a", "c"), (1, 2)]))
    if choice == 6:
        return Shape("any")
    if choice == 7:
        names = random.sample(["street", "town", "zip", "since"], random.randint(1, 3))
        return Shape("object", tuple(drawn_attribute(name, random, depth - 1, is_whole=False) for name in names))
    kind = random.choice(list(CONTAINERS))
    inner = drawn_shape(random, depth - 1)
    if "set" in kind:
        inner = Shape(random.choice([name for name, made in SCALARS.items() if _is_in_sets(made)]))
    elif random.randrange(4) == 0 and inner.kind != "any":
        inner = Shape("maybe", (inner,))
    return Shape(kind, (inner,))


def _is_in_sets(kind: type[Any]) -> bool:
    plan = plan_for(kind)
    return isinstance(plan, Scalar) and plan.tag in ("S", "N", "B")


def drawn_enum(random: Random) -> Shape:
    members: tuple[Any, ...] = NUMBERS if random.randrange(4) == 0 else STATES[: random.randint(2, 3)]
    texts = tuple(f"{n}.{name}" for n, (name, _) in enumerate(members)) if random.randrange(3) == 0 else ()
    return Shape("enum", members, texts)


def drawn_attribute(name: str, random: Random, depth: int = 2, *, is_whole: bool = True) -> Attribute:
    """An attribute of a class; of an object inside an item where it is not `is_whole`."""
    shape = drawn_shape(random, depth)
    is_set = "set" in shape.kind
    has_default = random.randrange(2) == 0
    is_optional = random.randrange(3) == 0 and not is_set and shape.kind != "any"
    return Attribute(
        name,
        shape,
        is_optional,
        random.randrange(3) if has_default or is_optional else -1,
        random.choice(["", "", "", f"{name}_"]),
        is_personal=is_whole and random.randrange(8) == 0,
    )
