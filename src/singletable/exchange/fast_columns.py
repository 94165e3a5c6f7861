"""The columns of a page, the fast way: the values of one attribute as an Arrow array, without a loop where Arrow has
one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec
import pyarrow as pa

from singletable.errors import SingletableError
from singletable.exchange.columns import DECIMAL_PLACES, DECIMAL_TYPE, INSTANT_TYPE, Column, column_of, value_type
from singletable.foundation import KeyOf, Model, Slot, Template, Verbatim, is_same_item
from singletable.values import Field, Kind, Scalar, ValuePlan, read_float, wire_struct

Values = list[Any]
"""The contents of one attribute of all items of a page; None if it is absent."""
Bad = set[int]
"""Places in a page of what takes the slow way."""
Array = Callable[[Values, Bad], Any]
_MOST_WHOLE = 38 - DECIMAL_PLACES
_WHOLE = re.compile(rf"-?\d{{1,{_MOST_WHOLE}}}(\.\d+)?").fullmatch
"""A number in plain notation whose digits before the point fit the column."""
_CANONICAL_INSTANT: Final = 27
_SECOND: Final = 1_000_000
_LAST_EXPIRY: Final = 253_402_300_799
"""The last second of the year 9999."""
_UUIDS: Final = re.compile(r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\n)*").fullmatch
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


class FastColumn(msgspec.Struct, frozen=True):
    """One attribute: the msgspec type of its value, and its column."""

    field: Field
    name: str
    """The name of the wire struct's field."""
    wire: Any
    tag: str
    """The letter inside the value; empty where the value itself is read."""
    cells: Callable[[Values, Bad], Values]
    """The values; for an attribute that is read from the key, without the key's text before them."""
    array: Callable[[Values, Bad], Any]
    """The column; adds to `Bad` the places of the values that it can't hold, or that would come back otherwise."""


class InnerColumn(msgspec.Struct, frozen=True):
    """A value inside another: the msgspec type of what is inside its letter, and the array of many of them."""

    tag: str
    inner: Any
    type: Any
    array: Array

    @property
    def wire(self) -> Any:
        return wire_struct(self.tag, self.inner)


def fast_column(model: Model[Any], f: Field, column: Column, name: str, part: InnerColumn | None) -> FastColumn:
    """The fast way to a column. `part` is that of a value of parts, if there is one."""
    if not f.is_written and f.stored in model.table.definition.key and isinstance(f.plan, Scalar):
        array = _with_absent(f, _typed(pa.string()))
        return FastColumn(f, name, wire_struct("S", str), "S", _read_from_key(f.plan), array)
    fast = fast_scalar(f.plan)
    if fast is not None and isinstance(f.plan, Scalar):
        inner, array = fast
        tag = f.plan.tag
        return FastColumn(f, name, wire_struct(tag, inner), tag, _as_they_are, _with_absent(f, array))
    if isinstance(f.plan, Scalar) and f.plan.choices and pa.types.is_dictionary(column.type):
        inner, tag = (int if f.plan.tag == "N" else str), f.plan.tag
        return FastColumn(
            f, name, wire_struct(tag, inner), tag, _as_they_are, _with_absent(f, _choices(f.plan, column))
        )
    if part is not None:
        return FastColumn(f, name, part.wire, part.tag, _as_they_are, _with_absent(f, part.array))
    return FastColumn(f, name, dict[str, Any], "", _as_they_are, _with_absent(f, _loaded(column, is_set=f.plan.is_set)))


def _as_they_are(values: Values, bad: Bad) -> Values:
    return values


def _read_from_key(plan: Scalar) -> Callable[[Values, Bad], Values]:
    def cell(value: Any) -> Any:
        read = plan.parse(value)
        return read.partition if isinstance(read, KeyOf) else read

    return lambda values, bad: _each(values, bad, cell)


def _with_absent(f: Field, array: Array) -> Array:
    """The column of an attribute. Where it is absent and its class reads something else than None, the slow way says
    so."""
    if f.optional or f.plan.is_set or not f.is_written or not f.may_be_absent:
        return array

    def checked(values: Values, bad: Bad) -> Any:
        bad.update(place for place, value in enumerate(values) if value is None)
        return array(values, bad)

    return checked


