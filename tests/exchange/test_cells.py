"""Cells: a value is taken where nothing of it is lost, and refused where something would be."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from singletable.exchange.cells import BadCell, cell_of, cell_of_text

INSTANT = pa.timestamp("us", tz="UTC")
NUMBER = pa.decimal128(38, 18)
AT_NINE = datetime(2026, 11, 1, 9, tzinfo=timezone.utc)

LOST: list[tuple[Any, pa.DataType]] = [
    (1.5, pa.int64()),
    (Decimal("1.5"), pa.int64()),
    (Decimal("1E-20"), pa.int64()),
    (Decimal("-0.5"), pa.int64()),
    (float("inf"), pa.int64()),
    (True, pa.int64()),
    ("1", pa.int64()),
    (True, NUMBER),
    (Decimal("1E+126"), NUMBER),
    (True, pa.float64()),
    (1, pa.bool_()),
    (1, pa.string()),
    ("2026-11-01T09:00:00", INSTANT),
    ("2026-11-01T09:00:00.1234567Z", INSTANT),
    (datetime(2026, 11, 1, 9), INSTANT),
    (AT_NINE, pa.date32()),
    ("2026-11-01T09:00:00Z", pa.date32()),
    ("a", pa.binary()),
    ({"a": 1, "b": 2}, pa.struct([("a", pa.int64())])),
    ([1, 1.5], pa.list_(pa.int64())),
    ({"a": 1.5}, pa.map_(pa.string(), pa.int64())),
]


@pytest.mark.parametrize(("value", "type"), LOST, ids=[f"{value!r} as {type}" for value, type in LOST])
def test_nothing_is_lost_in_silence(value: Any, type: pa.DataType) -> None:
    with pytest.raises(BadCell):
        cell_of(value, type)


@pytest.mark.parametrize("text", ["1.5", "1,5", "0x1f", "", "one", "1e3", "1.0"])
def test_a_text_that_is_no_whole_number(text: str) -> None:
    with pytest.raises(BadCell, match="a whole number is wanted"):
        cell_of_text(text, pa.int64())


@pytest.mark.parametrize(
    "number", [10**400, Decimal("1e400"), float("nan"), float("inf")], ids=["int", "decimal", "nan", "inf"]
)
def test_a_number_that_a_float_does_not_hold(number: Any) -> None:
    with pytest.raises(BadCell, match=r"not finite|that a float can hold"):
        cell_of(number, pa.float64())
    with pytest.raises(BadCell, match="not finite"):
        cell_of_text(str(number), pa.float64())


KEPT: list[tuple[Any, pa.DataType, Any]] = [
    (2.0, pa.int64(), 2),
    (Decimal("-3.000"), pa.int64(), -3),
    (10**30, pa.int64(), 10**30),
    (1, NUMBER, Decimal(1)),
    (0.1, NUMBER, Decimal("0.1")),
    ("0.10", NUMBER, Decimal("0.10")),
    (1, pa.float64(), 1.0),
    ("2026-11-01T10:00:00+01:00", INSTANT, AT_NINE),
    ("2026-11-01T09:00:00.000000000Z", INSTANT, AT_NINE),
    ("2026-11-01", pa.date32(), date(2026, 11, 1)),
    ("YQ==", pa.binary(), b"a"),
    ({"a": 1}, pa.struct([("a", pa.int64()), ("b", pa.string())]), {"a": 1, "b": None}),
    ([("a", 2.0)], pa.map_(pa.string(), pa.int64()), [("a", 2)]),
    (None, pa.int64(), None),
]


@pytest.mark.parametrize(("value", "type", "cell"), KEPT, ids=[f"{value!r} as {type}" for value, type, _ in KEPT])
def test_what_is_the_same_is_taken(value: Any, type: pa.DataType, cell: Any) -> None:
    found = cell_of(value, type)
    assert found == cell
    assert found.__class__ is cell.__class__
