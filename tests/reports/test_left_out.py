"""An answer of SQL is exact, or says what it leaves out: numbers beyond a column, values of parts, unreadable items."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal, localcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from singletable import Database, Entity, InvalidRequest
from singletable.exchange import Exports
from singletable.exchange.formats import FORMATS
from singletable.exchange.manifest import MANIFEST
from singletable.exchange.masks import Mask
from singletable.foundation import model_of
from singletable.operations import PutItem, encode, read_item
from singletable.reports import Limits, SqlSession, open_export, open_live
from tests.reports.books import TENTHS, WEI, Bill, Cheque, Payer, Tax, bills, books
from tests.support.engines import fresh


@pytest.fixture
def db(any_db: Database) -> Database:
    any_db.create_table(books)
    return any_db


def exported(db: Database, to: Path, items: Sequence[Entity], format: Any = "parquet") -> Path:
    db.write_many(puts=items)
    Exports(db, books).export(to, format=format)
    return to


def only(session: SqlSession, sql: str) -> tuple[Any, ...]:
    (row,) = session.query(sql).rows()
    return row


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_beyond_their_column_are_in_the_sum(db: Database, tmp_path: Path, format: str) -> None:
    with open_export(exported(db, tmp_path, bills(TENTHS, WEI), format), books) as session:
        answer = session.query("SELECT sum(share), sum(wei), count(share) FROM bill")
        assert list(answer.rows()) == [(Decimal("20.833333333333333333333333333"), sum(WEI), 4)]
        assert (answer.left_out, answer.uncounted, answer.notes) == ({}, (), ())
        assert list(session.query("SELECT share, wei FROM bill ORDER BY id").rows()) == list(
            zip(TENTHS, WEI, strict=True)
        )


def test_a_live_table_is_asked_as_exactly(db: Database) -> None:
    db.write_many(puts=bills(TENTHS))
    with open_live(db, books) as session:
        assert only(session, "SELECT sum(share) FROM bill") == (Decimal("20.833333333333333333333333333"),)


@pytest.mark.usefixtures("forked_questions")
@pytest.mark.parametrize("personal", [True, False])
def test_a_question_with_limits_is_as_exact(db: Database, tmp_path: Path, personal: bool) -> None:
    folder = exported(db, tmp_path, [*bills(TENTHS, WEI), Bill(id="x", parts=[Decimal("1E-30")])])
    with open_export(folder, books, limits=Limits(rows=5, seconds=30), personal=personal) as session:
        answer = session.query("SELECT sum(share), sum(wei), count(parts) FROM bill")
        assert list(answer.rows()) == [(Decimal("20.833333333333333333333333333"), sum(WEI), 4)]
        assert answer.left_out == {"bill.parts": 1}


def test_the_manifest_counts_and_an_answer_that_reads_it_says_so(db: Database, tmp_path: Path) -> None:
    """No type of 38 digits holds both."""
    items = [*bills([Decimal("1E+37"), Decimal("1E-30"), Decimal(1)]), Bill(id="x", tax=Tax(Decimal("1E-20")))]
    db.write_many(puts=[*items, Bill(id="y", parts=[Decimal(1), Decimal("1E-20")], wei=10**60)])
    done = Exports(db, books).export(tmp_path)
    assert done.left_out == 5
    assert done.manifest is not None
    counts = done.manifest.dataset("bill").left_out
    assert counts is not None
    assert {name: each.cells for name, each in counts.items()} == {"parts": 1, "share": 2, "tax": 1, "wei": 1}
    with open_export(tmp_path, books) as session:
        answer = session.query("SELECT sum(share) FROM bill")
        assert (list(answer.rows()), answer.left_out) == ([(Decimal(1),)], {"bill.share": 2})
        assert answer.notes == ("bill.share lacks 2 values that its type can't hold: they are in the export's _rest",)
        assert session.query("SELECT sum(wei), any_value(tax) FROM bill").left_out == {"bill.tax": 1, "bill.wei": 1}
        assert session.query("SELECT count(*) FROM bill").left_out == {}
        assert session.query("SELECT 'share' FROM payer").left_out == {}


TOGETHER: list[tuple[list[Decimal], Decimal, int]] = [
    ([Decimal("1E+15"), Decimal(10) / 3], Decimal("1E+15"), 1),
    ([Decimal("1E+10"), Decimal(10) / 3], Decimal("10000000003.333333333333333333333333333"), 0),
    ([Decimal("0.125"), Decimal("1E+34")], Decimal("10000000000000000000000000000000000.125"), 0),
    ([Decimal("0.1234"), Decimal("1E+34")], Decimal("0.1234"), 1),
]


@pytest.mark.parametrize(("shares", "total", "missing"), TOGETHER)
def test_a_column_is_as_wide_as_what_is_in_it_and_beyond(
    db: Database, tmp_path: Path, shares: list[Decimal], total: Decimal, missing: int
) -> None:
    with open_export(exported(db, tmp_path, bills(shares)), books) as session:
        answer = session.query("SELECT sum(share) FROM bill")
        assert list(answer.rows()) == [(total,)]
        assert answer.left_out == ({"bill.share": missing} if missing else {})


READ_ALL = [
    "FROM bill",
    "SELECT * FROM bill",
    "SELECT b.* FROM bill b",
    "SELECT bill FROM bill",
    "SELECT b FROM bill b",
    "SELECT COLUMNS('sh.*') FROM bill",
    "SELECT max(y) FROM bill AS b(x, y)",
    "WITH b AS (FROM bill) SELECT sum(share) FROM b",
    "SELECT (SELECT sum(SHARE) FROM Bill)",
    "DESCRIBE bill",
    "SUMMARIZE bill",
    "SELECT 1 FROM bill NATURAL JOIN bill b",
    "SELECT 1 FROM bill JOIN bill b USING (share)",
    "PIVOT bill ON id IN ('000') USING sum(share)",
    "SELECT share FROM bill_payer",
    "SELECT bill_payer.share + 1 FROM bill_payer",
]


@pytest.mark.parametrize("personal", [True, False])
@pytest.mark.parametrize("sql", READ_ALL)
def test_each_form_of_a_question_says_it(books_of_two: Path, sql: str, personal: bool) -> None:
    with open_export(books_of_two, books, personal=personal) as session:
        view = "bill_payer" if "bill_payer" in sql else "bill"
        assert session.query(sql).left_out == {f"{view}.share": 2}


@pytest.fixture(scope="module")
def books_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with fresh() as db:
        db.create_table(books)
        yield exported(db, tmp_path_factory.mktemp("two"), bills([Decimal("1E+37"), Decimal("1E-30")]))


def test_a_stored_name_may_be_any(db: Database, tmp_path: Path) -> None:
    with open_export(exported(db, tmp_path, [Bill(id="1", odd=Decimal("1E-25"))]), books) as session:
        assert only(session, "SELECT odd FROM bill") == (Decimal("1E-25"),)


def test_a_stored_null_is_not_left_out(db: Database, tmp_path: Path) -> None:
    (bill,) = bills([Decimal("1E+37")])
    item = read_item(encode(model_of(Bill).item(bill)))
    db.run(_put(db, {**item, "a/b~'c.N": {"NULL": True}, "wei": {"NULL": True}}))
    assert Exports(db, books).export(tmp_path).left_out == 1


def test_a_number_under_an_older_name_is_counted(db: Database, tmp_path: Path) -> None:
    """`_rest` has it as the older class stored it."""
    item = read_item(encode(model_of(Cheque).item(Cheque(id="1", amount=Decimal("1E-30")))))
    db.run(_put(db, {**{n: v for n, v in item.items() if n != "amount"}, "_v": {"N": "1"}, "sum": {"N": "1E-30"}}))
    Exports(db, books).export(tmp_path)
    with open_export(tmp_path, books) as session:
        answer = session.query("SELECT sum(amount) FROM cheque")
        assert (list(answer.rows()), answer.left_out) == ([(None,)], {"cheque.amount": 1})


def test_the_sum_of_masks_is_as_exact(db: Database, tmp_path: Path) -> None:
    db.write_many(puts=[Cheque(id=str(n), amount=amount) for n, amount in enumerate(TENTHS)])
    key = {"pk": {"S": "cheque#9"}, "sk": {"S": "cheque"}, "_type": {"S": "cheque"}, "_v": {"N": "9"}}
    db.run(_put(db, key))
    mask_key = b"a key of 16 bytes"
    assert Exports(db, books).export(tmp_path, personal=False, mask_key=mask_key).unknown == 1
    with open_export(tmp_path, books) as session, localcontext(prec=40):
        answer = session.query("SELECT sum(amount) FROM cheque")
        assert list(answer.rows()) == [(sum(map(Mask(mask_key).decimal, TENTHS)),)]
        assert answer.left_out == {"cheque": 1}


def test_a_relation_joins_and_shows_what_is_stored(db: Database, tmp_path: Path) -> None:
    large = 2**63
    items = [Payer(number=large), Bill(id="1", payer=large, share=TENTHS[2]), Bill(id="2", payer=1)]
    with open_export(exported(db, tmp_path, items), books) as session:
        answer = session.query("SELECT id, share, payer_number FROM bill_payer ORDER BY id")
        assert list(answer.rows()) == [("1", TENTHS[2], large), ("2", Decimal(0), None)]
        assert answer.left_out == {}


def test_items_that_their_class_can_not_read_are_left_out_by_name(db: Database, tmp_path: Path) -> None:
    db.write_many(puts=bills(TENTHS))
    key = {"pk": {"S": "bill"}, "sk": {"S": "bill#new"}}
    db.run(_put(db, {**key, "_type": {"S": "bill"}, "_v": {"N": "9"}, "id": {"S": "new"}}))
    key = {"pk": {"S": "payer#1"}, "sk": {"S": "payer"}}
    db.run(_put(db, {**key, "_type": {"S": "payer"}, "_v": {"N": "9"}, "number": {"N": "1"}}))
    assert Exports(db, books).export(tmp_path).unknown == 2
    with open_export(tmp_path, books) as session:
        assert session.query("SELECT count(*) FROM bill").left_out == {"bill": 1}
        assert session.query("SELECT count(*) FROM bill_payer").left_out == {"bill_payer": 2}
        assert session.query("SELECT count(*) FROM payer").left_out == {"payer": 1}
        assert session.query("SELECT count(*) FROM cheque").left_out == {}
        assert session.query("SELECT count(*) FROM bill").notes == (
            "bill lacks 1 item that the class can't read: _unknown has them",
        )


async def _put(db: Database, item: dict[str, Any]) -> None:
    await db.port.send(PutItem("books", item))


def test_an_export_of_an_older_version_did_not_count(db: Database, tmp_path: Path) -> None:
    exported(db, tmp_path, bills(TENTHS))
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    for dataset in manifest["datasets"]:
        for file in dataset["files"]:
            del file["left_out"]
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with open_export(tmp_path, books) as session:
        answer = session.query("SELECT sum(share) FROM bill")
        assert (list(answer.rows()), answer.left_out) == ([(Decimal("17.5"),)], {})
        assert answer.uncounted == ("bill",)
        assert answer.notes == ("bill may lack values: its export is of an older version, which did not count them",)
        assert session.query("SELECT 1 FROM bill_payer").uncounted == ("bill_payer",)
        assert session.query("SELECT 1").uncounted == ()


@st.composite
def _numbers(draw: st.DrawFn) -> Decimal:
    """Any number that DynamoDB stores: 38 digits, from 1E-130 to below 1E+126."""
    digits = draw(st.integers(1, 38))
    coefficient = draw(st.integers(10 ** (digits - 1), 10**digits - 1))
    exponent = draw(st.integers(-130, 126 - digits) | st.integers(-30, 2))
    with localcontext(prec=60):
        return draw(st.sampled_from([1, -1])) * Decimal(coefficient).scaleb(min(exponent, 126 - digits))


_SHARES = st.lists(
    st.one_of(
        _numbers(),
        st.decimals(-(10**12), 10**12, places=2),
        st.integers(1, 99).map(lambda n: Decimal(1000) / n),
        st.sampled_from([Decimal("1E-18"), Decimal("1E-19"), Decimal("1E+19"), Decimal("1E+20"), Decimal(10**38 - 1)]),
    ),
    max_size=6,
)
_WEI = st.lists(
    st.one_of(
        st.integers(-(2**64), 2**64),
        st.integers(-(10**38) + 1, 10**38 - 1),
        st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**38 - 1, 10**60, 10**125]),
    ),
    max_size=6,
)


@pytest.fixture(scope="module")
def ledger() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(books)
        yield db


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shares=_SHARES, wei=_WEI, format=st.sampled_from(FORMATS))
def test_a_sum_is_exact_or_says_how_many_are_missing(
    ledger: Database, shares: list[Decimal], wei: list[int], format: Any
) -> None:
    assume(shares or wei)
    ledger.write_many(deletes=[Bill.by_id(bill.id) for bill in ledger.scan(Bill)])
    with TemporaryDirectory() as folder, ExitStack() as at_end:
        path = exported(ledger, Path(folder), bills(shares, wei), format)
        session = at_end.enter_context(open_export(path, books))
        for column, values in (("share", shares), ("wei", [Decimal(n) for n in wei])):
            _check_sum(session, column, values)


def _check_sum(session: SqlSession, column: str, values: list[Decimal]) -> None:
    answer = session.query(f"SELECT id, {column} FROM bill")
    read = [Decimal(value) for _, value in answer.rows() if value is not None]
    missing = answer.left_out.get(f"bill.{column}", 0)
    assert len(read) == len(answer) - missing
    with localcontext(prec=300):
        if not missing:
            assert sorted(read) == sorted(values + [Decimal(0)] * (len(answer) - len(values)))
        total = _sum(session, column)
        if total is None:
            assert sum(map(abs, read)) >= Decimal(10) ** (38 - _scale(session, column))
        else:
            assert total == sum(read)


def _sum(session: SqlSession, column: str) -> Decimal | None:
    """None where DuckDB refuses a sum of more than 38 digits."""
    try:
        (total,) = only(session, f"SELECT coalesce(sum({column}), 0) FROM bill")
    except InvalidRequest as error:
        if "verflow" not in str(error):
            raise
        return None
    return Decimal(total)


def _scale(session: SqlSession, column: str) -> int:
    found = re.search(r",(\d+)\)", session.columns("bill")[column])
    return int(found[1]) if found else 0
