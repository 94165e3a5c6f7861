"""What is personal stays covered, whatever is asked: past the views, in what layers keep, of a class that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from singletable import Database, InvalidRequest, Table
from singletable.exchange import Exports, Format, read_manifest, store_at
from singletable.graph import Graph
from singletable.reports import SqlSession, open_export
from singletable.tasks import Tasks
from tests.exchange.kin import Knows, Relative, kin
from tests.reports.answers import exported
from tests.reports.models import Order, shop

MARK = "c4n4ry"
work = Table("covered-work", indexes=["gsi1"])
tasks = Tasks(work, index="gsi1")


@tasks.task
def remind(email: str) -> None:
    """Nobody runs it."""


@pytest.fixture(params=["parquet", "arrow", "jsonl"])
def place(request: pytest.FixtureRequest, any_db: Database, tmp_path: Path) -> Path:
    format: Format = request.param
    any_db.create_table(shop)
    exported(any_db, tmp_path / "parquet")
    Exports(any_db, shop).export(tmp_path / "exports", format=format, keys=True)
    return tmp_path / "exports"


@pytest.fixture
def session(place: Path) -> Iterator[SqlSession]:
    with open_export(place, shop, personal=False) as opened:
        yield opened


def test_the_files_behind_the_views_are_closed(session: SqlSession, place: Path) -> None:
    dataset = read_manifest(store_at(place)).dataset("customer")
    path = place / dataset.files[0].path
    asked = [
        f"SELECT * FROM read_parquet('{path}')",
        f"FROM '{path}'",
        f"SUMMARIZE FROM '{path}'",
        f"SELECT (SELECT max(stats_max) FROM parquet_metadata('{path}'))",
        f"SELECT * FROM query('FROM read_parquet(''{path}'')')",
        "SELECT * FROM query_table('rows of customer')",
        'SELECT * FROM "rows of customer"',
        f"WITH customer AS (FROM read_text('{path}')) FROM customer",
        f"EXPLAIN ANALYZE SELECT * FROM read_parquet('{path}')",
        f"SELECT * FROM customer WHERE EXISTS (FROM read_blob('{path}'))",
        f'SELECT * FROM information_schema."{path}"',
    ]
    for sql in asked:
        with pytest.raises(InvalidRequest, match=r"nothing but the export|is refused"):
            session.query(sql)


def test_no_name_of_a_with_opens_a_file(session: SqlSession, place: Path) -> None:
    """Outside of the part of the question where the WITH stands, its name is that of the file, or of what is hidden."""
    path = place / read_manifest(store_at(place)).dataset("customer").files[0].path
    for name in ("rows of customer", "Rows of Customer", str(path)):
        for sql in (
            f'SELECT * FROM "{name}" WHERE EXISTS (WITH "{name}" AS (SELECT 1) FROM "{name}")',
            f'WITH "{name}" AS (SELECT 1) SELECT * FROM main."{name}"',
            f'WITH "{name}" AS (SELECT 1) SELECT * FROM temp."{name}"',
            f'WITH a AS (FROM "{name}"), "{name}" AS (SELECT 1) SELECT * FROM a',
            f'EXPLAIN ANALYZE WITH "{name}" AS (FROM "{name}") FROM "{name}"',
        ):
            with pytest.raises(InvalidRequest, match=r"WITH has a name"):
                session.query(sql)


def test_what_reads_views_alone_is_asked_as_ever(session: SqlSession) -> None:
    for sql in (
        'WITH c AS (SELECT count(*) AS n FROM customer) SELECT n FROM c, "order"',
        "SELECT * FROM range(3), unnest([1, 2])",
        "SELECT table_name FROM information_schema.tables",
        "SELECT view_name FROM duckdb_views()",
        "DESCRIBE customer",
        "SUMMARIZE Customer",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM order_customer",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
        'FROM main."order" SELECT max(number)',
    ):
        assert list(session.query(sql).rows()), sql


def shown(place: Path, table: Table, *, as_exported: bool = False) -> str:
    """All that the views of an export show where personal values are covered."""
    with open_export(place, table, personal=False, as_exported=as_exported) as session:
        return "".join(str(list(session.query(f'SELECT * FROM "{view}"').rows())) for view in session.views)


@pytest.mark.parametrize("keys", [False, True])
def test_the_ends_of_edges_and_edge_sets(any_db: Database, tmp_path: Path, *, keys: bool) -> None:
    for n in range(3):
        any_db.create(Relative(id=f"{MARK}{n}"))
    knows = Knows(source=Relative.by_id(f"{MARK}0"), target=Relative.by_id(f"{MARK}1"), since=MARK)
    Graph(any_db).link(knows)
    Exports(any_db, kin).export(tmp_path, keys=keys)
    assert MARK not in shown(tmp_path, kin)


def test_the_arguments_of_tasks(any_db: Database, tmp_path: Path) -> None:
    any_db.create_table(work)
    with any_db.transaction() as tx:
        tx.add(tasks.at(datetime(2030, 1, 1, tzinfo=timezone.utc), remind(MARK), key="t"))
    Exports(any_db, work).export(tmp_path)
    assert MARK not in shown(tmp_path, work)
    with open_export(tmp_path, work) as session:
        assert MARK in str(list(session.query("SELECT arguments FROM task").rows()))


def test_the_rows_of_a_class_that_is_gone(any_db: Database, tmp_path: Path) -> None:
    """A class of the export that the program has no more may have had personal attributes."""
    place = tmp_path / "exports"
    any_db.create(Order(email=f"{MARK}@example.org", number=1))
    exported(any_db, place)
    path = place / "manifest.json"
    path.write_text(path.read_text().replace('"name": "order"', '"name": "purchase"'))
    said = shown(place, shop, as_exported=True)
    assert "‹personal›" in said
    assert MARK not in said
