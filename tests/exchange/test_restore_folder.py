"""A folder of an export, with keys and unmasked, is a source of a restore; any other one is refused before anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from singletable import Entity, InvalidRequest, Key, Table, connect
from singletable.documents import Documents, LocalBlobs
from singletable.errors import Corrupt
from singletable.exchange import Exports, Restore
from tests.exchange.restored import Order, Page, changes, fill, items_in, shop
from tests.exchange.test_restore import contents_in, held_by, killed_at, nobody_waits
from tests.support.engines import fresh
from tests.support.raw import put_raw

pytestmark = pytest.mark.embedded("its engines are its own")


@dataclass
class Exported:
    """A folder of exports of one table, and what was in it."""

    folder: Path
    blobs: LocalBlobs
    items: Any
    leases: Any


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    folder = tmp_path_factory.mktemp("exported")
    blobs = LocalBlobs(folder / "blobs")
    with connect("local") as db:
        fill(db, blobs)
        stray = {"pk": {"S": "x"}, "sk": {"S": "y"}, "_type": {"S": "ghost"}, "n": {"N": "1.50"}, "b": {"B": "AQI="}}
        db.run(put_raw(db.port, Order, stray))  # a row of _unknown
        Exports(db, shop, changes.leases, blobs=blobs).export(folder / "whole", keys=True, contents=True)
        for name, options in (("bare", {}), ("masked", {"keys": True, "personal": False, "mask_key": b"k" * 16})):
            Exports(db, shop).export(folder / name, **options)  # type: ignore[arg-type]
        Exports(db, shop).export(folder / "alone", keys=True, format="jsonl")
        yield Exported(folder, blobs, items_in(db, "shop"), items_in(db, "shop-leases"))


def test_each_item_comes_back_as_it_was(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in its middle, it goes on."""
    source: Any = {"export": [str(exported.folder / "whole")], "contents": exported.blobs.directory}
    with connect("local") as db:
        for step in (5, 9, 14, 60):
            blobs, to = LocalBlobs(exported.folder / f"blobs{step}"), f"shop-{step}"
            restore = Restore(db, shop, to=to, blobs=blobs)
            was_killed = killed_at(db, monkeypatch, step, restore, source)
            assert was_killed == (step < 60)
            restore.run(**source)
            assert items_in(db, to) == exported.items
            assert items_in(db, f"{to}-leases") == exported.leases
            assert contents_in(blobs) == contents_in(exported.blobs)
            assert held_by(db, to).startswith("restored from the export ")


def test_of_one_table_it_says_what_is_not_in_it(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect("local") as db:
        monkeypatch.setattr(db.port, "sleep", nobody_waits)
        restore = Restore(db, shop, blobs=exported.blobs)
        plan = restore.plan(export=[str(exported.folder / "alone")])
        assert [step.name for step in plan.steps] == ["make", "hold", "items", "contents", "settings"]
        restored = restore.run(export=[str(exported.folder / "alone")])
        assert (restored.items, restored.beside) == (len(exported.items), ())
        assert plan.notes == restored.notes == ("shop-leases is not brought back: the export has not this table",)
        assert items_in(db, "shop") == exported.items
        assert Documents(db, Page, blobs=exported.blobs).head("p1").cells["c1"].text.startswith("text 1")


def test_what_does_not_hold_each_item_is_refused(exported: Exported, tmp_path: Path) -> None:
    other = Table("shop", indexes=["gsi1"])

    class OtherOrder(Entity, table=other, type="order"):
        number: int
        added: str = ""

        @other.key
        @staticmethod
        def by_number(number: int) -> Key:
            """One order."""
            return f"order#{number}", "order"

    refusals = [
        (shop, "bare", "was made without keys"),
        (shop, "masked", "has masks"),
        (Table("elsewhere"), "alone", "has not this table, but shop"),
        (other, "alone", "declared otherwise now, or not at all: Order, Task"),
    ]
    with connect("local") as db:
        for table, folder, why in refusals:
            with pytest.raises(InvalidRequest, match=why):
                Restore(db, table).run(export=[str(exported.folder / folder)])
            assert db.describe_table(shop) is None


def test_a_row_that_was_changed_ends_it_by_name(exported: Exported, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    with fresh() as db:
        db.create_table(shop)
        db.create(Order(number=1))
        Exports(db, shop).export(folder, keys=True, format="jsonl")
    (file,) = folder.glob("*/order/*.jsonl")
    file.write_text(file.read_text().replace('"number":1', '"number":"one"'))
    with connect("local") as db, pytest.raises(Corrupt, match=r"order/part-00000.jsonl .*row 1: "):
        Restore(db, shop).run(export=[str(folder)])
