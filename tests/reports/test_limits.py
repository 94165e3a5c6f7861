"""Limits of a session: rows are cut, and what takes too long or too much memory is ended, wherever DuckDB is then."""

from __future__ import annotations

import signal
import sys
import time
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


@pytest.mark.usefixtures("forked_questions")
def test_a_question_that_takes_too_long_is_ended(any_db: Database, tmp_path: Path) -> None:
    with limited(any_db, tmp_path, Limits(seconds=0.2)) as session:
        with pytest.raises(InvalidRequest, match=r"longer than 0\.2 s"):
            session.query(LONG)
        assert list(session.query("SELECT count(*) FROM customer").rows()) == [(2,)]


def test_nor_does_a_question_go_on_where_its_alarm_is_blocked(any_db: Database, tmp_path: Path) -> None:
    """A process inherits what the thread that begins it blocks, and what its process ignores."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    handler = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    began = time.monotonic()
    try:
        told = pytest.raises(InvalidRequest, match=r"longer than 0\.2 s")
        with limited(any_db, tmp_path, Limits(seconds=0.2)) as session, told:
            session.query(LONG)
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert time.monotonic() - began < 50


def test_a_question_that_needs_too_much_memory_is_refused(any_db: Database, tmp_path: Path) -> None:
    with limited(any_db, tmp_path, Limits(megabytes=64)) as session:
        with pytest.raises(InvalidRequest, match="more than 64 MB"):
            session.query(LARGE)
        assert list(session.query("SELECT count(*) FROM customer").rows()) == [(2,)]


def test_without_limits_nothing_is_cut(any_db: Database, tmp_path: Path) -> None:
    with open_export(exported(any_db, tmp_path), shop) as session:
        found = session.query("SELECT * FROM range(5000)")
        assert (len(found), found.is_cut) == (5000, False)


@pytest.mark.usefixtures("forked_questions")
def test_a_question_is_ended_where_duckdb_does_not_look_up(any_db: Database, tmp_path: Path) -> None:
    """To bind 29,000 columns takes it 30 seconds, in which it can't be interrupted."""
    columns = ",".join("1" for _ in range(29_000))
    began = time.monotonic()
    with limited(any_db, tmp_path, Limits(seconds=0.5)) as session:
        with pytest.raises(InvalidRequest, match=r"longer than 0\.5 s"):
            session.query(f"SELECT {columns}")
        assert time.monotonic() - began < 20
        assert list(session.query("SELECT count(*) FROM customer").rows()) == [(2,)]


@pytest.mark.usefixtures("forked_questions")
def test_memory_that_duckdb_does_not_count_is_limited(any_db: Database, tmp_path: Path) -> None:
    """One text of 300 MB is made beside its buffers."""
    with limited(any_db, tmp_path, Limits(megabytes=64)) as session:
        with pytest.raises(InvalidRequest, match="more than 64 MB"):
            session.query("SELECT repeat('x', 300000000)")
        assert list(session.query("SELECT count(*) FROM customer").rows()) == [(2,)]


@pytest.mark.usefixtures("forked_questions")
@pytest.mark.parametrize("megabytes", [None, 512])
@pytest.mark.parametrize("personal", [False, True])
def test_a_question_that_is_nested_too_deeply_is_refused(
    any_db: Database, tmp_path: Path, megabytes: int | None, personal: bool
) -> None:
    limits = None if megabytes is None else Limits(megabytes=megabytes)
    nested = "SELECT * FROM " + "(SELECT * FROM " * 3000 + "customer" + ")" * 3000
    opened = open_export(exported(any_db, tmp_path), shop, limits=limits, personal=personal)
    with opened as session, pytest.raises(InvalidRequest, match=r"nested too deeply|depth limit"):
        session.query(nested)


@pytest.mark.usefixtures("forked_questions")
@pytest.mark.parametrize("sql", ["SELECT repeat('x', 1000000) FROM range(3)", "SELECT * FROM range(20000)"])
def test_an_answer_that_is_too_large_to_show_is_refused(any_db: Database, tmp_path: Path, sql: str) -> None:
    """Also one of many small cells."""
    with limited(any_db, tmp_path, Limits(answer_megabytes=1)) as session:
        with pytest.raises(InvalidRequest, match="the answer has more than 1 MB"):
            session.query(sql)
        assert len(session.query("SELECT * FROM range(10000)")) == 10_000


@pytest.mark.usefixtures("forked_questions")
def test_what_sorts_more_than_its_memory_writes_nothing_to_the_disk(any_db: Database, tmp_path: Path) -> None:
    with limited(any_db, tmp_path, Limits(megabytes=64)) as session:
        assert list(session.query("SELECT current_setting('temp_directory')").rows()) == [("",)]
        assert list(session.query("SELECT current_setting('memory_limit')").rows()) == [("61.0 MiB",)]


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("kill -9 $$", "SIGKILL"),
        ("exit 3", "exit code 3"),
        ("echo 'ValueError: ada@example.org' >&2; exit 1", "ValueError"),
    ],
)
def test_a_process_that_ends_without_an_answer_is_told_without_values(
    any_db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, said: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{ends}\n")
    program.chmod(0o755)
    with limited(any_db, tmp_path / "exports", Limits(rows=1)) as session:
        monkeypatch.setattr(sys, "executable", str(program))
        with pytest.raises(InvalidRequest, match="ended the process that answered it") as raised:
            session.query("SELECT 1")
    assert raised.value.what.endswith(f"answered it: {said}")
