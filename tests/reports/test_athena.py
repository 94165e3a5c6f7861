"""Athena: what its tables and views are, by reading them and by running the views; and questions over the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import duckdb
import pyarrow as pa
import pytest

from examples.goals.model import records as goals
from examples.manhunt.records.table import manhunt
from singletable import Database, InvalidRequest, Table, connect, connect_async
from singletable.exchange import DirectoryStore, Exports, Manifest, datasets_of, read_manifest
from singletable.exchange.column_types import type_of
from singletable.exchange.datasets import REST
from singletable.exchange.manifest import dataset_files
from singletable.flow import ATHENA
from singletable.reports import AsyncAthena, Athena
from singletable.reports.athena_queries import _Call, cost_of, table_of_texts
from singletable.reports.athena_tables import athena_statements, hive_type, table_name
from tests.reports.answers import exported
from tests.reports.models import shop
from tests.support.emulators import MOTO

PLACE = "s3://reports/shop"
_TABLE = re.compile(
    r"CREATE EXTERNAL TABLE IF NOT EXISTS `shop`\.`(?P<name>\w+)` \(\n(?P<columns>.*?)\n\)\n"
    r"(?P<comment>COMMENT '.*'\n)?"
    r"PARTITIONED BY \(`exported` string\)\nSTORED AS PARQUET\nLOCATION '(?P<location>[^']+)'",
    re.DOTALL,
)
_COLUMN = re.compile(r"  `(?P<name>[^`]+)` (?P<type>[\w<>:,()]+?)(?: COMMENT '(?:[^'\\]|\\.)*')?,?")


@pytest.fixture
def place(any_db: Database, tmp_path: Path) -> Path:
    return exported(any_db, tmp_path / "exports")


def statements(place: Path, table: Table = shop) -> tuple[Manifest, tuple[str, ...]]:
    manifest = read_manifest(DirectoryStore(place))
    return manifest, athena_statements(manifest, PLACE, "shop", datasets_of(table))


def test_tables_have_the_columns_of_the_files_and_a_partition_a_day(place: Path) -> None:
    manifest, made = statements(place)
    assert made[0] == "CREATE DATABASE IF NOT EXISTS `shop`"
    tables = {found["name"]: found for text in made if (found := _TABLE.fullmatch(text))}
    assert set(tables) == {table_name(each) for each in manifest.datasets}
    for each in manifest.datasets:
        found = tables[table_name(each)]
        columns = [_COLUMN.fullmatch(line) for line in found["columns"].split("\n")]
        assert [c and (c["name"], c["type"]) for c in columns] == [
            (c.name, hive_type(type_of(c.type))) for c in each.columns
        ]
        folder = f"{PLACE}/{manifest.id}/{each.name}/"
        day = f"{manifest.complete_at:%Y-%m-%d}"
        (added, moved) = [text for text in made if text.startswith(f"ALTER TABLE `shop`.`{found['name']}` ")]
        assert added.endswith(f"ADD IF NOT EXISTS PARTITION (exported = '{day}') LOCATION '{folder}'")
        assert moved.endswith(f"PARTITION (exported = '{day}') SET LOCATION '{folder}'")
        assert all(f"{PLACE}/{file.path}".startswith(folder) for file in each.files)


def test_the_views_answer_the_same_text_as_duckdb_does(place: Path) -> None:
    """Run here by DuckDB, over tables that stand for those of Athena."""
    manifest, made = statements(place)
    with duckdb.connect(":memory:") as db:
        for each in manifest.datasets:
            files = ", ".join(f"'{place / file.path}'" for file in each.files)
            rows = f"read_parquet([{files}])" if files else _no_rows([c.name for c in each.columns])
            day = f"{manifest.complete_at:%Y-%m-%d}"
            db.execute(f"CREATE TABLE \"{table_name(each)}\" AS SELECT *, '{day}' AS exported FROM {rows}")
        for text in made:
            if text.startswith("CREATE OR REPLACE VIEW"):
                db.execute(text)
        found = db.execute("SELECT number, customer_city FROM order_customer ORDER BY number").fetchall()
        assert found == [(0, "Bern"), (1, "Bern"), (2, None), (3, None)]
        assert [c[0] for c in db.execute('SELECT * FROM "order"').description or ()] == ["email", "number", "note"]


def _no_rows(names: list[str]) -> str:
    columns = ", ".join(f'NULL::VARCHAR AS "{name}"' for name in names)
    return f"(SELECT {columns} WHERE false)"


@pytest.mark.parametrize("table", [goals, manhunt], ids=lambda table: table.name)
def test_every_type_of_the_applications_has_one_in_athena(table: Table) -> None:
    for dataset in datasets_of(table):
        for column in dataset_files(dataset).columns:
            assert re.fullmatch(r"[a-z0-9<>:,()_]+", hive_type(type_of(column.type))), (column.name, column.type)


def test_nested_types() -> None:
    nested = "list<item: struct<targets: list<item: struct<kind: string, id: string>>, at: timestamp[us, tz=UTC]>>"
    assert hive_type(type_of(nested)) == "array<struct<targets:array<struct<kind:string,id:string>>,at:timestamp>>"
    assert hive_type(type_of("map<string, decimal128(38, 18)>")) == "map<string,decimal(38,18)>"
    assert hive_type(type_of("dictionary<values=int64, indices=int32, ordered=0>")) == "bigint"
    with pytest.raises(InvalidRequest, match="no type for"):
        hive_type(pa.month_day_nano_interval())


def test_what_athena_can_not_read_is_refused(any_db: Database, place: Path, tmp_path: Path) -> None:
    manifest = read_manifest(DirectoryStore(place))
    with pytest.raises(InvalidRequest, match=r"exports in S3, not in exports"):
        athena_statements(manifest, "exports", "shop", ())
    with pytest.raises(InvalidRequest, match="no name of a database"):
        athena_statements(manifest, PLACE, "shop`; DROP", ())
    Exports(any_db, shop).export(tmp_path / "csv", format="csv")
    with pytest.raises(InvalidRequest, match="Parquet here, not csv"):
        athena_statements(read_manifest(DirectoryStore(tmp_path / "csv")), PLACE, "shop", ())


def test_the_price_is_of_ten_megabytes_at_least() -> None:
    assert cost_of(0).dollars == 0
    assert cost_of(1).dollars == cost_of(10 << 20).dollars == pytest.approx(5 * 10 / (1 << 20))
    assert cost_of(1 << 40).dollars == 5
    assert cost_of(1 << 40, 6.75).dollars == 6.75


def test_texts_become_values() -> None:
    columns = [
        {"Name": name, "Type": type, "Precision": 38, "Scale": 2}
        for name, type in (("a", "bigint"), ("b", "decimal"), ("c", "timestamp"), ("d", "date"), ("e", "varchar"))
    ]
    rows: list[list[str | None]] = [
        ["a", "b", "c", "d", "e"],
        ["7", "1.50", "2026-11-22 23:30:00.000", "2026-11-22", None],
    ]
    (row,) = table_of_texts(columns, rows).to_pylist()
    when = datetime(2026, 11, 22, 23, 30)
    assert row == {"a": 7, "b": Decimal("1.50"), "c": when, "d": date(2026, 11, 22), "e": None}


# --- over the wire ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with MOTO.running() as url:
        yield url


def prepare(url: str, columns: list[tuple[str, str]], rows: list[list[str]]) -> None:
    """The rows that the emulator's next query returns."""
    result = {
        "rows": [{"Data": [{"VarCharValue": cell} for cell in row]} for row in rows],
        "column_info": [{"Name": name, "Type": type} for name, type in columns],
    }
    body = {"account_id": "123456789012", "region": "us-east-1", "results": [result]}
    asked = Request(f"{url}/moto-api/static/athena/query-results", json.dumps(body).encode(), method="POST")
    asked.add_header("Content-Type", "application/json")
    with urlopen(asked, timeout=10) as answered:
        assert answered.status == 201


