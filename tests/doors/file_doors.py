"""The doors that are files: things exported in each format and imported again, with masks, by people, by DynamoDB.

A door is a function of two databases, the second of them empty; it gives a function of things, which returns them as
they come in again.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import msgspec

from singletable import Database
from singletable.exchange import Exports, Format, Imports
from singletable.exchange.formats import FORMATS
from singletable.foundation import model_of
from singletable.operations import encode
from tests.doors.things import NAMES, Thing, things

Through = Callable[[Sequence[Any]], list[Any]]
"""Things, as they are read after they went through a door."""
_numbers = msgspec.json.Encoder(decimal_format="number")


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


def written_by_people(
    given: Sequence[Any], values: Mapping[str, tuple[str, Any]], folder: str, *, as_csv: bool
) -> Path:
    """A file that no export wrote, as the how-to of imports says that it is written. `values` holds the attribute and
    the value of each thing."""
    rows = [(each.id, {values[each.id][0]: in_json(values[each.id][1], values[each.id][0])}) for each in given]
    path = Path(folder, "rows.csv" if as_csv else "rows.jsonl")
    path.write_text(_csv_of(rows) if as_csv else _json_lines_of(rows), encoding="utf-8", newline="")
    return path


def in_json(value: Any, attribute: str = "") -> Any:
    """A value as people write it in JSON; one of `Any` is a text that is JSON."""
    if NAMES.get(attribute) == "Any":
        return _numbers.encode(in_json(value)).decode()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if is_dataclass(value):
        return {each.name: in_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {name: in_json(each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, (set, frozenset, list, tuple)):
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
