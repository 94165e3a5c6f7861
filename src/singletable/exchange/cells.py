"""Cells of a row from what a file holds: JSON values, texts of CSV, and the values that Arrow's columns give.

A value becomes a cell only without loss: 1 is a decimal, 1.5 is not a whole number, a time needs a zone.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final, cast

import pyarrow as pa

from singletable.exchange.columns import value_type
from singletable.values import exact_json

_NANOSECONDS: Final = re.compile(r"[.,]\d{6}\d*[1-9]")
"""Decimals of a second that no time has room for."""
_FLAGS: Final = {"true": True, "false": False}


class BadCell(ValueError):
    """A value that its column can't take. The text says why, without the value."""


Reader = Callable[[Any], Any]
"""The cell of a value of a file other than null, as `Dataset.item` takes it. BadCell for one of another type."""


def cell_of(value: Any, type: pa.DataType) -> Any:
    """The cell of one value; for those of a column make its reader once."""
    return None if value is None else cell_reader(type)(value)


def cell_of_text(text: str | None, type: pa.DataType) -> Any:
    """The cell of one text in a CSV file."""
    return None if text is None else text_reader(type)(text)


def cell_reader(type: pa.DataType) -> Reader:
    """The reader of values from JSON or from a column."""
    type = value_type(type)
    if pa.types.is_map(type):
        return _map_reader(cell_reader(cast(Any, type).item_type))
    if pa.types.is_struct(type):
        return _struct_reader({part.name: cell_reader(part.type) for part in cast(Any, type)})
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return _list_reader(cell_reader(cast(Any, type).value_type))
    return _scalar_reader(type)


def text_reader(type: pa.DataType) -> Reader:
    """The reader of texts in a CSV file."""
    type = value_type(type)
    if pa.types.is_string(type):
        return str
    if pa.types.is_nested(type):
        read = cell_reader(type)

        def read_json(text: str) -> Any:
            value = _json(text)
            return None if value is None else read(value)

        return read_json
    if pa.types.is_boolean(type):
        return _flag_of_text
    if pa.types.is_integer(type):
        return lambda text: _read(int, text, "a whole number")
    if pa.types.is_floating(type):
        return lambda text: _finite(_read(float, text, "a number"))
    return _scalar_reader(type)


def _flag_of_text(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise BadCell("true or false is wanted")
    return _FLAGS[text.lower()]


def _scalar_reader(type: pa.DataType) -> Reader:
    def refuse(_: Any) -> Any:
        raise BadCell(f"no value of a file is a {type}")

    return next((read for is_of, read in _SCALARS if is_of(type)), refuse)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadCell(f"a text is wanted, not {_said(value)}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadCell(f"true or false is wanted, not {_said(value)}")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = Decimal(value) if isinstance(value, (float, Decimal)) else None
    if number is None or not _is_storable(number) or number != number.to_integral_value():
        raise BadCell(f"a whole number is wanted, not {_said(value)}")
    return int(number)


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise BadCell(f"a number is wanted, not {_said(value)}")
    return _finite(_read(float, value, "a number that a float can hold"))


def _finite(number: float) -> float:
    if not isfinite(number):
        raise BadCell("a float that is not finite has no place in DynamoDB; null is no value")
    return number


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise BadCell(f"a number is wanted, not {_said(value)}")
    number: Decimal = _read(Decimal, value if not isinstance(value, float) else repr(value), "a number")
    if not _is_storable(number):
        raise BadCell("a number between 1E-130 and 1E+126 is wanted")
    return number


def _is_storable(number: Decimal) -> bool:
    """Whether DynamoDB has numbers as large, or as small. Others may have more digits than fit into memory."""
    return number.is_finite() and (not number or -130 <= number.adjusted() <= 125)


def _instant(value: Any) -> datetime:
    instant = (
        value if isinstance(value, datetime) else _read(datetime.fromisoformat, _text(value), "a time as ISO 8601")
    )
    if instant.tzinfo is None:
        raise BadCell("a time with its zone is wanted, as 2026-11-01T09:30:00Z")
    if getattr(value, "nanosecond", 0) or (isinstance(value, str) and _NANOSECONDS.search(value)):
        raise BadCell("a time of six decimals or fewer is wanted")
    return cast(datetime, instant)


def _day(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    found: date = _read(date.fromisoformat, _text(value), "a day as ISO 8601")
    return found


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        return b64decode(_text(value), validate=True)
    except (NotBase64, ValueError):
        raise BadCell("bytes as base64 are wanted") from None


_SCALARS: Final[tuple[tuple[Callable[[pa.DataType], bool], Reader], ...]] = (
    (pa.types.is_string, _text),
    (pa.types.is_boolean, _flag),
    (pa.types.is_integer, _whole),
    (pa.types.is_floating, _float),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_timestamp, _instant),
    (pa.types.is_date, _day),
    (pa.types.is_binary, _bytes),
)


def _list_reader(element: Reader) -> Reader:
    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise BadCell(f"a list is wanted, not {_said(value)}")
        return [None if member is None else element(member) for member in value]

    return read


def _map_reader(element: Reader) -> Reader:
    def read(value: Any) -> list[tuple[str, Any]]:
        if isinstance(value, dict):
            pairs = list(cast("dict[str, Any]", value).items())
        elif isinstance(value, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            pairs = cast("list[tuple[str, Any]]", value)
        else:
            raise BadCell(f"an object is wanted, not {_said(value)}")
        return [(_text(name), None if member is None else element(member)) for name, member in pairs]

    return read


def _struct_reader(parts: Mapping[str, Reader]) -> Reader:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise BadCell(f"an object is wanted, not {_said(value)}")
        held = cast("dict[str, Any]", value)
        if not held.keys() <= parts.keys():
            strange = min(held.keys() - parts.keys())
            raise BadCell(f"there is no part {strange!r}; there are {', '.join(parts)}")
        cells: dict[str, Any] = {}
        for name, part in parts.items():
            member = held.get(name)
            cells[name] = None if member is None else part(member)
        return cells

    return read


def _json(text: str) -> Any:
    try:
        return exact_json(text)
    except (ValueError, RecursionError):
        raise BadCell("JSON is wanted") from None


def _read(make: Callable[[Any], Any], value: Any, wanted: str) -> Any:
    try:
        return make(value)
    except (ValueError, OverflowError, InvalidOperation):
        raise BadCell(f"{wanted} is wanted") from None


def _said(value: Any) -> str:
    return f"a {type(value).__name__}"
