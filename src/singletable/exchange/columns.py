"""One attribute as a column: its Arrow type, and the way from an attribute value to a cell and back.

    str text · int int64 · Decimal decimal128(38, 18) · float float64 · bytes binary · bool bool
    datetime timestamp[us, UTC] · date date32 · UUID, and what is a text of a fixed shape, text
    Enum and Literal a dictionary of their texts, or int64
    set, list, tuple a list · dict a map · a dataclass a struct · Any, a union, a dataclass inside itself JSON text

Sets and maps are sorted: engines give them in any order. A cell that would not give the same attribute value back is
empty, and the value is kept in the row's `_rest`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec
import pyarrow as pa

from singletable.values import (
    INTEGER,
    AttributeValue,
    ConvertedPlan,
    Field,
    ListPlan,
    MapPlan,
    NestedPlan,
    OptionalPlan,
    PerKind,
    Scalar,
    SetPlan,
    ValuePlan,
    exact_json,
    from_attribute_value,
    normalized,
    read_float,
    to_attribute_value,
)

DECIMAL_PLACES: Final = 18
DECIMAL_TYPE: Final = pa.decimal128(38, DECIMAL_PLACES)
INSTANT_TYPE: Final = pa.timestamp("us", tz="UTC")
_INT64: Final = 2**63

_plain_json = msgspec.json.Encoder(decimal_format="number", order="deterministic")


class Unfit(ValueError):
    """A stored value that a column can't hold."""


@dataclass(frozen=True, eq=False)
class Column:
    """The column for the values of a declared type."""

    type: pa.DataType
    load: Callable[[AttributeValue], Any]
    """The cell of an attribute value, as `pyarrow.array` takes it. Raises ValueError if it has none."""
    dump: Callable[[Any], AttributeValue | None]
    """The attribute value of a cell, as `to_pylist` gives it; None if that is not an attribute, as an empty set."""
    is_json: bool = False
    choices: tuple[Any, ...] = ()
    """The values of a dictionary."""
    may_lose: bool = False
    """Whether JSON is inside, which does not say everything: a cell is compared with what it gives back."""


def column_of(plan: ValuePlan, inside: tuple[type[Any], ...] = ()) -> Column:
    """The column of a type. `inside` are the dataclasses around it."""
    if isinstance(plan, Scalar):
        return _scalar(plan)
    if isinstance(plan, ConvertedPlan):
        return column_of(plan.inner, inside)
    if isinstance(plan, OptionalPlan):
        return _optional(column_of(plan.inner, inside))
    if isinstance(plan, SetPlan):
        return _set(plan, _scalar(plan.element))
    if isinstance(plan, ListPlan):
        return _list(column_of(plan.element, inside))
    if isinstance(plan, MapPlan):
        return _map(column_of(plan.element, inside))
    if isinstance(plan, NestedPlan) and plan.kind not in inside:
        return _struct(plan, (*inside, plan.kind))
    return JSON


def _inner(tag: str) -> Callable[[AttributeValue], Any]:
    def inner(value: AttributeValue) -> Any:
        if tag not in value:
            raise Unfit(f"it is stored as {', '.join(value)}, not as {tag}")
        return value[tag]

    return inner


def _same(value: Any) -> Any:
    return value


def _whole(text: str) -> int:
    number = INTEGER.parse(text)
    if not -_INT64 <= number < _INT64:
        raise Unfit("a whole number beyond 64 bits")
    return int(number)


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if exponent < -DECIMAL_PLACES and any(digits[exponent + DECIMAL_PLACES :]):
        raise Unfit(f"a number of more than {DECIMAL_PLACES} decimals")
    if number and number.adjusted() >= 38 - DECIMAL_PLACES:
        raise Unfit(f"a number of more than {38 - DECIMAL_PLACES} digits before the point")
    return number


def _decimal_text(cell: Decimal) -> str:
    return format(normalized(cell), "f")


def _bytes(inner: str | bytes) -> bytes:
    return inner if isinstance(inner, bytes) else b64decode(inner)


def _bytes_text(cell: bytes) -> str:
    return b64encode(cell).decode()


def _as_written(plan: Scalar) -> Callable[[str], Any]:
    """Reads the texts of a type, in the form that this library writes."""

    def read(text: str) -> Any:
        try:
            value = plan.parse(text)
        except (OverflowError, OSError):
            raise Unfit("a time outside the years 1 to 9999") from None
        if plan.check(value) != text:
            raise Unfit("a value in another form than this library writes")
        return value

    return read


def _text_as_written(plan: Scalar) -> Callable[[str], str]:
    """Checks the texts of a type, which are its cells."""
    read = _as_written(plan)

    def checked(text: str) -> str:
        read(text)
        return text

    return checked


def _utc(cell: datetime) -> datetime:
    return cell if cell.tzinfo is timezone.utc else cell.astimezone(timezone.utc)


def _free(value: AttributeValue) -> str:
    """JSON as people write it. A value that it can't express exactly, as a set or bytes, is also in `_rest`."""
    return _plain_json.encode(_listed(from_attribute_value(value))).decode()


