"""Values that the columns of a data file leave out: cells that are null while their items have a value, which is in
`_rest`.

They are counted where rows are made, and stand in the manifest with their file: so a resumed export has them too, and
every reader can say what its answer lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from singletable.exchange.gate import Count
from singletable.values import normalized


class LeftOut(Struct, frozen=True):
    """The null cells of a column whose items have a value."""

    cells: Count = 0
    numbers: Count = 0
    """Those of a column of numbers that `_rest` has as numbers, under the attribute's stored name."""
    whole: Count = 0
    """The most digits that such a number has before the point."""
    decimals: Count = 0
    """The most digits after it."""

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(
            self.cells + other.cells,
            self.numbers + other.numbers,
            max(self.whole, other.whole),
            max(self.decimals, other.decimals),
        )


def left_out_cell(number: str | None) -> LeftOut:
    """One cell; `number` is its value where that is a number that a question can take from `_rest`."""
    value = None if number is None else _number(number)
    if value is None:
        return LeftOut(1)
    _, digits, exponent = normalized(value).as_tuple()
    assert isinstance(exponent, int)
    return LeftOut(1, 1, max(0, len(digits) + exponent), max(0, -exponent))


def _number(text: str) -> Decimal | None:
    """None for what is not a number, as a file that others made may have it."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def together(counts: Iterable[Mapping[str, LeftOut]]) -> dict[str, LeftOut]:
    """The counts of several files."""
    sums: dict[str, LeftOut] = {}
    for of_file in counts:
        for name, left_out in of_file.items():
            sums[name] = sums.get(name, LeftOut()) + left_out
    return sums


class LeftOutTally:
    """Values that the rows since the last file leave out, by dataset and column."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, LeftOut]] = {}

    def add(self, dataset: str, column: str, left_out: LeftOut) -> None:
        counts = self._counts.setdefault(dataset, {})
        counts[column] = counts.get(column, LeftOut()) + left_out

    def take(self, dataset: str) -> dict[str, LeftOut]:
        """The counts of a dataset, for the file that its rows are in."""
        return dict(sorted(self._counts.pop(dataset, {}).items()))
