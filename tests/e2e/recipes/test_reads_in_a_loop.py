"""The recipe for N+1 names the line of a loop, and nothing else that reads often."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from examples.recipes.n_plus_one import Order, ReadsInALoop
from singletable import Database
from tests.support.engines import fresh


@contextmanager
def watched(reads: ReadsInALoop) -> Generator[Database, None, None]:
    with fresh(listeners=[reads]) as db:
        db.write_many(puts=[Order(customer=f"c{number}", number=number) for number in range(25)])
        yield db


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "shop.reads"]


def test_a_loop_of_reads_and_one_of_queries_are_told(caplog: pytest.LogCaptureFixture) -> None:
    reads = ReadsInALoop()
    with watched(reads) as db:
        with reads.request():
            for number in range(25):
                db.get(Order.of_customer("c1", 1 + number % 2))
        with reads.request():
            for number in range(25):
                db.all(Order.of_customer(f"c{number}"))
    first, second = told(caplog)
    name = "test_a_loop_of_reads_and_one_of_queries_are_told"
    assert f" in {name} reads Order.of_customer one by one, 25 in one request" in first
    assert f" in {name} reads Order.of_customer one by one, 25 in one request" in second
    assert first.startswith("test_reads_in_a_loop.py:")
    assert first.split()[0] != second.split()[0]


def test_what_many_requests_read_and_the_pages_of_a_query_are_not_loops(caplog: pytest.LogCaptureFixture) -> None:
    reads = ReadsInALoop()
    with watched(reads) as db:
        for number in range(25):
            with reads.request():
                db.get(Order.of_customer("c1", number))
        with reads.request():
            for _ in range(25):
                db.page(Order.of_customer("c1"), limit=1)
        for number in range(25):  # outside of a request
            db.get(Order.of_customer("c1", number))
    assert told(caplog) == []