def _listed(value: Any) -> Any:
    """With sets as sorted lists."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, dict):
        return {name: _listed(each) for name, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list) else value


JSON = Column(pa.string(), _free, lambda cell: to_attribute_value(exact_json(cell)), is_json=True, may_lose=True)

_Reader = Callable[[Any], Any]
_SCALARS: Final[PerKind[tuple[pa.DataType, Callable[[Scalar], tuple[_Reader, _Reader]]]]] = PerKind(
    text=(pa.string(), lambda plan: (_same, _same)),
    flag=(pa.bool_(), lambda plan: (_same, bool)),
    integer=(pa.int64(), lambda plan: (_whole, str)),
    decimal=(DECIMAL_TYPE, lambda plan: (_decimal, _decimal_text)),
    float=(pa.float64(), lambda plan: (read_float, plan.check)),
    bytes=(pa.binary(), lambda plan: (_bytes, _bytes_text)),
    instant=(INSTANT_TYPE, lambda plan: (_as_written(plan), lambda cell: plan.check(_utc(cell)))),
    day=(pa.date32(), lambda plan: (_as_written(plan), plan.check)),
    uuid=(pa.string(), lambda plan: (_text_as_written(plan), _same)),
    formatted=(pa.string(), lambda plan: (_text_as_written(plan), lambda cell: plan.check(plan.parse(cell)))),
    reference=(pa.string(), lambda plan: (_same, _same)),
)
"""By kind: the Arrow type, and for a plan what makes a cell of the stored text, and the way back."""


def _scalar(plan: Scalar) -> Column:
    if plan.choices:
        return _choice(plan)
    type, ways = _SCALARS.of(plan.kind)
    load, dump = ways(plan)
    inner, tag = _inner(plan.tag), plan.tag
    return Column(type, lambda value: load(inner(value)), lambda cell: {tag: dump(cell)})


def _choice(plan: Scalar) -> Column:
    """An Enum or a Literal: its stored values, texts as a dictionary."""
    whole = all(isinstance(choice, int) for choice in plan.choices)
    inner = _inner(plan.tag)

    def load(value: AttributeValue) -> Any:
        plan.load(value)
        return int(inner(value)) if whole else str(inner(value))

    if whole:  # Parquet has no dictionary of numbers that comes back
        return Column(pa.int64(), load, lambda cell: {plan.tag: str(cell)}, choices=plan.choices)
    return Column(pa.dictionary(pa.int32(), pa.string()), load, lambda cell: {plan.tag: cell}, choices=plan.choices)


def _optional(column: Column) -> Column:
    return Column(
        column.type,
        lambda value: None if "NULL" in value else column.load(value),
        lambda cell: {"NULL": True} if cell is None else column.dump(cell),
        column.is_json,
        column.choices,
        column.may_lose,
    )


def value_type(type: pa.DataType) -> pa.DataType:
    """Without a dictionary, which few readers take inside a list, a map or a struct."""
    found: Any = type
    plain: pa.DataType = found.value_type if pa.types.is_dictionary(type) else type
    return plain


def _set(plan: SetPlan, element: Column) -> Column:
    inner, tag, one = _inner(plan.tag), plan.tag, plan.element.tag

    def dump(cell: Sequence[Any]) -> AttributeValue | None:
        members = [element.dump(each) for each in cell]
        return {tag: [member[one] for member in members if member is not None]} if members else None

    return Column(
        pa.list_(value_type(element.type)),
        lambda value: sorted(element.load({one: each}) for each in inner(value)),
        dump,
    )


def _list(element: Column) -> Column:
    inner = _inner("L")
    return Column(
        pa.list_(value_type(element.type)),
        lambda value: [element.load(each) for each in inner(value)],
        lambda cell: {"L": [element.dump(each) for each in cell]},
        may_lose=element.may_lose,
    )


def _map(element: Column) -> Column:
    inner = _inner("M")
    return Column(
        pa.map_(pa.string(), value_type(element.type)),
        lambda value: [(name, element.load(each)) for name, each in sorted(inner(value).items())],
        lambda cell: {"M": {name: element.dump(each) for name, each in cell}},
        may_lose=element.may_lose,
    )


def _struct(plan: NestedPlan, inside: tuple[type[Any], ...]) -> Column:
    """A nested dataclass. A part that is absent is null; where it reads as something else, the value is unfit."""
    parts: list[tuple[Field, Column]] = [(f, column_of(f.plan, inside)) for f in plan.codec.fields]
    inner = _inner("M")
    if not parts:
        return JSON

    def load(value: AttributeValue) -> dict[str, Any]:
        stored = inner(value)
        if not stored.keys() <= {f.stored for f, _ in parts}:
            raise Unfit("a map of more parts than its class declares")
        return {f.name: _part(f, column, stored.get(f.stored)) for f, column in parts}

    def dump(cell: Mapping[str, Any]) -> AttributeValue:
        found = {f.stored: column.dump(cell[f.name]) for f, column in parts if cell[f.name] is not None}
        return {"M": {name: value for name, value in found.items() if value is not None}}

    type = pa.struct([pa.field(f.name, value_type(column.type)) for f, column in parts])
    return Column(type, load, dump, may_lose=any(column.may_lose for _, column in parts))


def _part(field: Field, column: Column, value: AttributeValue | None) -> Any:
    if value is None:
        return [] if field.plan.is_set else None
    return column.load(value)


def load_cell(column: Column, value: AttributeValue) -> Any:
    """The cell of an attribute value; None if the column can't hold it."""
    try:
        return column.load(value)
    except (ValueError, LookupError, TypeError, ArithmeticError, InvalidOperation):
        return None
