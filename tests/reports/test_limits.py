"""Limits of a session: rows are cut, and what takes too long or too much memory is ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable import Database, InvalidRequest
from singletable.reports import Limits, SqlSession, open_export
from tests.reports.answers import exported
from tests.reports.models import shop

LONG = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE (a.range * b.range) % 7 = 3"
LARGE = "SELECT list(range) FROM range(300000000)"


def limited(db: Database, folder: Path, limits: Limits) -> SqlSession:
    return open_export(exported(db, folder), shop, limits=limits)


def test_more_rows_than_the_limit_are_cut_and_told(any_db: Database, tmp_path: Path) -> None:
    with limited(any_db, tmp_path, Limits(rows=3)) as session:
        found = session.query('SELECT number FROM "order" ORDER BY number DESC')
        assert (list(found.rows()), found.is_cut) == ([(3,), (2,), (1,)], True)
        whole = session.query('SELECT number FROM "order" WHERE number > 0 ORDER BY number')
        assert (list(whole.rows()), whole.is_cut) == ([(1,), (2,), (3,)], False)
        assert len(session.query("DESCRIBE customer")) == 3
        assert not session.query("EXPLAIN SELECT 1").is_cut


def test_a_question_that_takes_too_long_is_ended(any_db: Database, tmp_path: Path) -> None:
    with limited(any_db, tmp_path, Limits(seconds=0.2)) as session:
        with pytest.raises(InvalidRequest, match=r"longer than 0\.2 s"):
            session.query(LONG)
        assert list(session.query("SELECT count(*) FROM customer").rows()) == [(2,)]


def test_a_question_that_needs_too_much_memory_is_refused(any_db: Database, tmp_path: Path) -> None:
    with limited(any_db, tmp_path, Limits(megabytes=64)) as session:
        with pytest.raises(InvalidRequest, match="more than 64 MB"):
            session.query(LARGE)
        assert list(session.query("SELECT count(*) FROM customer").rows()) == [(2,)]


def test_without_limits_nothing_is_cut(any_db: Database, tmp_path: Path) -> None:
    with open_export(exported(any_db, tmp_path), shop) as session:
        found = session.query("SELECT * FROM range(5000)")
        assert (len(found), found.is_cut) == (5000, False)
