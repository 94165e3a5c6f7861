"""A table with all that a restore brings back: records that expire, documents, tasks, a consumer with a dead letter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from singletable import Database, Entity, Key, Table, field
from singletable.documents import BlobStore, Document, Documents, Draft, Items
from singletable.streams import Changes
from singletable.streams.state import state_entities
from singletable.tables import TableSettings
from singletable.tasks import Tasks
from tests.support.raw import all_items

SETTINGS = TableSettings(point_in_time_recovery=True, tags={"team": "shop"})
shop = Table("shop", indexes=["gsi1"], stream="new_and_old", deletion_protection=False, settings=SETTINGS)
changes, tasks = Changes(shop), Tasks(shop, index="gsi1")
FAR = datetime(2100, 1, 1, tzinfo=timezone.utc)
OWN = ("_restore", "_hold", "_transfer")


@dataclass(frozen=True)
class Cell:
    text: str


class Page(Document, table=shop, index="gsi1"):
    title: str = ""
    cells: Items[Cell]


@Page.mutation
def write(draft: Draft[Page], *, id: str, text: str) -> None:
    draft.cells[id] = Cell(text)


class Order(Entity, table=shop, type="order"):
    number: int
    expires: datetime = field(default=FAR, expires=True)

    @shop.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"order#{number}", "order"


@tasks.task
def remind(number: int) -> None:
    raise AssertionError("it is held")


def fill(db: Database, blobs: BlobStore, orders: int = 6) -> None:
    """Everything that a restore has to bring back."""
    db.create_table(shop)
    db.create_table(changes.leases)
    for number in range(orders):
        with db.transaction() as tx:
            tx.create(Order(number=number))
            tx.add(tasks.after(timedelta(days=1), remind(number)))
    pages = Documents(db, Page, blobs=blobs)
    pages.create("o1", "p1", title="Plan")
    pages.apply("p1", [write(id=f"c{n}", text=f"text {n} " * 80).by("ada", n) for n in range(1, 4)])
    letter: Any = state_entities(shop, "own").dead_letter
    db.put(letter(consumer="changes", stream="gone", shard="s", sequence="1", part=0, payload=b"the letter"))


def items_in(db: Database, table: str) -> dict[tuple[str, str], Any]:
    """Every item of a table but those of restores."""
    items = [item for item in db.run(all_items(db.port, table)) if item["_type"]["S"] not in OWN]
    return {(item["pk"]["S"], item["sk"]["S"]): item for item in items}