def test_a_question_over_the_wire(moto: str) -> None:
    prepare(moto, [("state", "varchar"), ("n", "bigint")], [["state", "n"], ["open", "15"], ["paid", "16"]])
    with connect(moto) as db:
        athena = Athena(db, "shop", output="s3://results/")
        found = athena.query("-- by state\nSELECT state, count(*) AS n FROM job GROUP BY 1;")
        assert list(found.answer.rows()) == [("open", 15), ("paid", 16)]
        sent = _sent(db)
        assert sent["Query"] == "-- by state\nSELECT state, count(*) AS n FROM job GROUP BY 1"
        assert sent["QueryExecutionContext"]["Database"] == "shop"


async def test_in_the_awaiting_shell(moto: str) -> None:
    prepare(moto, [("n", "bigint")], [["n"], ["3"]])
    async with connect_async(moto) as db:
        found = await AsyncAthena(db, "shop", output="s3://results/").query("SELECT count(*) AS n FROM job")
        assert list(found.answer.rows()) == [(3,)]


EXPLAINED = (
    "EXPLAIN ANALYZE INSERT INTO job VALUES (1)",
    "explain analyze verbose (format json) create table x as select 1",
    "EXPLAIN DROP TABLE job",
    "/* */ EXPLAIN ANALYZE INSERT INTO job VALUES (1)",
)
"""Athena runs what it explains with ANALYZE."""


@pytest.mark.parametrize(
    "query", ["INSERT INTO job VALUES (1)", "/* SELECT */ DROP TABLE job", "", "UNLOAD (SELECT)", *EXPLAINED]
)
def test_what_writes_is_not_sent(moto: str, query: str) -> None:
    with connect(moto) as db, pytest.raises(InvalidRequest, match="only reads here"):
        Athena(db, "shop").query(query)


def _sent(db: Database) -> dict[str, Any]:
    """The newest query that the emulator was sent."""
    athena = db.port.to(ATHENA)
    ids = db.run(athena.send(_Call("ListQueryExecutions", {})))["QueryExecutionIds"]
    found: dict[str, Any] = db.run(athena.send(_Call("GetQueryExecution", {"QueryExecutionId": ids[-1]})))
    return dict(found["QueryExecution"])


def test_publishing_sends_every_statement(moto: str, any_db: Database) -> None:
    """From an export in a bucket of the same emulator."""
    obstore: Any = pytest.importorskip("obstore.store")
    from singletable.exchange import ObjectStore

    urlopen(Request(f"{moto}/published", method="PUT"), timeout=10).close()
    options = {"endpoint": moto, "region": "us-east-1", "client_options": {"allow_http": True}}
    keys = {"access_key_id": "x", "secret_access_key": "x"}
    store = ObjectStore(obstore.S3Store("published", **options, **keys), "s3://published")
    any_db.create_table(shop)
    Exports(any_db, shop).export(store)
    manifest = read_manifest(store)
    expected = athena_statements(manifest, "s3://published", "shop", datasets_of(shop))
    with connect(moto) as db:
        assert Athena(db, "shop", output="s3://results/").publish(store, shop) == len(expected)
        assert _sent(db)["Query"] == expected[-1]
    assert all(REST not in text for text in expected if text.startswith("CREATE OR REPLACE"))
