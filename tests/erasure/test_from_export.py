"""An erasure finds its candidates in an export; scans of the table end it, so that nothing written since is left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, attr
from singletable.erasure import Erasure
from singletable.errors import Corrupt, NotFound
from singletable.exchange import ExportedItems, export_of
from tests.erasure.killing import is_killed
from tests.erasure.models import Customer, Review, shop
from tests.erasure.test_erasure import ADA, CLEARED, WHOLE, fill, is_erased, items_of, remaining
from tests.exchange.table_export_layout import write_full
from tests.support.engines import fresh
from tests.support.raw import all_items

__all__ = ["remaining"]
NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        yield made


def exported(db: Database, folder: Path, items: Any = None) -> ExportedItems:
    items = db.run(all_items(db.port, shop.name)) if items is None else items
    return export_of(shop, str(write_full(folder, shop.name, items, at=NOON)))


def scans(db: Database, source: ExportedItems | None) -> int:
    with db.meter() as meter:
        Erasure(db, shop).apply(ADA, from_export=source)
    return meter.by_operation["Scan"].requests


def test_a_plan_takes_no_scan(db: Database, tmp_path: Path) -> None:
    live, source = Erasure(db, shop).plan(ADA), exported(db, tmp_path)
    with db.meter() as meter:
        plan = Erasure(db, shop).plan(ADA, from_export=source)
    assert (plan.deleted, plan.cleared, plan.as_of) == (WHOLE, CLEARED, NOON) == (live.deleted, live.cleared, NOON)
    assert "Scan" not in meter.by_operation
    assert plan.left_out[-1] == "what was written since 2026-11-20 12:00:00 UTC: the erasure scans the table for it"


def test_it_erases_the_same_for_fewer_scans(db: Database, tmp_path: Path, remaining: Any) -> None:
    source = exported(db, tmp_path)
    by_export = scans(db, source)
    is_erased(db, remaining)
    with fresh() as other:
        fill(other)
        assert by_export < scans(other, None)


def test_what_was_written_since_is_not_left(db: Database, tmp_path: Path, remaining: Any) -> None:
    """An export from before all of it, and one in which everything mentions somebody else."""
    scans(db, exported(db, tmp_path, []))
    is_erased(db, remaining)
    with fresh() as other:
        fill(other)
        old = [{**item, "author": {"S": "nobody@example.org"}} for item in other.run(all_items(other.port, shop.name))]
        scans(other, exported(other, tmp_path / "old", old))
        is_erased(other, remaining)


def test_a_candidate_is_read_again(db: Database, tmp_path: Path) -> None:
    """What was hers when the export was made, and is somebody else's or gone, stays or is not missed."""
    source = exported(db, tmp_path)
    mine = next(each for each in db.scan(Review) if each.author == "ada@example.org")
    db.update(Review.of_product(mine.product, mine.id), attr(Review.author).set("bob@example.org"))
    before = items_of(db)[f"product#{mine.product}", f"review#{mine.id}"]
    receipt = Erasure(db, shop).apply(ADA, from_export=source)
    assert receipt.deleted["Review"] == WHOLE["Review"] - 1
    after = items_of(db)[f"product#{mine.product}", f"review#{mine.id}"]
    assert after["author"] == before["author"] == {"S": "bob@example.org"}


def test_killed_at_any_request_it_goes_on_and_counts_once(
    tmp_path: Path, remaining: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on looks in the table, as an item written since the export may be half erased."""
    kills = 0
    for at in range(5, 400, 11):
        with fresh() as db:
            fill(db)
            source = exported(db, tmp_path / str(at), [] if at % 2 else None)
            if not is_killed(db, shop, ADA, at, monkeypatch, from_export=source):
                break
            receipt = Erasure(db, shop).apply(ADA, from_export=source)
            assert (receipt.deleted, receipt.cleared) == (WHOLE, CLEARED)
            is_erased(db, remaining)
            kills += 1
    assert kills > 3


def test_a_damaged_export_deletes_nothing(db: Database, tmp_path: Path) -> None:
    source, before = exported(db, tmp_path), items_of(db)
    file = sorted(Path(source.where).glob("data/*.gz"))[-1]
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(Corrupt):
        Erasure(db, shop).apply(ADA, from_export=source)
    assert items_of(db) == before
    with pytest.raises(NotFound):
        Erasure(db, shop).plan(Customer.by_email("nobody@example.org"), from_export=exported(db, tmp_path / "2", []))
