"""A product with tasks, consumers, dead letters and boards: backed up, destroyed, restored and copied, with kills.

Nothing of what is restored or copied runs before its release, and each thing once after it.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, connect
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs
from singletable.exchange import Restore, TableCopy
from singletable.exchange.renamed_port import RenamedPort
from singletable.migrations import Backups
from singletable.release import Hold
from singletable.streams import Changes, ChangeWorker, Gap, Inserted
from singletable.tasks import Tasks, TaskWorker
from tests.migrations.watching import Killed, before_each
from tests.support.raw import all_items

pytestmark = pytest.mark.embedded("it restores the embedded engine's file")
shop = Table("shop", indexes=["gsi1"], stream="new_and_old")
changes, tasks = Changes(shop), Tasks(shop, index="gsi1")
PENDING = Counter({"mail ada": 1, "mail bob": 1, "turn 0": 1, "turn 1": 1})
log: list[str] = []
"""Everything with an effect outside of the table."""


@dataclass(frozen=True)
class Cell:
    text: str


class Board(Document, table=shop, index="gsi1"):
    title: str = ""
    cells: Items[Cell]


@Board.mutation
def write(draft: Draft[Board], *, id: str, text: str) -> None:
    draft.cells[id] = Cell(text)


class Order(Entity, table=shop, type="order"):
    number: int

    @shop.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"order#{number}", "order"


@tasks.task
def mail(to: str) -> None:
    log.append(f"mail {to}")


@tasks.task
def turn(number: int) -> None:
    log.append(f"turn {number}")


@changes.on(Order).inserted
def ordered(change: Inserted[Order]) -> None:
    if change.new.number == 13:
        raise ValueError("never")
    log.append(f"order {change.new.number}")


@changes.on_gap
def lost(gap: Gap) -> None:
    log.append(f"gap {gap.reason}")


def work(db: Database) -> list[str]:
    """Everything that its workers do now."""
    log.clear()
    TaskWorker(db, tasks).drain()
    ChangeWorker(db, changes).drain(tries=1)
    return sorted(log)


@dataclass
class Product:
    """A folder with a backup of the product, which is gone."""

    backup: Path
    contents: dict[str, bytes]
    items: dict[str, Any]
    kills: int = 0
    steps: Sequence[int] = ()
    """The requests before which each of its calls is killed, one after the other."""
    patience: Sequence[float] = ()
    """The seconds after which the command of a restore is killed, one after the other. None: the class restores."""


def contents_in(folder: Path) -> dict[str, bytes]:
    """The contents in a store, without the manifests of backups."""
    paths = [path for path in folder.rglob("*.json.gz") if "=backups" not in path.parts]
    return {path.name: path.read_bytes() for path in paths}


def items_in(db: Database, table: str) -> dict[str, Any]:
    """Every item by its key, but those of tools."""
    items = [item for item in db.run(all_items(db.port, table)) if item["pk"] != {"S": "_migration"}]
    return {f"{item['pk']['S']} / {item['sk']['S']}": item for item in items}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Product:
    folder = tmp_path_factory.mktemp("product")
    blobs = LocalBlobs(folder / "blobs")
    with connect(f"local:{folder / 'live.db'}") as db:
        db.create_table(shop)
        boards = Documents(db, Board, blobs=blobs)
        boards.create("o1", "b1", title="Plan")
        boards.apply("b1", [write(id=f"c{n}", text=f"text {n} " * 80).by("ada", n) for n in range(1, 4)])
        for number in (1, 13):
            db.create(Order(number=number))
        assert work(db) == ["order 1"]  # the other is a dead letter
        db.create(Order(number=2))  # the consumer has not come to it
        with db.transaction() as tx:
            for who in ("ada", "bob"):
                tx.add(tasks.after(timedelta(0), mail(who)))
            for number in range(2):
                tx.add(tasks.after(timedelta(0), turn(number), order="turns"))
        items = items_in(db, "shop")
        Backups(db, shop, blobs=blobs).copy(folder / "monday", with_contents=True)
        contents = contents_in(folder / "blobs")
        assert len(contents) >= 1
    return Product(folder / "monday", contents, items)


def going_on(product: Product, db: Database, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> None:
    """Call something until it ends; it is killed before some of its requests."""
    for step in product.steps:
        count = 0

        def happens(_: object, last: int = step) -> None:
            nonlocal count
            count += 1
            if count == last:
                raise Killed

        with monkeypatch.context() as patched:
            before_each(db, patched, happens)
            try:
                call()
            except Killed:
                product.kills += 1
                continue
        return
    call()


def command(product: Product, file: Path, to: str, blobs: Path) -> None:
    """`singletable restore`, in a process of its own, again and again until it ends."""
    module, place = "tests.holds.test_whole_again:shop", ("--db", f"local:{file}", "--blobs", str(blobs))
    blobs.mkdir()
    words = ["restore", module, "--copy", str(product.backup), "--to", to, "--yes", *place]
    for seconds in (*product.patience, None):
        try:
            run = [sys.executable, "-m", "singletable.cli", *words]
            ended = subprocess.run(run, timeout=seconds, check=False, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            product.kills += 1
            continue
        assert ended.returncode == 0, ended.stderr
        return


def renamed(db: Database, name: str) -> Database:
    """The database, for a program whose table has another name there."""
    inner: Any = RenamedPort(RenamedPort(db.port, "shop", name), "shop-leases", f"{name}-leases")
    return Database(inner, db.target)


def check_held_then_released(product: Product, db: Database, monkeypatch: pytest.MonkeyPatch, gaps: list[str]) -> None:
    assert work(db) == []
    report = Hold(db, shop).report()
    assert report.is_held
    assert [(each.name, each.due) for each in report.work if each.kind == "task"] == [("mail", 2), ("turn", 2)]
    db.create(Order(number=3))
    assert work(db) == []
    going_on(product, db, monkeypatch, Hold(db, shop).release)
    db.create(Order(number=4))
    assert Counter(work(db)) == PENDING + Counter([*gaps, "order 4"])
    assert work(db) == []
    assert {finding.code for finding in db.check(shop, changes, tasks)} <= {"change.dead-letter"}


def scenario(product: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: Sequence[int]) -> int:
    """Under the same name, under another one, and a copy to staging. Returns the number of kills."""
    product.kills, product.steps = 0, steps
    product.patience = (0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.3) if len(steps) > 1 else ()
    with connect(f"local:{product.backup / 'data.db'}") as copy, connect(f"local:{tmp_path / 'new.db'}") as new:
        for name in ("shop", "shop-2"):
            blobs = LocalBlobs(tmp_path / name)
            if name != "shop" and product.patience:
                command(product, tmp_path / "new.db", name, tmp_path / name)
            else:
                restore = Restore(new, shop, to=name, blobs=blobs)
                source: Any = {"copy": copy, "contents": product.backup / "blobs"}
                going_on(product, new, monkeypatch, lambda r=restore, s=source: r.run(**s))  # type: ignore[misc]
            assert items_in(new, name) == product.items
            assert contents_in(tmp_path / name) == product.contents
            db = new if name == "shop" else renamed(new, name)
            assert [letter.type for letter in ChangeWorker(db, changes).dead_letters()] == ["order"]
            with connect(f"local:{tmp_path / f'{name}-staging.db'}") as staging:
                if name == "shop":
                    copied = TableCopy(new, staging, shop).run
                    going_on(product, staging, monkeypatch, lambda c=copied: c(keep_personal=True))  # type: ignore[misc]
                    assert items_in(staging, "shop") == product.items
                    check_held_then_released(product, staging, monkeypatch, [])
            check_held_then_released(product, db, monkeypatch, ["gap replaced"])
    return product.kills


def test_nothing_fires_before_the_release_and_each_thing_once_after_it(
    made: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scenario(made, tmp_path, monkeypatch, [9]) >= 3


@pytest.mark.soak
def test_with_kills_at_many_requests(made: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scenario(made, tmp_path, monkeypatch, [1, 2, 3, 5, 7, 9, 12, 16, 20, 25]) >= 20
