"""`fill`: a table that got an index."""

from __future__ import annotations

import json

import pytest

from tests.e2e.cli.conftest import Folder
from tests.e2e.cli.test_tables import ELSEWHERE

FILLER = """
from shop.model import app, Customer
from singletable import connect
from singletable.operations import PutItem
with connect("local:data/singletable.db") as db:
    db.create_table(app)
    for n in range(7):
        item = Customer.__model__.item(Customer(email=f"c{n}", name="Ada", city="Bern"))
        db.run(db.port.send(PutItem("shop", {k: v for k, v in item.items() if not k.startswith("gsi")})))
    db.run(db.port.send(PutItem("shop", {"pk": {"S": "x"}, "sk": {"S": "x"}, "_type": {"S": "\\x1b[31munheard"}})))
"""


@pytest.fixture
def filled(folder: Folder) -> Folder:
    ran = folder.python("-c", FILLER)
    assert (ran.code, ran.err) == (0, "")
    return folder


def test_a_fill(filled: Folder) -> None:
    dry = filled.run("fill", "shop.model", "--dry-run")
    assert dry.code == 1
    assert dry.out.startswith("shop: 8 items read, 7 to write\n  as in customer customer#c")
    assert "1 of a type that no class here has" in dry.out
    ran = filled.run("fill", "shop.model", "--rate", "1000", "--json")
    (found,) = json.loads(ran.out)
    assert (found["seen"], found["written"], found["unknown"]) == (8, 7, 1)
    assert "write units" in ran.err
    assert len(json.loads(filled.run("query", "shop.model", "Customer.by_city", "Bern", "--json").out)["items"]) == 7
    assert filled.run("fill", "shop.model").out.startswith("shop: 8 items read, 0 written\n")
    shared = filled.run("fill", "shop.model", "--rate", "200", "--share-rate", "nightly")
    assert shared.out.startswith("shop: 9 items read, 0 written\n")  # the item of the rate among them


def test_nothing_is_written_elsewhere_without_yes(folder: Folder) -> None:
    ran = folder.run(
        "fill",
        "shop.model",
        "--db",
        ELSEWHERE,
        AWS_REGION="eu-central-1",
        AWS_ACCESS_KEY_ID="x",
        AWS_SECRET_ACCESS_KEY="x",
    )
    assert (ran.code, "Add --yes to do it." in ran.err) == (2, True)


MOVER = """
from singletable import Entity, Key, Table, connect
from moving import old_item
before = Table("shelf")
class Old(Entity, table=before, type="item"):
    number: int
    shelf: str
    by_number = before.key(staticmethod(old_item))
with connect("local:data/singletable.db") as db:
    db.create_table(before)
    db.write_many(puts=[Old(number=n, shelf="a") for n in range(5)])
"""
MOVING = """
from singletable import Entity, Key, Table
shelf = Table("shelf")
def old_item(number: int) -> Key:
    return f"item#{number}", "item"
class Item(Entity, table=shelf, type="item"):
    number: int
    shelf: str
    @shelf.key(was=old_item)
    @staticmethod
    def of_shelf(shelf: str, number: int) -> Key:
        return f"shelf#{shelf}", f"item#{number}"
"""


def test_a_fill_moves_items_and_says_when_none_is_left(folder: Folder) -> None:
    (folder.path / "moving.py").write_text(MOVING)
    ran = folder.python("-c", MOVER)
    assert (ran.code, ran.err) == (0, "")
    dry = folder.run("fill", "moving", "--dry-run")
    assert dry.out.startswith("shelf: 5 items read, 5 to write\n")
    assert "\n  5 of them lie under the key that their class had\n" in dry.out
    assert "\n  5 of them were moved from the key that their class had\n" in folder.run("fill", "moving").out
    again = folder.run("fill", "moving")
    assert again.code == 0
    assert "Item.of_shelf(was=old_item): nothing lies under the old key; was= can go" in again.out
    (found,) = json.loads(folder.run("fill", "moving", "--json").out)
    assert found["obsolete"] == ["Item.of_shelf(was=old_item)"]
