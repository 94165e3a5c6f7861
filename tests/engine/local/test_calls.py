"""How many of the library's functions a verb calls: its CPU in a unit that is the same on every machine, however busy.

A bound here is a tenth above what the verb needs. Where one is passed, look at what calls were added before raising it:
`python -m benchmarks.instructions` counts them in full.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import singletable
from benchmarks import workload
from benchmarks.libraries.ours import UPDATES, Order, make, table
from singletable import ANY, Database, Entity, Key, Table, connect

PACKAGE = Path(singletable.__file__).parent
MOST = {"get": 56, "put": 61, "update": 82, "upsert": 84, "transact": 146}


def write_four(db: Database) -> None:
    with db.transaction() as tx:
        for number in range(4):
            tx.put(make(workload.WRITE_CUSTOMER, number))


VERBS: dict[str, Callable[[Database], Any]] = {
    "get": lambda db: db.get(Order.of_customer(workload.WRITE_CUSTOMER, 1)),
    "put": lambda db: db.put(make(workload.WRITE_CUSTOMER, 1)),
    "update": lambda db: db.update(Order.of_customer(workload.WRITE_CUSTOMER, 1), *UPDATES),
    "upsert": lambda db: db.upsert(make(workload.WRITE_CUSTOMER, 1)),
    "transact": write_four,
}


def calls_of(action: Callable[[], Any]) -> int:
    """Calls of functions of the library; the tests record requests in functions of their own."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        own = str(PACKAGE), "<codec", "<key text", "<pattern"
        calls += event == "call" and frame.f_code.co_filename.startswith(own)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.unscanned
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_calls_no_more_functions_than_it_needs(verb: str) -> None:
    with connect("local") as db:
        db.create_table(table)
        write_four(db)
        for _ in range(3):  # what is made once is made
            VERBS[verb](db)
        calls = min(calls_of(lambda: VERBS[verb](db)) for _ in range(5))
    assert MOST[verb] * 0.6 < calls <= MOST[verb]


@pytest.mark.unscanned
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_nobody_hears_makes_no_call_for_events(verb: str) -> None:
    told = str(PACKAGE / "events"), str(PACKAGE / "wire" / "call_events.py")
    calls: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(told):
            calls.append(frame.f_code.co_qualname)

    with connect("local") as db:
        db.create_table(table)
        write_four(db)
        VERBS[verb](db)
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            VERBS[verb](db)
        finally:
            sys.setprofile(before)
    assert calls == []


def order_in(table: Table) -> Any:
    """A class of orders in a table."""

    class Listed(Entity, table=table, type="listed"):
        customer: str
        number: str
        state: str = "open"

        @table.key
        @staticmethod
        def of(customer: str, number: str = ANY) -> Key:
            return f"CUSTOMER#{customer}", f"ORDER#{number}"

    return Listed


READS: dict[str, Callable[[Database, Any], Any]] = {
    "get": lambda db, kind: db.get(kind.of("ada", "1")),
    "all": lambda db, kind: db.all(kind.of("ada")),
    "page": lambda db, kind: db.page(kind.of("ada"), limit=2),
    "of no key": lambda db, kind: db.get(kind.of("ada", "none")),
}


def test_a_foreign_class_is_read_by_no_more_calls_than_one_of_ones_own() -> None:
    kinds = {name: order_in(Table(name, foreign=name == "foreign")) for name in ("own", "foreign")}
    with connect("local") as db:
        for kind in kinds.values():
            db.write_many(puts=[kind(customer="ada", number=str(number)) for number in range(20)])
        for name, read in READS.items():
            calls = {}
            for where, kind in kinds.items():
                read(db, kind)  # what is made once is made
                calls[where] = min(calls_of(partial(read, db, kind)) for _ in range(3))
            assert calls["foreign"] <= calls["own"], name
