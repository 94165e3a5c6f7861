"""The doors that are files: things exported in each format and imported again, with masks, by people, by DynamoDB.

A door is a function of two databases, the second of them empty; it gives a function of things, which returns them as
they come in again.
"""

from __future__ import annotations

import types
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from singletable import Database
from singletable.exchange import Exports, Format, Imports
from singletable.exchange.formats import FORMATS
from singletable.expressions import encoded
from singletable.foundation import model_of
from singletable.operations import encode, read_item
from singletable.values import StoredAs, exact_json, from_attribute_value, plan_for, to_attribute_value
from tests.doors.things import NAMES, Thing, things, type_of

Through = Callable[[Sequence[Any]], list[Any]]
"""Things, as they are read after they went through a door."""
_numbers = msgspec.json.Encoder(decimal_format="number", order="deterministic")


def exported(source: Database, target: Database, *, format: Format, keys: bool) -> Through:
    def through(given: Sequence[Any]) -> list[Any]:
        source.write_many(puts=given)
        with TemporaryDirectory() as folder:
            assert Exports(source, things).export(folder, format=format, keys=keys).unknown == 0
            done = Imports(target, things).run(folder, mode="replace" if keys else "create")
        assert (done.written, done.bad_rows, done.left_out) == (len(given), (), {})
        return target.all(Thing.of())

    return through


def dynamodb_json(_: Database, target: Database) -> Through:
    """Lines of items, as DynamoDB's own exports have them."""

    def through(given: Sequence[Any]) -> list[Any]:
        with TemporaryDirectory() as folder:
            path = Path(folder, "items.json")
            path.write_bytes(b"".join(b'{"Item":%b}\n' % encode(model_of(Thing).item(each)) for each in given))
            done = Imports(target, things).run(path, into=Thing, format="dynamodb")
        assert (done.written, done.bad_rows) == (len(given), ())
        return target.all(Thing.of())

    return through


FILE_DOORS: Mapping[str, Callable[[Database, Database], Through]] = {
    f"{format}{', with keys' if keys else ''}": partial(exported, format=format, keys=keys)
    for format in FORMATS
    for keys in (False, True)
} | {"DynamoDB's JSON": dynamodb_json}


def written_by_people(given: Iterable[tuple[str, str, Any]], folder: str, *, as_csv: bool) -> Path:
    """A file that no export wrote, as the how-to of imports says that it is written: of things by their ids, with the
    name and the value of an attribute."""
    rows = [(id, {name: in_json(as_column(value, type_of(name)))}) for id, name, value in given]
    path = Path(folder, "rows.csv" if as_csv else "rows.jsonl")
    path.write_text(_csv_of(rows) if as_csv else _json_lines_of(rows), encoding="utf-8", newline="")
    return path


def as_column(value: Any, declared: Any) -> Any:
    """A value in the types of its column: what a codec makes of it, seconds, objects of their parts, and the text of
    JSON for `Any` and for unions."""
    origin, inside = get_origin(declared), get_args(declared)
    if value is None and declared is not Any:
        return None
    codec = next((each for each in inside[1:] if isinstance(each, StoredAs)), None)
    if codec is not None:
        return as_column(codec.dump(value), codec.stored)
    if origin in (Union, types.UnionType):
        others = [one for one in inside if one is not types.NoneType]
        return as_column(value, others[0]) if len(others) == 1 else json_text(value, declared)
    if declared is Any or origin is Annotated:
        return json_text(value, declared)
    if origin is dict:
        return {name: as_column(one, inside[1]) for name, one in value.items()}
    if origin in (list, tuple, set, frozenset):
        return cast("Any", origin)(as_column(one, inside[0]) for one in value)
    if is_dataclass(declared):
        return {name: as_column(getattr(value, name), one) for name, one in get_type_hints(declared).items()}
    return Decimal(value // timedelta(microseconds=1)).scaleb(-6) if isinstance(value, timedelta) else value


def json_text(value: Any, declared: Any) -> str:
    """The text of JSON for what is stored: bytes are base64 in it, and sets lists."""
    return _numbers.encode(in_json(from_attribute_value(stored_value(value, declared)))).decode()


def stored_value(value: Any, declared: Any) -> Any:
    return read_item(encode({"value": encoded(plan_for(declared), value)}))["value"]


def is_told_by_json(value: Any, declared: Any) -> bool:
    """Whether the text of JSON gives the value again: it holds no bytes and no sets, and the names of its parts."""
    if "Any" not in str(declared) and "Circle" not in str(declared):
        return True
    texts = as_column(value, declared)
    stored = stored_value(value, declared)
    if isinstance(texts, str):
        return bool(to_attribute_value(exact_json(texts)) == stored)
    pairs = zip(texts, stored["L"], strict=True) if "L" in stored else ((texts[n], stored["M"][n]) for n in texts)
    return all(text is None or to_attribute_value(exact_json(text)) == one for text, one in pairs)


def in_json(value: Any) -> Any:
    """A value of a column as people write it in JSON."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: in_json(each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, (set, frozenset)):
        value = sorted(cast("set[Any]", value), key=str)
    if isinstance(value, (list, tuple)):
        return [in_json(each) for each in cast("Iterable[Any]", value)]
    return value if value is None or isinstance(value, (bool, int, float, Decimal, str)) else str(value)


def _json_lines_of(rows: Iterable[tuple[str, dict[str, Any]]]) -> str:
    return "".join(_numbers.encode({"id": id, **row}).decode() + "\n" for id, row in rows)


def _csv_of(rows: Iterable[tuple[str, dict[str, Any]]]) -> str:
    lines = ([_csv_cell(id), *(_csv_cell(row.get(name)) for name in NAMES)] for id, row in rows)
    return "".join(",".join(line) + "\r\n" for line in [["id", *NAMES], *lines])


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else _numbers.encode(value).decode()
    return '"' + text.replace('"', '""') + '"'
