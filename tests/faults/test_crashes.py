"""A process that is killed at any of its requests: what it had begun is whole or absent, and a restart finishes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database, attr, connect
from tests.faults import processes
from tests.faults.failpoints import AFTER, BEFORE
from tests.faults.opening import LOCAL
from tests.faults.processes import HUNDRED, PURSE, TRANSFERS
from tests.rules.models import Counted, Named, Plain, guarded, shop
from tests.support.children import KILLED, run_child


@pytest.fixture
def db(engine_url: str) -> Iterator[Database]:
    with connect(engine_url, environ={}) as made:
        made.port.traits = LOCAL
        made.create_table(shop)
        made.create_table(guarded)
        yield made


@pytest.mark.parametrize("point", [f"{BEFORE}:1", f"{AFTER}:1", f"{AFTER}:3"])
def test_a_load_that_was_killed(db: Database, engine_url: str, point: str) -> None:
    assert run_child(processes.load, engine_url, dies_at=point) == KILLED
    there = db.get_many([Plain.by_id(p.id) for p in HUNDRED], consistent=True)
    assert len(there) in (0, 25, 50, 75, 100)
    assert all(each in HUNDRED for each in there)
    assert run_child(processes.load, engine_url) == 0
    assert db.get_many([Plain.by_id(p.id) for p in HUNDRED], consistent=True) == HUNDRED
    assert db.check(shop) == []


@pytest.mark.parametrize("point", [f"{BEFORE}:4", f"{AFTER}:4", "transfer.next:6"])
def test_transfers_that_were_killed(db: Database, engine_url: str, point: str) -> None:
    for purse in ("one", "two"):
        db.create(Counted(id=purse))
        db.update(Counted.by_id(purse), attr(Counted.count).set(PURSE))
    assert run_child(processes.transfer, engine_url, dies_at=point) == KILLED
    receipts = db.get_many([Plain.by_id(f"receipt-{n}") for n in range(TRANSFERS)], consistent=True)
    assert 0 < len(receipts) < TRANSFERS
    assert _purses(db) == (PURSE - 10 * len(receipts), PURSE + 10 * len(receipts))
    assert run_child(processes.transfer, engine_url) == 0
    assert _purses(db) == (PURSE - 10 * TRANSFERS, PURSE + 10 * TRANSFERS)
    assert db.check(shop) == []


@pytest.mark.parametrize("point", [f"{BEFORE}:5", f"{AFTER}:4", f"{AFTER}:5", "rename.done:2"])
def test_a_rename_that_was_killed(db: Database, engine_url: str, point: str) -> None:
    assert run_child(processes.rename, engine_url, dies_at=point) == KILLED
    assert db.check(shop) == []
    found = db.get(Named.by_id("1").consistent())
    assert found is not None
    assert found.nick is not None
    assert found.email[0] == found.nick[1]
    assert run_child(processes.rename, engine_url) == 0
    assert db.get(Named.by_id("1").consistent()) == Named(id="1", email="3@x", nick="n3")
    assert db.check(shop) == []


def test_a_point_that_is_not_reached_does_nothing(db: Database, engine_url: str) -> None:
    assert run_child(processes.load, engine_url, dies_at=f"{AFTER}:99") == 0


def _purses(db: Database) -> tuple[int, ...]:
    found = db.get_many([Counted.by_id("one"), Counted.by_id("two")], consistent=True)
    return tuple(purse.count for purse in found)
