"""Layers and tools on tables whose names in the account are not the declared ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable import Entity, InvalidRequest, Key, Table, connect
from singletable.exchange import TableCopy
from singletable.migrations import Backups
from singletable.operations import TableCall
from singletable.release import Hold
from singletable.streams import Changes, ChangeWorker, Inserted

NAMES = {"shop": "shop-7"}
shop = Table("shop", stream="new_and_old")
changes = Changes(shop)
HANDLED: list[str] = []


class Order(Entity, table=shop, type="order"):
    id: str

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"order#{id}", "order"


@changes.on(Order).inserted
def handle(change: Inserted[Order]) -> None:
    HANDLED.append(change.new.id)


@pytest.mark.embedded("its file is copied")
def test_workers_copies_and_holds_use_the_name_in_the_account(tmp_path: Path) -> None:
    HANDLED.clear()
    with connect(f"local:{tmp_path / 'live.db'}", tables=NAMES) as db:
        db.create(Order(id="1"))
        ChangeWorker(db, changes).drain()
        assert HANDLED == ["1"]
        listed = db.run(db.port.send(TableCall("ListTables", {})))
        assert listed is not None
        assert listed["TableNames"] == ["shop-7", "shop-7-leases"]
        assert Hold(db, shop).report().is_held is False
        Backups(db, shop).copy(tmp_path / "copy.db")
        with pytest.raises(InvalidRequest, match="the same table"):
            TableCopy(db, db, shop).run(keep_personal=True, add=True)
        assert TableCopy(db, db, shop, to_table="shop-8").run(keep_personal=True).written == 1
        with connect(f"local:{tmp_path / 'live.db'}", tables={"shop": "shop-8"}) as other:
            assert other.get(Order.by_id("1")) == Order(id="1")
            assert Hold(other, shop).report().is_held is True
            assert TableCopy(db, other, shop).run(keep_personal=True, add=True).written == 1
    with connect(f"local:{tmp_path / 'copy.db'}", tables=NAMES) as copied:
        assert Hold(copied, shop).report().is_held is True
        Hold(copied, shop).release()
        assert Hold(copied, shop).report().is_held is False
