"""Several writers at the same time, in threads: nothing is lost, and one of them wins what only one can have."""

from __future__ import annotations

import threading  # noqa: TID251
from collections.abc import Callable, Iterator

import pytest

from singletable import Database, NotUnique, SingletableError, VersionMoved, attr, connect
from tests.faults.actions import Conflict
from tests.faults.opening import LOCAL
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.rules.models import Counted, Named, guarded, shop

WRITERS, TIMES = 8, 12


@pytest.fixture
def db(proxy: FaultProxy) -> Iterator[Database]:
    with connect(proxy.url, environ={}) as made:
        made.port.traits = LOCAL
        made.create_table(shop)
        made.create_table(guarded)
        yield made


def at_once(work: Callable[[int], None]) -> list[SingletableError]:
    """Run the work in as many threads as there are writers; the errors that it ended with."""
    errors: list[SingletableError] = []

    def run(number: int) -> None:
        try:
            work(number)
        except SingletableError as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("exactly_once", [False, True])
def test_sums_of_many_writers_add_up_in_spite_of_conflicts(db: Database, faults: Faults, exactly_once: bool) -> None:
    db.create(Counted(id="1"))
    faults.add(Rule(Match(("UpdateItem", "TransactWriteItems"), probability=0.3), Conflict()))

    def work(number: int) -> None:
        for _ in range(TIMES):
            db.update(Counted.by_id("1"), attr(Counted.count).add(1), exactly_once=exactly_once)

    assert at_once(work) == []
    assert db.get(Counted.by_id("1").consistent()) == Counted(
        id="1", count=WRITERS * TIMES, revision=WRITERS * TIMES + 1
    )


def test_a_read_and_a_write_by_version_never_lose_one(db: Database) -> None:
    db.create(Counted(id="1"))

    def work(number: int) -> None:
        done = 0
        while done < TIMES:
            mine = db.get(Counted.by_id("1").consistent())
            assert mine is not None
            mine.count += 1
            try:
                db.put(mine)
                done += 1
            except VersionMoved:
                continue

    assert at_once(work) == []
    found = db.get(Counted.by_id("1").consistent())
    assert found is not None
    assert found.count == WRITERS * TIMES


def test_one_of_many_gets_a_unique_value(db: Database, faults: Faults) -> None:
    faults.add(Rule(Match("TransactWriteItems", probability=0.3), Conflict()))
    errors = at_once(lambda number: db.create(Named(id=str(number), email="a@x")))
    assert [type(error) for error in errors] == [NotUnique] * (WRITERS - 1)
    assert db.check(shop) == []


def test_a_value_that_is_handed_round_by_all_stays_with_one(db: Database) -> None:
    for number in range(WRITERS):
        db.create(Named(id=str(number), email=f"{number}@x"))

    def work(number: int) -> None:
        for n in range(TIMES):
            try:
                db.update(Named.by_id(str(number)), attr(Named.email).set(f"{(number + n) % WRITERS}@y"))
            except NotUnique:
                db.put(Named(id=str(number), email=f"{number}@x"))

    assert at_once(work) == []
    assert db.check(shop) == []
