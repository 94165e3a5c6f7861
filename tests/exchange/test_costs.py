"""What copies and imports cost, in requests and units, as the engine reports them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Meter
from singletable.exchange import Exports, Imports, TableCopy
from tests.exchange.models import Customer, order, shop
from tests.support.engines import fresh

pytestmark = pytest.mark.embedded("other engines count other units")
ORDERS, CUSTOMERS = 100, 10
WRITE_UNITS = 2 * ORDERS + 2 * CUSTOMERS
"""An order is below 1 KB, and in one index; a customer has a guard."""


@pytest.fixture(scope="module")
def source() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(shop)
        with Meter() as meter:
            db.write_many(puts=[order(n) for n in range(ORDERS)])
        assert meter.write_units == 2 * ORDERS
        for n in range(CUSTOMERS):
            db.create(Customer(email=f"c{n}@example.org", name=f"n{n}"))
        yield db


def spent(meter: Meter) -> dict[str, tuple[int, float]]:
    """Requests and units of each operation on items."""
    found = {name: (each.requests, each.read_units + each.write_units) for name, each in meter.by_operation.items()}
    return {name: cost for name, cost in found.items() if name.endswith(("Item", "Items", "Scan"))}


def scan_units(db: Database) -> float:
    with db.meter() as meter:
        assert len(list(db.scan(Customer, consistent=True))) == CUSTOMERS
    return meter.read_units


def test_a_copy_reads_the_table_once_and_writes_each_item_once(source: Database) -> None:
    with fresh() as target, Meter() as meter:
        TableCopy(source, target, shop).run(keep_personal=True)
    assert spent(meter) == {
        "Scan": (2, 0.5 * 2 + scan_units(source)),  # whether the target has items; and the source
        "GetItem": (2, 2.0),  # how far an earlier copy had come; whether the source is the target
        "BatchWriteItem": (5, WRITE_UNITS),
        "PutItem": (2, 2.0),  # how far it has come: before the page, and after it
        "DeleteItem": (1, 1.0),
    }


def test_an_import_of_an_export_with_keys(source: Database, tmp_path: Path) -> None:
    Exports(source, shop).export(tmp_path, keys=True)
    with fresh() as target, Meter() as meter:
        Imports(target, shop).run(tmp_path)
    assert spent(meter) == {
        "Scan": (1, 1.0),
        "GetItem": (1, 1.0),
        "BatchWriteItem": (6, WRITE_UNITS),
        "PutItem": (6, 6.0),  # after each page, and at the end of each of three files
        "DeleteItem": (1, 1.0),
    }


def test_an_import_by_the_rules_and_once_more(source: Database, tmp_path: Path) -> None:
    Exports(source, shop).export(tmp_path)
    with fresh() as target:
        with Meter() as meter:
            Imports(target, shop).run(tmp_path)
        assert spent(meter) == {
            "GetItem": (1, 1.0),
            "PutItem": (ORDERS + 4, 2.0 * ORDERS + 4),
            "TransactWriteItems": (CUSTOMERS, 4.0 * CUSTOMERS),  # a customer and its guard, twice the units
            "DeleteItem": (1, 1.0),
        }
        with Meter() as again:
            done = Imports(target, shop).run(tmp_path)
        assert (done.written, done.present) == (0, ORDERS + CUSTOMERS)
        assert spent(again) == {
            "GetItem": (1 + ORDERS + CUSTOMERS, 1.0 + ORDERS + CUSTOMERS),
            "PutItem": (ORDERS + 4, 4.0),  # each is refused once
            "TransactWriteItems": (CUSTOMERS, 0.0),
            "DeleteItem": (1, 1.0),
        }


def test_a_dry_run_takes_nothing(source: Database, tmp_path: Path) -> None:
    Exports(source, shop).export(tmp_path)
    with fresh() as target, Meter() as meter:
        done: Any = Imports(target, shop).run(tmp_path, dry_run=True)
    assert (done.written, spent(meter)) == (ORDERS + CUSTOMERS, {})
