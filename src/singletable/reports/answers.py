"""The answer to a question: an Arrow table, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from typing import Any, Literal

import pyarrow as pa

from singletable.errors import InvalidRequest, NotConfigured
from singletable.reports.charts import MOST_SERIES, Chart, Series
from singletable.values import normalized


@dataclass(frozen=True)
class Answer:
    """The rows of a question."""

    arrow: pa.Table = field(repr=False)
    """In columns, as DuckDB made them."""
    is_cut: bool = False
    """Whether there are more rows than the session's limits allow."""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """Left out of the views that it reads: values by `view.column`, which no column of the export holds, and items
    by `view`, which their class can't read."""
    uncounted: tuple[str, ...] = ()
    """The views that an older version exported, which did not count what it left out."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.arrow.column_names)

    @property
    def types(self) -> dict[str, str]:
        """The type of each column, as Arrow writes it."""
        return {field.name: str(field.type) for field in self.arrow.schema}

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for everything that the answer leaves out, and for what is not known of that."""
        lacking = [
            f"{name} lacks {count:,} value{'s' * (count > 1)} that its type can't hold: they are in the export's _rest"
            if "." in name
            else f"{name} lacks {count:,} item{'s' * (count > 1)} that the class can't read: _unknown has them"
            for name, count in self.left_out.items()
        ]
        old = [
            f"{view} may lack values: its export is of an older version, which did not count them"
            for view in self.uncounted
        ]
        return (*lacking, *old)

    def __len__(self) -> int:
        return self.arrow.num_rows

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Plain Python values, a batch at a time. Maps are dicts."""
        for batch in self.arrow.to_batches(max_chunksize=10_000):
            columns: Any = [_values(column) for column in batch.columns]
            yield from zip(*columns, strict=True)

    def polars(self) -> Any:
        """A `polars.DataFrame`. NotConfigured if polars is not installed."""
        return _package("polars").from_arrow(self.arrow)

    def pandas(self) -> Any:
        """A `pandas.DataFrame`. NotConfigured if pandas is not installed."""
        _package("pandas")
        return self.arrow.to_pandas()

    def chart(self, title: str) -> Chart:
        """The rows as a chart: the columns of numbers over the others, which are the labels. Lines where a single other
        column holds times or dates, bars else. InvalidRequest without a column of numbers, or with too many."""
        numbers = [at for at, field in enumerate(self.arrow.schema) if _is_number(field.type)]
        others = sorted({*range(self.arrow.num_columns)}.difference(numbers))
        if not numbers:
            raise InvalidRequest(
                "a chart needs a column of numbers",
                hint="Ask for one, as in: SELECT state, count(*) FROM job GROUP BY state.",
            )
        labels = tuple(" · ".join(_label(row[at]) for at in others) or str(n + 1) for n, row in enumerate(self.rows()))
        series = tuple(
            Series(self.columns[at], tuple(float(value or 0) for value in self.arrow.column(at).to_pylist()))
            for at in numbers[: MOST_SERIES + 1]
        )
        return Chart(title, labels, series, self._form(others))

    def _form(self, others: list[int]) -> Literal["bars", "lines"]:
        is_time = len(others) == 1 and pa.types.is_temporal(self.arrow.schema.field(others[0]).type)
        return "lines" if is_time and len(self) > 2 else "bars"


def _values(column: Any) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    except (OverflowError, ValueError):  # times beyond those of Python: their text
        values = column.cast(pa.string()).to_pylist()
    return [_plain(value) for value in values] if pa.types.is_decimal(column.type) else values


def _plain(value: Decimal | None) -> Decimal | None:
    """Without the zeros that only its column's type gives it."""
    if value is None:
        return None
    whole = value.to_integral_value()
    return whole if whole == value else normalized(value)


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))


def _label(value: Any) -> str:
    if value is None:
        return "(none)"
    text = str(value)
    return text.removesuffix(" 00:00:00+00:00").removesuffix("+00:00")


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise NotConfigured(f"{name} is not installed", hint=f"Install it: python -m pip install {name}.") from error
