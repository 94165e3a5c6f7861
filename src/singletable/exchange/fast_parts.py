"""Lists, maps and dataclasses of a page, the fast way: the parts of all values are columns themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
import pyarrow as pa

from singletable.exchange.columns import column_of, value_type
from singletable.exchange.fast_columns import Array, Bad, InnerColumn, Values, fast_scalar, lists
from singletable.values import INTEGER, TEXT, Field, ListPlan, MapPlan, NestedPlan, Scalar, SetPlan, ValuePlan


def part_of(plan: ValuePlan) -> InnerColumn | None:
    """The fast way to a type's values; None if there is none, as for what is JSON text."""
    if isinstance(plan, Scalar):
        return _scalar(plan)
    if isinstance(plan, SetPlan) and plan.element in (TEXT, INTEGER):
        column = column_of(plan)
        inner: Any = list[int] if plan.element is INTEGER else list[str]
        return InnerColumn(plan.tag, inner, column.type, lists(column))
    if isinstance(plan, ListPlan):
        element = part_of(plan.element)
        return element and _list(element)
    if isinstance(plan, MapPlan):
        element = part_of(plan.element)
        return element and _map(element)
    return _dataclass(plan) if isinstance(plan, NestedPlan) else None


def _scalar(plan: Scalar) -> InnerColumn | None:
    fast = fast_scalar(plan)
    if fast is not None:
        inner, array = fast
        return InnerColumn(plan.tag, inner, column_of(plan).type, array)
    if not plan.choices:
        return None
    type, choices = value_type(column_of(plan).type), {*plan.choices, None}

    def chosen(values: Values, bad: Bad) -> Any:
        if not choices.issuperset(values):
            bad.update(place for place, value in enumerate(values) if value not in choices)
        return pa.array(values, type)

    return InnerColumn(plan.tag, int if plan.tag == "N" else str, type, chosen)


def _list(element: InnerColumn) -> InnerColumn:
    tag, build, type = element.tag, element.array, pa.list_(element.type)

    def array(values: Values, bad: Bad) -> Any:
        flat = list(map(attrgetter(tag), chain.from_iterable(value for value in values if value is not None)))
        inside = _inside(build, flat, values, bad)
        return pa.ListArray.from_arrays(_offsets(values), inside, type=type, mask=_mask(values))

    return InnerColumn("L", list[element.wire], type, array)  # type: ignore[name-defined]


def _map(element: InnerColumn) -> InnerColumn:
    tag, build, type = element.tag, element.array, pa.map_(pa.string(), element.type)

    def array(values: Values, bad: Bad) -> Any:
        pairs = [pair for value in values if value is not None for pair in sorted(value.items(), key=itemgetter(0))]
        inside = _inside(build, [getattr(each, tag) for _, each in pairs], values, bad)
        names = pa.array([name for name, _ in pairs], pa.string())
        maps: Any = pa.MapArray.from_arrays(_offsets(values), names, inside)
        empty = _mask(values)
        return maps.cast(type) if empty is None else pa.array(maps.to_pylist(), type, mask=empty)

    return InnerColumn("M", dict[str, element.wire], type, array)  # type: ignore[name-defined]


def _dataclass(plan: NestedPlan) -> InnerColumn | None:
    column = column_of(plan)
    if column.may_lose or not pa.types.is_struct(column.type):
        return None
    parts = [(f, part_of(f.plan)) for f in plan.codec.fields]
    fast = [(f, part) for f, part in parts if part is not None]
    if len(fast) < len(parts):
        return None
    inner = _struct_of(plan.kind, fast)
    readers = [(_reader(f"p{n}", part.tag, f.may_be_absent), part.array) for n, (f, part) in enumerate(fast)]
    fields = list(column.type)

    def array(values: Values, bad: Bad) -> Any:
        arrays = [build(contents(values), bad) for contents, build in readers]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=_mask(values))

    return InnerColumn("M", inner, column.type, array)


def _struct_of(kind: type[Any], parts: Sequence[tuple[Field, InnerColumn]]) -> Any:
    required: list[Any] = [(f"p{n}", p.wire) for n, (f, p) in enumerate(parts) if not f.may_be_absent]
    absent: list[Any] = [(f"p{n}", p.wire | None, None) for n, (f, p) in enumerate(parts) if f.may_be_absent]
    rename = {f"p{n}": f.stored for n, (f, _) in enumerate(parts)}
    return msgspec.defstruct(
        f"{kind.__name__}Parts", [*required, *absent], rename=rename, forbid_unknown_fields=True, gc=False
    )


def _reader(name: str, tag: str, may_be_absent: bool) -> Callable[[Values], Values]:
    """A function that returns one part of each value."""
    of_each = attrgetter(f"{name}.{tag}")

    def contents(values: Values) -> Values:
        if not may_be_absent and None not in values:
            return list(map(of_each, values))
        return [None if v is None or getattr(v, name) is None else of_each(v) for v in values]

    return contents


def _inside(build: Array, flat: Values, values: Values, bad: Bad) -> Any:
    """The array of what is inside of values; those in which one is bad are bad."""
    wrong: Bad = set()
    array = build(flat, wrong)
    if wrong:
        rows = [place for place, value in enumerate(values) if value is not None for _ in value]
        bad.update(rows[place] for place in wrong)
    return array


def _offsets(values: Values) -> Any:
    counts = (0 if value is None else len(value) for value in values)
    return pa.array([0, *accumulate(counts)], pa.int32())


def _mask(values: Values) -> Any:
    return pa.array([value is None for value in values]) if None in values else None
