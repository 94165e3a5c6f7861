"""SQL over an export: its views, what a query may not do, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from goals.model import Goal, GoalMembership, Role, SubGoal, User, records as goals
from organisations.model import organisations
from singletable import ANY, Database, Entity, InvalidRequest, Key, Table, field
from singletable.errors import Corrupt, NotFound, Unavailable
from singletable.exchange import Exports, Format, ObjectStore, datasets_of
from singletable.exchange.formats import FORMATS
from singletable.foundation import COVERED
from singletable.graph import Graph
from singletable.reports import SqlSession, open_export, open_live
from singletable.reports.relations import relations_of
from tests.exchange.models import order, shop as every_type
from tests.reports.answers import exported
from tests.reports.models import Order, shop

typed = Table("typed")
LAST = datetime.max.replace(tzinfo=timezone.utc)


class Reading(Entity, table=typed, type="reading"):
    """What a sensor measured.

    And more of it.
    """

    sensor: str
    at: datetime
    """When it was measured."""
    value: Decimal
    day: date | None = None
    tags: set[str] = field(default_factory=set[str])

    @typed.key
    @staticmethod
    def of_sensor(sensor: str, at: datetime = ANY) -> Key:
        return f"sensor#{sensor}", f"{at}"


@pytest.fixture
def session(any_db: Database, tmp_path: Path) -> Iterator[SqlSession]:
    with open_export(exported(any_db, tmp_path / "exports"), shop) as opened:
        yield opened


def test_a_view_a_class_has_every_item(session: SqlSession) -> None:
    assert list(session.views)[:2] == ["customer", "order"]
    assert [each.name for each in session.relations] == ["order_customer"]
    rows = list(session.query("SELECT email, city, note FROM customer ORDER BY email").rows())
    assert rows == [("ada@example.org", "Bern", "It's <b>"), ("bob@example.org", None, "")]
    assert session.columns("order") == {"email": "VARCHAR", "number": "BIGINT", "note": "VARCHAR"}


def test_a_view_a_relation_joins_by_declared_keys(session: SqlSession) -> None:
    rows = list(session.query("SELECT number, customer_city FROM order_customer ORDER BY number").rows())
    assert rows == [(0, "Bern"), (1, "Bern"), (2, None), (3, None)]
    found = list(session.query("SELECT number FROM order_customer WHERE customer_email IS NULL").rows())
    assert found == [(3,)]  # of nobody: it stays


def test_arrow_polars_and_pandas(session: SqlSession) -> None:
    answer = session.query('SELECT email, count(*) AS orders FROM "order" GROUP BY ALL ORDER BY 2 DESC, 1')
    assert answer.arrow.column("orders").to_pylist() == [2, 1, 1]
    assert answer.polars()["orders"].to_list() == [2, 1, 1]
    assert answer.pandas()["orders"].tolist() == [2, 1, 1]
    assert (len(answer), answer.columns) == (3, ("email", "orders"))


def test_types_and_docstrings_are_those_of_the_class(any_db: Database, tmp_path: Path) -> None:
    any_db.create_table(typed)
    at = datetime(2026, 11, 22, 23, 30, tzinfo=timezone.utc)
    any_db.create(Reading(sensor="a", at=at, value=Decimal("12.50"), day=date(2026, 11, 22), tags={"x"}))
    Exports(any_db, typed).export(tmp_path)
    with open_export(tmp_path, typed) as session:
        asked = """SELECT "at", value * 2, day, tags, date_trunc('day', "at") FROM reading"""
        (row,) = session.query(asked).rows()
        assert row == (at, Decimal("25"), date(2026, 11, 22), ["x"], at.replace(hour=0, minute=0))
        (said,) = session.query("SELECT comment FROM duckdb_views() WHERE view_name = 'reading'").rows()
        assert said[0].startswith("What a sensor measured.")
        commented = "SELECT comment FROM duckdb_columns() WHERE table_name = 'reading' AND column_name = 'at'"
        assert list(session.query(commented).rows()) == [("When it was measured.",)]


FORBIDDEN = [
    ("INSERT INTO customer VALUES ('x')", "INSERT is refused"),
    ("UPDATE customer SET city = 'x'", "UPDATE is refused"),
    ("DELETE FROM customer", "DELETE is refused"),
    ("CREATE TABLE x (a int)", "CREATE is refused"),
    ("DROP VIEW customer", "DROP is refused"),
    ("COPY customer TO '{file}'", "COPY is refused"),
    ("EXPORT DATABASE '{file}'", "EXPORT is refused"),
    ("ATTACH '{file}'", "ATTACH is refused"),
    ("INSTALL httpfs", "LOAD is refused"),
    ("LOAD httpfs", "LOAD is refused"),
    ("SET enable_external_access = true", "SET is refused"),
    ("PRAGMA database_list", "PRAGMA is refused"),
    ("CALL pragma_version()", "CALL is refused"),
    ("EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1", "CREATE is refused"),
    ("EXPLAIN COPY customer TO '{file}'", "COPY is refused"),
    ("WITH a AS (SELECT 1) INSERT INTO customer SELECT * FROM a", "INSERT is refused"),
    ("SELECT * FROM read_csv('/etc/passwd')", "reads nothing but the export"),
    ("SELECT * FROM read_text('{other}')", "reads nothing but the export"),
    ("SELECT * FROM '{other}'", "reads nothing but the export"),
    ("SELECT * FROM glob('/etc/*')", "reads nothing but the export"),
    ("SELECT * FROM read_csv('https://example.org/x.csv')", "DuckDB refused it|reads nothing but"),
    ("/*12345SELECT 1 -- */EXPLAIN ANALYZE COPY customer TO '{file}'", "nothing before that word"),
    ("/*12345SELECT 1 -- */EXPLAIN ANALYZE DROP VIEW customer", "nothing before that word"),
    ("EXPLAIN (ANALYZE) COPY customer TO '{file}'", "DuckDB refused it"),
    ("EXPLAIN/**/ANALYZE COPY customer TO '{file}'", "DuckDB refused it|is refused"),
    ("EXPLAIN ANALYZE SELECT * FROM read_csv('/etc/passwd')", "reads nothing but the export"),
    ("SUMMARIZE SELECT * FROM read_csv('/etc/passwd')", "reads nothing but the export"),
    ("SELECT * FROM query('DROP VIEW customer')", "DuckDB refused it"),
    ("SELECT * FROM 's3://bucket/x.parquet'", "reads nothing but the export"),
    ("FROM sqlite_scan('/x', 'y')", "DuckDB refused it"),
    ("CREATE SECRET (TYPE s3)", "CREATE is refused"),
    ("DETACH memory", "DETACH is refused"),
    ("PREPARE a AS SELECT 1", "PREPARE is refused"),
    ("SELECT '\ud800'", "lone surrogate"),
    ("SELECT 1; SELECT 2", "one statement, not 2"),
    ("", "one statement, not 0"),
    ("SELEC 1", "DuckDB refused it"),
]


@pytest.mark.parametrize(("query", "said"), FORBIDDEN, ids=[query[:30] for query, _ in FORBIDDEN])
def test_it_only_reads_the_export(session: SqlSession, tmp_path: Path, query: str, said: str) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidRequest, match=said):
        session.query(query.format(file=tmp_path / "made", other=tmp_path / "other.csv"))
    assert sorted(tmp_path.rglob("*")) == before
    assert len(session.query("SELECT * FROM customer")) == 2


def test_times_beyond_those_of_python_are_text(session: SqlSession) -> None:
    ((found,),) = session.query("SELECT TIMESTAMP '290000-12-31 10:00:00' AS at").rows()
    assert "out of range" in found
    assert list(session.query("EXPLAIN ANALYZE SELECT 1").rows())


def test_a_closed_session_says_so_and_holds_nothing_of_duckdb(any_db: Database, tmp_path: Path) -> None:
    """DuckDB writes thirty lines of warnings where a program ends with an object of it in a variable."""
    with open_export(exported(any_db, tmp_path / "exports"), shop) as session:
        session.query("SELECT 1")
    session.close()
    with pytest.raises(InvalidRequest, match=r"the session is closed. Ask inside of its block"):
        session.query("SELECT 1")
    assert not [each for each in vars(session._db).values() if type(each).__module__.startswith("_duckdb")]


def test_the_engine_itself_is_closed(session: SqlSession, tmp_path: Path) -> None:
    """Also past the check of statements, which is the first of two doors."""
    for statement in (f"COPY customer TO '{tmp_path / 'x'}'", "INSTALL httpfs", f"ATTACH '{tmp_path / 'x'}'"):
        with pytest.raises(InvalidRequest, match="other files and extensions are closed"):
            session._db.take([("run", statement, None)])
    with pytest.raises(InvalidRequest, match="locked"):
        session._db.take([("run", "SET enable_external_access = true", None)])
    assert not (tmp_path / "x").exists()


def test_a_reserved_name_gets_a_hint(session: SqlSession) -> None:
    with pytest.raises(InvalidRequest, match='write "order", with the quotes'):
        session.query("SELECT * FROM order")


def test_personal_columns_are_covered_where_that_is_asked(any_db: Database, tmp_path: Path) -> None:
    place = exported(any_db, tmp_path / "exports")
    with open_export(place, shop, personal=False) as session:
        assert set(session.query("SELECT email FROM customer").rows()) == {(COVERED,)}
        joined = session.query("SELECT customer_email, customer_city FROM order_customer WHERE number = 0")
        assert list(joined.rows()) == [(COVERED, "Bern")]
        (guard,) = session.query("SELECT * FROM unique_guard").rows()
        assert not [cell for cell in guard if "555" in str(cell) or "ada" in str(cell)]
    with open_export(place, shop) as session:
        (guard,) = session.query("SELECT * FROM unique_guard").rows()
        assert [cell for cell in guard if "555" in str(cell)]


def test_a_table_as_it_is(any_db: Database) -> None:
    any_db.create_table(shop)
    any_db.create(Order(email="ada@example.org", number=7))
    with any_db.meter() as meter, open_live(any_db, shop) as session:
        assert list(session.query('SELECT email, number FROM "order"').rows()) == [("ada@example.org", 7)]
        assert list(session.query("SELECT * FROM customer").rows()) == []
        place = Path(session.place)
        assert place.exists()
    assert meter.by_operation["Scan"].requests == 1
    assert not place.exists()


def test_a_bucket_is_fetched_as_far_as_it_is_asked(any_db: Database, tmp_path: Path) -> None:
    exported(any_db, tmp_path / "exports")
    store = ObjectStore(MemoryStore(), "s3://memory")
    Exports(any_db, shop).export(store)
    with open_export(store, shop) as session:
        assert session.fetched == 0
        assert len(session.query('SELECT * FROM "order"')) == 4
        assert session.fetched == 1
        assert len(session.query("SELECT * FROM order_customer")) == 4
        assert session.fetched == 2
        with pytest.raises(InvalidRequest, match="COPY is refused"):
            session.query(f"COPY customer TO '{tmp_path / 'x'}'")
        with pytest.raises(InvalidRequest, match="reads nothing but the export"):
            session.query("SELECT * FROM read_text('/etc/passwd')")


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gives_the_same_answers(any_db: Database, tmp_path: Path, format: Format) -> None:
    """Texts that look like others, numbers of 38 digits, times at both ends, nothing and the empty text."""
    any_db.create_table(every_type)
    orders = [order(n) for n in range(40)]
    orders[0].remark, orders[1].remark, orders[2].remark = "", "NaN", "null"
    orders[3].remark, orders[4].remark = 'a "quoted"\r\n, line\t\u2028', "\ufeff=1+1"
    orders[5].total = Decimal("99999999999999999999.999999999999999999")
    orders[6].total = Decimal("-0.000000000000000001")
    orders[7].placed_at, orders[8].placed_at = datetime.min.replace(tzinfo=timezone.utc), LAST
    any_db.write_many(puts=orders)
    Exports(any_db, every_type).export(tmp_path, format=format)
    asked = 'SELECT * EXCLUDE (state, channel), state::VARCHAR, channel::VARCHAR FROM "order" ORDER BY number'
    with open_export(tmp_path, every_type) as session, open_live(any_db, every_type) as live:
        assert session.query(asked).arrow.to_pylist() == live.query(asked).arrow.to_pylist()
        assert session.fetched == (0 if format in ("parquet", "arrow") else 1)
        assert len(session.query("SELECT * FROM customer")) == 0
    with open_export(tmp_path, every_type, as_exported=True) as session:
        (found,) = session.query('SELECT total FROM "order" WHERE number = 5').rows()
        assert found == (orders[5].total,)


def test_a_text_file_that_was_changed_is_an_error(any_db: Database, tmp_path: Path) -> None:
    exported(any_db, tmp_path, "jsonl")
    (file,) = tmp_path.rglob("order/*.jsonl")
    file.write_text('{"email": 1}\n')
    with open_export(tmp_path, shop) as session, pytest.raises(Corrupt, match=r"row 1 of order.*a text is wanted"):
        session.query('SELECT * FROM "order"')


def test_an_export_is_asked_as_it_was_opened(any_db: Database, tmp_path: Path) -> None:
    """Its files stay until the export after the next; after that the session says what to do."""
    exported(any_db, tmp_path)
    with open_export(tmp_path, shop) as session:
        any_db.create(Order(email="ada@example.org", number=7))
        Exports(any_db, shop).export(tmp_path)
        assert len(session.query('SELECT * FROM "order"')) == 4
        Exports(any_db, shop).export(tmp_path)
        with pytest.raises(Unavailable, match="Open it again"):
            session.query('SELECT * FROM "order"')


def test_what_can_not_be_asked_says_what_to_do(any_db: Database, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"manifest.json is missing.*singletable export"):
        open_export(tmp_path / "nothing", shop)


def test_a_class_that_changed_since_is_an_error(any_db: Database, tmp_path: Path) -> None:
    place = exported(any_db, tmp_path / "exports")
    other = Table("reported", indexes=["by_city"], stream="new_and_old")

    class Order(Entity, table=other, type="order"):
        email: str
        number: Decimal

        @other.key
        @staticmethod
        def of_customer(email: str, number: Decimal = ANY) -> Key:
            return f"customer#{email}", f"order#{number}"

    with pytest.raises(InvalidRequest, match=r"Order.*declared otherwise.*Export again"):
        open_export(place, other)
    with open_export(place, other, as_exported=True) as session:
        assert len(session.query('SELECT * FROM "order"')) == 4


def test_a_chart_of_a_result(session: SqlSession) -> None:
    chart = session.query('SELECT email, count(*) AS orders FROM "order" GROUP BY ALL ORDER BY 1').chart("Orders")
    assert chart.labels == ("ada@example.org", "bob@example.org", "gone@example.org")
    assert [(each.name, each.values) for each in chart.series] == [("orders", (2.0, 1.0, 1.0))]
    with pytest.raises(InvalidRequest, match="a column of numbers"):
        session.query("SELECT email FROM customer").chart("x")


def test_edges_join_the_nodes_at_their_ends(any_db: Database, tmp_path: Path) -> None:
    any_db.create_table(goals)
    goal, part, ada = Goal(id="g1", title="One"), Goal(id="g2", title="Two"), User(id="u1", name="Ada")
    for node in (goal, part, ada):
        any_db.create(node)
    Graph(any_db).link(GoalMembership(source=goal, target=ada, role=Role.LEAD, since=date(2026, 1, 1)))
    Graph(any_db).link(SubGoal(source=goal, target=part, position="a"))
    Exports(any_db, goals).export(tmp_path)
    with open_export(tmp_path, goals) as session:
        led = session.query("SELECT user_name, role FROM goal_membership_user")
        assert [(name, str(role)) for name, role in led.rows()] == [("Ada", str(Role.LEAD.value))]
        parts = session.query("SELECT source, goal_title FROM sub_goal_goal_by_target")
        assert list(parts.rows()) == [("GOAL-g1", "Two")]
    found = {each.name: each for each in relations_of(datasets_of(goals))}
    assert {"goal_membership_goal", "goal_membership_user", "goal_membership_team"} <= set(found)
    assert {"sub_goal_goal_by_source", "sub_goal_goal_by_target"} <= set(found)
    (join,) = found["goal_membership_user"].joins
    assert (join.column, join.prefix, join.other) == ("target", "USER-", "id")


def test_relations_of_the_organisations() -> None:
    """A member belongs to a user and lies in the partition of its organisation; who changed it is a mention."""
    found = {each.name: [(j.column, j.other) for j in each.joins] for each in relations_of(datasets_of(organisations))}
    assert found["organisation_member_user"] == [("email", "email")]
    assert found["organisation_member_user_by_changed_by"] == [("changed_by", "email")]
    assert found["organisation_member_organisation"] == [("organisation_id", "organisation_id")]
    assert not any(name.startswith("organisation_organisation") for name in found)
