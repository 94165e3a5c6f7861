"""Fills of tables of several pages: killed, gone on with by another declaration, and beside those who write more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singletable import Database, Unavailable
from singletable.migrations import Migrations
from singletable.migrations.fill import PAGE
from singletable.migrations.items import FillPart, ModelRecord
from singletable.operations import GetItem, PutItem, UpdateItem
from singletable.tables import Index
from tests.migrations.several_pages import COUNT, declared, first, in_town, put_stale
from tests.migrations.watching import Killed, before_each
from tests.support.engines import again, fresh
from tests.support.raw import all_items

DECLARATIONS: dict[str, Callable[[], Any]] = {
    "an index's texts": lambda: declared(in_town),
    "an index's attributes": lambda: declared(index=Index("a", "b")),
    "a version": lambda: declared(version=2),
    "a unique attribute": lambda: declared(unique=True),
}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        put_stale(made)
        yield made


def killed_after_a_page(db: Database, monkeypatch: pytest.MonkeyPatch, kind: Any, pages: int) -> None:
    left = pages

    def kill(operation: Any) -> None:
        nonlocal left
        left -= isinstance(operation, PutItem)  # how far a segment has come
        if left < 0:
            raise Killed

    with monkeypatch.context() as patched:
        before_each(db, patched, kill)
        with pytest.raises(Killed):
            Migrations(db, kind.__model__.table).fill(segments=1)


@pytest.mark.parametrize("change", DECLARATIONS)
@pytest.mark.parametrize("pages", [1, 2])
def test_every_item_is_filled_after_a_fill_of_another_declaration(
    db: Database, monkeypatch: pytest.MonkeyPatch, change: str, pages: int
) -> None:
    """The pages that the first one was over with need the second one's writes."""
    killed_after_a_page(db, monkeypatch, first, pages)
    second = DECLARATIONS[change]()
    table = second.__model__.table
    filled = Migrations(db, table).fill(segments=1)
    parts = list(db.scan(FillPart.of(table)))
    assert (filled.seen - COUNT in (0, 1), filled.contended, parts) == (True, 0, [])
    assert db.check(table) == []
    assert Migrations(db, table).fill().written == 0
    written = [item for item in db.run(all_items(db.port, "users")) if item["_type"]["S"] == "user"]
    names = table.definition.index_keys("gsi1")
    assert len(written) == COUNT
    assert all({*names} <= item.keys() for item in written)


def test_a_plan_says_what_all_pages_take(db: Database) -> None:
    table = first.__model__.table
    plan = Migrations(db, table).plan()
    takes = plan.steps[0].takes
    filled, _ = Migrations(db, table).apply(plan).done
    assert takes.items == COUNT
    assert (filled.requests, filled.read_units) == (takes.requests, takes.read_units)
    assert filled.write_units == pytest.approx(takes.write_units, rel=0.02)
    assert db.check(table) == []


def test_a_repair_mends_what_a_check_found_on_all_pages(db: Database) -> None:
    table = first.__model__.table
    found = db.check(table)
    assert {finding.key[0] for finding in found} == {f"user#{n:04}" for n in range(COUNT)}
    made = Migrations(db, table).repair(found)
    assert {each.outcome for each in made} <= {"mended", "gone"}
    assert db.check(table) == []


def test_it_goes_on_with_its_own(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_after_a_page(db, monkeypatch, first, 1)  # the items of the second are written
    with db.meter() as meter:
        filled = Migrations(db, first.__model__.table).fill(segments=1)
    assert (filled.seen - COUNT in (0, 1), meter.count_of("UpdateItem").requests) == (True, COUNT - 2 * PAGE)
    assert db.check(first.__model__.table) == []


# --- others write more ------------------------------------------------------------------------------------------------
@pytest.fixture
def other(db: Database) -> Iterator[Database]:
    with again(db) as made:
        yield made


def hurried(other: Database, *ids: int) -> Callable[[Any], None]:
    """Others write these items between each read and write of a fill."""
    count = 0

    def write(operation: Any) -> None:
        nonlocal count
        update = getattr(operation, "write", None)
        for n in ids:
            if isinstance(update, UpdateItem) and update.key["pk"] == {"S": f"user#{n:04}"}:
                count += 1
                key = {"pk": {"S": f"user#{n:04}"}, "sk": {"S": "user"}}
                found = other.run(other.port.send(GetItem("users", key, first.__model__, consistent=True)))
                item = {k: v for k, v in first.__model__.item(found).items() if not k.startswith("gsi1")}
                other.run(other.port.send(PutItem("users", {**item, "city": {"S": f"Rome {count}"}})))

    return write


def test_items_that_others_write_each_time_are_counted(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = first.__model__.table
    with monkeypatch.context() as patched:
        before_each(db, patched, hurried(other, 7, 105))
        filled = Migrations(db, table).fill()
        assert (filled.contended, filled.obsolete) == (2, ())
    assert {finding.key[0] for finding in db.check(table)} == {"user#0007", "user#0105"}
    assert (Migrations(db, table).fill().written, db.check(table)) == (2, [])


def test_an_apply_says_that_it_is_not_done(db: Database, other: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record would deny it: the next apply would not fill."""
    table = first.__model__.table
    with monkeypatch.context() as patched:
        before_each(db, patched, hurried(other, 7))
        with pytest.raises(Unavailable, match="1 items changed between each read and write"):
            Migrations(db, table).apply()
    assert db.get(ModelRecord.of(table).only()) is None
    assert [done.step.name for done in Migrations(db, table).apply().done] == ["fill users", "record users"]
    assert db.check(table) == []
