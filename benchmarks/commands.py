"""The commands that go through a whole table, each on a small one on the local engine: what it takes of every item.

A command runs on two tables, and the difference is divided by the items that one has more: what a run takes once, as a
DescribeTable, is not in the figures. The table has one index, which projects all. Its items have the size that is
asked for, to the byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from obstore.store import MemoryStore

from singletable import ANY, Database, Entity, Key, Meter, Table, connect, field
from singletable.documents import Document, Documents, Draft, Items, ObjectBlobs
from singletable.erasure import Erasure
from singletable.exchange import Exports, Imports, TableCopy
from singletable.jobs import Jobs
from singletable.migrations import Migrations
from singletable.reports import Stats
from singletable.schema.models import model_of
from singletable.tables import add_index
from singletable.values import item_size

OF_ONE_CUSTOMER: Final = 50
_PAGES: Final = frozenset({"Scan", "Query", "BatchGetItem"})
"""The operations whose answers are up to 1 MB."""


@dataclass(frozen=True)
class Taken:
    """What a command took: of a table, or of each of its items."""

    pages: float
    others: float
    """Requests: those for pages of items, and all others."""
    read_units: float
    write_units: float
    cpu_seconds: float

    def each_more(self, fewer: Taken, items: int) -> Taken:
        """What each of so many items more took."""
        return Taken(*((many - few) / items for many, few in zip(_values(self), _values(fewer), strict=True)))


def _values(taken: Taken) -> tuple[float, ...]:
    return taken.pages, taken.others, taken.read_units, taken.write_units, taken.cpu_seconds


@dataclass(frozen=True)
class Shop:
    """A table of orders: a customer has fifty, and an order mentions who sold it."""

    table: Table
    customer: Any
    order: Any

    def make(self, number: int, size: int) -> Any:
        """An order whose item has a size."""
        names = {"customer": f"{number // OF_ONE_CUSTOMER:08}", "number": number, "shelf": f"{number % 97:02}"}
        missing = size - item_size(model_of(self.order).item(self.order(**names, note="-")))
        if missing < 0:
            raise SystemExit(f"an order has {size - missing} bytes without its note: ask for more")
        return self.order(**names, note="-" * (1 + missing))


def declare(*, is_later: bool = False) -> Shop:
    """The shop's classes. The later program has an index more."""
    table = Table("shop", indexes=["gsi1", "gsi2"] if is_later else ["gsi1"])

    class Customer(Entity, table=table, type="customer"):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"customer#{id}", "customer"

    class Order(Entity, table=table, type="order"):
        customer: str = field(belongs_to=Customer.id)
        number: int
        shelf: str
        note: str
        sold_by: str | None = field(default=None, mentions=Customer.id)
        state: str = "open"

        @table.key
        @staticmethod
        def of_customer(customer: str, number: int = ANY) -> Key:
            return f"customer#{customer}", f"order#{number:09}"

        @table.index("gsi1")
        @staticmethod
        def by_state(state: str, number: int = ANY) -> Key:
            return f"state#{state}", f"{number:09}"

        if is_later:

            @table.index("gsi2")
            @staticmethod
            def by_shelf(shelf: str, number: int = ANY) -> Key:
                return f"shelf#{shelf}", f"{number:09}"

    return Shop(table, Customer, Order)


@dataclass(frozen=True)
class Place:
    """A filled table, and what a command may put elsewhere."""

    db: Database
    shop: Shop
    folder: Path
    other: Database


Prepared = Callable[[], object]
"""The command itself, ready to run."""


def plan(place: Place) -> Prepared:
    migrations = Migrations(place.db, declare(is_later=True).table)
    return lambda: migrations.plan(again=True)


def fill(place: Place) -> Prepared:
    migrations = Migrations(place.db, declare(is_later=True).table)
    planned = migrations.plan()
    return lambda: migrations.apply(planned)


def check(place: Place) -> Prepared:
    return lambda: place.db.check(place.shop.table)


def stats(place: Place) -> Prepared:
    return Stats(place.db, place.shop.table).read


def export(place: Place) -> Prepared:
    return lambda: Exports(place.db, place.shop.table).export(place.folder)


def import_(place: Place) -> Prepared:
    export(place)()
    return lambda: Imports(place.other, place.shop.table).run(place.folder)


def copy(place: Place) -> Prepared:
    return lambda: TableCopy(place.db, place.other, place.shop.table).run(keep_personal=True)


def erase(place: Place) -> Prepared:
    subject = place.shop.customer(id=f"{0:08}")
    place.db.put(subject)
    return lambda: Erasure(place.db, place.shop.table).apply(place.shop.customer.by_id(subject.id))


def fill_job(place: Place) -> Prepared:
    table = declare(is_later=True).table
    place.db.run(add_index(place.db.port, table.definition, "gsi2"))
    return _by_job(Jobs(place.db, table), "fill")


def check_job(place: Place) -> Prepared:
    return _by_job(Jobs(place.db, place.shop.table), "check")


def copy_job(place: Place) -> Prepared:
    return _by_job(Jobs(place.other, place.shop.table, source=place.db), "copy", {"keep_personal": True})


def _by_job(jobs: Jobs, kind: str, options: Mapping[str, Any] | None = None) -> Prepared:
    """A job by one worker, from its beginning to its end."""
    return lambda: jobs.run(jobs.begin(kind, options).id, signals=False)


COMMANDS: Final[dict[str, Callable[[Place], Prepared]]] = {
    "plan": plan,
    "apply": fill,
    "check": check,
    "stats": stats,
    "export": export,
    "import": import_,
    "copy": copy,
    "erase": erase,
    "fill --job": fill_job,
    "check --job": check_job,
    "copy --job": copy_job,
}


def taken_by(command: str, items: int, size: int) -> Taken:
    """What a command takes of a table with so many items."""
    shop = declare()
    with ExitStack() as stack:
        db, other = stack.enter_context(connect("local")), stack.enter_context(connect("local"))
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for each in (db, other):
            each.create_table(shop.table)
        db.write_many(puts=(shop.make(number, size) for number in range(items)))
        return _measured(COMMANDS[command](Place(db, shop, folder, other)))


def collected(versions: int) -> Taken:
    """What a collection takes of a document with so many versions, each of which has changed one item."""

    class Board(Document, table=Table("boards")):
        notes: Items[str]

    @Board.mutation
    def write(draft: Draft[Board], *, id: str, text: str) -> None:
        draft.notes[id] = text

    with connect("local") as db:
        boards = Documents(db, Board, blobs=ObjectBlobs(MemoryStore()))
        boards.create("o1", "b1")
        for number in range(1, versions + 1):
            boards.apply("b1", [write(id=f"n{number % 10}", text=f"{number}").by("c1", number)])
        return _measured(lambda: boards.collect_garbage("b1"))


def _measured(work: Prepared) -> Taken:
    with Meter() as meter:
        began = time.process_time()
        work()
        seconds = time.process_time() - began
    pages = sum(count.requests for name, count in meter.by_operation.items() if name in _PAGES)
    return Taken(pages, meter.requests - pages, meter.read_units, meter.write_units, seconds)
