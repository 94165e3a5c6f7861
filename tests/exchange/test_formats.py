"""Each format holds the same rows; what it does not hold is as the how-to says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from singletable import Database
from singletable.exchange import Exports, Format
from singletable.exchange.formats import csv_schema, open_writer
from tests.exchange.models import order, shop
from tests.support.engines import fresh

COUNT = 40


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(COUNT)])
        yield made


def exported(db: Database, folder: Path, format: Format) -> Path:
    """The one file of the orders."""
    manifest = Exports(db, shop).export(folder / format, format=format).manifest
    assert manifest is not None
    (file,) = manifest.dataset("order").files
    return folder / format / file.path


def test_arrow_holds_what_parquet_does(db: Database, tmp_path: Path) -> None:
    parquet = pq.read_table(exported(db, tmp_path, "parquet"))
    with pa.OSFile(str(exported(db, tmp_path, "arrow")), "rb") as file:
        arrow = pa.ipc.open_file(file).read_all()
    assert arrow.schema.equals(parquet.schema)
    assert arrow.schema.metadata == parquet.schema.metadata
    said = {name.decode(): text.decode() for name, text in arrow.schema.metadata.items()}
    wanted = {"entity": "Order", "type": "order", "table": shop.name, "description": "What a customer has ordered."}
    assert said == wanted
    assert arrow.schema.field("number").metadata == {b"description": b"Counted by customer."}
    assert arrow.to_pylist() == parquet.to_pylist()


def test_json_lines(db: Database, tmp_path: Path) -> None:
    rows = pq.read_table(exported(db, tmp_path, "parquet")).to_pylist(maps_as_pydicts="strict")
    text = exported(db, tmp_path, "jsonl").read_bytes()
    found = msgspec.json.Decoder(float_hook=Decimal).decode_lines(text)
    assert [plain(row) for row in rows] == found


def plain(value: Any) -> Any:
    """A value as JSON has it, by the how-to's table."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if each is not None or "article" in value}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, float):
        return Decimal(repr(value))
    return value if isinstance(value, Decimal) else msgspec.to_builtins(value)


def test_csv(db: Database, tmp_path: Path) -> None:
    expected = pq.read_table(exported(db, tmp_path, "parquet"))
    types = csv_schema(expected.schema)
    options = pc.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
    lines = pc.ParseOptions(newlines_in_values=True)
    file = exported(db, tmp_path, "csv")
    found = pc.read_csv(file, parse_options=lines, convert_options=options)
    assert found.schema.names == expected.schema.names
    for row, wanted in zip(found.to_pylist(), expected.to_pylist(maps_as_pydicts="strict"), strict=True):
        for name in ("customer", "number", "state", "total", "weight", "paid", "day", "remark", "retries", "_rest"):
            assert row[name] == wanted[name], name
        assert row["due"] == plain(wanted["due"])
        assert msgspec.json.decode(row["tags"]) == wanted["tags"]
        assert msgspec.json.decode(row["counts"]) == wanted["counts"]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_values_that_repeat_take_little_space(tmp_path: Path, format: Format) -> None:
    schema = pa.schema([("text", pa.string())])
    writer = open_writer(format, tmp_path / "file", schema)
    writer.write(pa.record_batch([pa.array([f"{n % 7} " * 200 for n in range(5000)])], schema=schema))
    writer.close()
    assert (tmp_path / "file").stat().st_size < 200_000  # of 2 MB
