"""Numbers beyond their column, in SQL: a column becomes as wide as its numbers where one type of 38 digits holds all.

The scale of an export's column is fixed, and numbers that don't fit are null there and exact in `_rest`. The manifest
counts them, with their digits; a question to the files finds the digits of the others. Where DuckDB has a type for both
together, a view reads the first from the column and the second from `_rest`: so its sums are exact. Else they are left
out, and each answer says how many.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from singletable.exchange import DatasetFiles, LeftOut
from singletable.exchange.inspect import REST, ColumnFacts
from singletable.reports.names import quoted, text

MOST_DIGITS: Final = 38
"""The digits of DuckDB's decimals. Its HUGEINT holds as many."""
Wide = Mapping[str, str]
"""The types of the columns of a dataset that are wider in SQL than in its files, by name."""
_DECIMAL: Final = "decimal"


def wide_columns(dataset: DatasetFiles) -> dict[str, LeftOut]:
    """The columns of numbers that leave out some which one type may hold."""
    counts = dataset.left_out or {}
    types = {column.name: column.type for column in dataset.columns}
    return {
        name: left_out
        for name, left_out in counts.items()
        if left_out.numbers
        and left_out.whole + left_out.decimals <= MOST_DIGITS
        and (types.get(name, "").startswith(_DECIMAL) or not left_out.decimals)
    }


def digits_question(dataset: DatasetFiles, rows: str) -> str:
    """The question for the largest number and the most decimals in each of `wide_columns`, in order."""
    columns = map(quoted, wide_columns(dataset))
    asked = (f"max(abs({c})), max(length(rtrim(split_part({c}::VARCHAR, '.', 2), '0')))" for c in columns)
    return f"SELECT {', '.join(asked)} FROM {rows}"  # noqa: S608  (names are quoted)


def wide_types(dataset: DatasetFiles, digits: list[tuple[Decimal | None, int | None]]) -> Wide:
    """The types that hold all numbers of a column; none where 38 digits are too few. `digits` answers the question."""
    types = {column.name: column.type for column in dataset.columns}
    wide: dict[str, str] = {}
    for (name, beyond), (largest, places) in zip(wide_columns(dataset).items(), digits, strict=True):
        whole = max(beyond.whole, 0 if not largest else Decimal(largest).adjusted() + 1)
        decimals = max(beyond.decimals, places or 0)
        if not types[name].startswith(_DECIMAL):
            wide[name] = "HUGEINT"
        elif whole + decimals <= MOST_DIGITS:
            wide[name] = f"DECIMAL({MOST_DIGITS}, {decimals})"
    return wide


def value_of(column: ColumnFacts, wide: Wide, alias: str = "") -> str:
    """The expression for a value of a column, of the rows that `alias` names."""
    plain = f"{alias}.{quoted(column.name)}" if alias else quoted(column.name)
    type = wide.get(column.name)
    if type is None:
        return plain
    rest = f"{alias}.{quoted(REST)}" if alias else quoted(REST)
    name = (column.attribute or column.name).replace("~", "~0").replace("/", "~1")
    return f"coalesce({plain}::{type}, json_extract_string({rest}, {text(f'/{name}/N')})::{type})"


def cells_lacking(dataset: DatasetFiles, wide: Wide) -> dict[str, int]:
    """The number of cells that a view leaves out, by column."""
    counts = dataset.left_out or {}
    lacking = {name: of.cells - (of.numbers if name in wide else 0) for name, of in counts.items()}
    return {name: count for name, count in lacking.items() if count}