def _typed(type: pa.DataType) -> Array:
    return lambda values, bad: pa.array(values, type)


def _integers(values: Values, bad: Bad) -> pa.Array[Any]:
    try:
        return pa.array(values, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        beyond = [n for n, v in enumerate(values) if v is not None and not -(2**63) <= v < 2**63]
        return pa.array(_without(values, beyond, bad), pa.int64())


def _decimals(values: Values, bad: Bad) -> pa.Array[Any]:
    # Arrow's cast gives another number, and no error, where the digits before the point pass its 128 bits.
    far = [n for n, v in enumerate(values) if v is not None and (len(v) > _MOST_WHOLE or "e" in v or "E" in v)]
    beyond = [n for n in far if not _WHOLE(values[n])]
    return _cast(_without(values, beyond, bad), bad, DECIMAL_TYPE)


def _floats(values: Values, bad: Bad) -> pa.Array[Any]:
    try:
        return pa.array(
            [None if v is None else float(v) if len(v) < 16 else read_float(v) for v in values], pa.float64()
        )
    except ValueError:
        return _one_by_one(values, bad, pa.float64(), read_float)


def _instants(values: Values, bad: Bad) -> pa.Array[Any]:
    other = [
        n
        for n, v in enumerate(values)
        if v is not None and (len(v) != _CANONICAL_INSTANT or v[26] != "Z" or v[10] != "T")
    ]
    return _cast(_without(values, other, bad), bad, INSTANT_TYPE)


def _expiries(values: Values, bad: Bad) -> pa.Array[Any]:
    far = [n for n, v in enumerate(values) if v is not None and not 0 <= v <= _LAST_EXPIRY]
    seconds = _without(values, far, bad)
    return pa.array([None if v is None else v * _SECOND for v in seconds], pa.int64()).cast(INSTANT_TYPE)


def _days(values: Values, bad: Bad) -> pa.Array[Any]:
    other = [n for n, v in enumerate(values) if v is not None and (len(v) != 10 or v[4] != "-" or v[7] != "-")]
    return _cast(_without(values, other, bad), bad, pa.date32())


def _cast(values: Values, bad: Bad, type: pa.DataType) -> pa.Array[Any]:
    """Texts that Arrow reads as another type; one by one where it can't read one of them."""
    try:
        return pa.array(values, pa.string()).cast(type)
    except pa.ArrowInvalid:
        return _one_by_one(values, bad, type, lambda v: pa.array([v], pa.string()).cast(type)[0].as_py())


def _uuids(values: Values, bad: Bad) -> pa.Array[Any]:
    if not _UUIDS("".join([f"{v}\n" for v in values if v is not None])):
        other = [n for n, v in enumerate(values) if v is not None and not _UUID(v)]
        values = _without(values, other, bad)
    return pa.array(values, pa.string())


def _choices(plan: Scalar, column: Column) -> Array:
    places = {choice: n for n, choice in enumerate(plan.choices)} | {None: None}
    choices = pa.array(plan.choices, value_type(column.type))

    def array(values: Values, bad: Bad) -> pa.Array[Any]:
        try:
            indices = [places[v] for v in values]
        except KeyError:
            other = [n for n, v in enumerate(values) if v not in places]
            indices = [places[v] for v in _without(values, other, bad)]
        return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), choices)

    return array


def lists(column: Column) -> Array:
    def array(values: Values, bad: Bad) -> pa.Array[Any]:
        try:
            return pa.array([sorted(v) if v else [] for v in values], column.type)
        except (OverflowError, pa.ArrowInvalid):
            bad.update(range(len(values)))
            return pa.array([None] * len(values), column.type)

    return array


def _loaded(column: Column, *, is_set: bool) -> Array:
    """A value of parts, read one by one; where JSON is inside, it is compared with what it gives back. An absent set is
    empty."""
    load, dump = column.load, column.dump
    checked = column.may_lose

    def cell(value: Any) -> Any:
        loaded = load(value)
        if checked and not is_same_item({"": dump(loaded) or {}}, {"": value}):
            raise ValueError("another value comes back")
        return loaded

    def array(values: Values, bad: Bad) -> pa.Array[Any]:
        cells = _each(values, bad, cell)
        if is_set:
            cells = [[] if value is None else read for value, read in zip(values, cells, strict=True)]
        return pa.array(cells, column.type)

    return array


def _one_by_one(values: Values, bad: Bad, type: pa.DataType, read: Callable[[Any], Any]) -> pa.Array[Any]:
    return pa.array(_each(values, bad, read), type)


def _each(values: Values, bad: Bad, read: Callable[[Any], Any]) -> Values:
    """Read each value; None, and its place in `bad`, for an unreadable one."""
    cells: Values = []
    for place, value in enumerate(values):
        try:
            cells.append(None if value is None else read(value))
        except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError):
            bad.add(place)
            cells.append(None)
    return cells


def _without(values: Values, places: Sequence[int], bad: Bad) -> Values:
    """The values with None at some places, which take the slow way."""
    if not places:
        return values
    bad.update(places)
    left = list(values)
    for place in places:
        left[place] = None
    return left


_FAST: Final[Mapping[tuple[Kind, str], tuple[Any, Array]]] = {
    (Kind.TEXT, "S"): (str, _typed(pa.string())),
    (Kind.FLAG, "BOOL"): (bool, _typed(pa.bool_())),
    (Kind.BYTES, "B"): (bytes, _typed(pa.binary())),
    (Kind.INTEGER, "N"): (int, _integers),
    (Kind.DECIMAL, "N"): (str, _decimals),
    (Kind.FLOAT, "N"): (str, _floats),
    (Kind.INSTANT, "S"): (str, _instants),
    (Kind.INSTANT, "N"): (int, _expiries),
    (Kind.DAY, "S"): (str, _days),
    (Kind.UUID, "S"): (str, _uuids),
}
"""By kind and stored letter: the msgspec type of what is inside the letter, and the array of many."""


def fast_scalar(plan: ValuePlan) -> tuple[Any, Array] | None:
    """The fast way to values of one kind; None where there is none, and for a few choices."""
    if not isinstance(plan, Scalar) or plan.choices:
        return None
    return _FAST.get((plan.kind, plan.tag), _formatted(plan) if plan.kind is Kind.FORMATTED else None)


def _formatted(plan: Scalar) -> tuple[Any, Array]:
    """Texts of a shape, read one by one."""
    column, tag = column_of(plan), plan.tag
    return str, lambda values, bad: _one_by_one(values, bad, column.type, lambda v: column.load({tag: v}))


def slot_texts(template: Template, slot: Slot, column: FastColumn) -> Callable[[Values, Bad], Values]:
    """The texts that values have in a key."""
    plan, tag = column.field.plan, column.tag
    is_plain = slot.key_type == slot.value_type.key
    if (
        column.cells is not _as_they_are
        or issubclass(slot.type, Verbatim)
        or not isinstance(plan, Scalar)
        or (plan.shape and is_plain)
    ):
        return _as_they_are  # as they are stored, in the form that the column has checked
    write = template.writer_of(slot)
    if issubclass(slot.type, Enum):
        written = {choice: write(plan.parse(choice)) for choice in plan.choices}
        return lambda values, bad: [written.get(value) for value in values]
    if plan.choices or plan.kind is Kind.INTEGER:
        return _written(write)
    if plan.kind is Kind.TEXT:
        return _written_texts(write) if is_plain else _written(write)
    return _written(lambda value: write(plan.load({tag: str(value)})))


def _written_texts(write: Callable[[str], str]) -> Callable[[Values, Bad], Values]:
    """The texts of a page are asked at once whether any of them has to be escaped."""
    one_by_one = _written(write)

    def texts(values: Values, bad: Bad) -> Values:
        whole = "".join(values) if None not in values else ""
        return values if whole.isascii() and whole.isprintable() and write(whole) == whole else one_by_one(values, bad)

    return texts


def _written(write: Callable[[Any], str]) -> Callable[[Values, Bad], Values]:
    def texts(values: Values, bad: Bad) -> Values:
        try:
            return [None if v is None else write(v) for v in values]
        except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError):
            return _each(values, bad, write)

    return texts
