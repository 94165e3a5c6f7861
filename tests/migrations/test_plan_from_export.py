"""A plan counts the items of an export: for no read units, and never in place of what an apply counts itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import Database, Key, field
from singletable.exchange import ExportedItems, export_of
from singletable.migrations import Estimate, Migrations, PlanRefused
from tests.exchange.table_export_layout import write_full
from tests.migrations.changing import order
from tests.support.engines import fresh
from tests.support.raw import all_items

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
PLAIN: dict[str, Any] = {"number": int, "mail": str}


def by_mail(mail: str, number: int) -> Key:
    return f"mail#{mail}", f"{number}"


FILLED, _ = order(PLAIN, patterns={"gsi1": by_mail})
UNIQUE, _ = order({"number": int, "mail": (str, field(unique=True))})
BROKEN, _ = order({"number": int, "mail": int})


@pytest.fixture
def db() -> Iterator[Database]:
    table, kind = order(PLAIN)
    with fresh() as made:
        Migrations(made, table).apply()
        made.write_many(puts=[kind(number=n, mail=f"{n}@example.org") for n in range(30)])
        yield made


def exported(db: Database, table: Any, folder: Path) -> ExportedItems:
    return export_of(table, str(write_full(folder, table.name, db.run(all_items(db.port, table.name)), at=NOON)))


def test_its_steps_cost_what_they_cost_by_a_scan(db: Database, tmp_path: Path) -> None:
    live = Migrations(db, FILLED).plan()
    source, asked = exported(db, FILLED, tmp_path), list[Estimate]()
    with db.meter() as meter:
        plan = Migrations(db, FILLED).plan(from_export=source, begins=asked.append)
    assert "Scan" not in meter.by_operation
    assert meter.read_units <= 2  # the record
    assert (asked, plan.as_of, live.as_of) == ([], NOON, None)
    assert [(s.name, s.takes.items, s.takes.write_units) for s in plan.steps] == [
        (s.name, s.takes.items, s.takes.write_units) for s in live.steps
    ]
    fill = next(step for step in plan.steps if "fill" in step.name)
    assert fill.takes.read_units >= 1  # the fill reads the table, whatever the plan has read


def test_an_apply_of_it_counts_the_table(db: Database, tmp_path: Path) -> None:
    """What was written since the export can't be read by the new class: the plan is allowed, its apply is refused."""
    empty = export_of(BROKEN, str(write_full(tmp_path, BROKEN.name, [], at=NOON)))
    plan = Migrations(db, BROKEN).plan(from_export=empty)
    assert plan.as_of == NOON
    with pytest.raises(PlanRefused):
        Migrations(db, BROKEN).apply(plan)
    with pytest.raises(PlanRefused):
        Migrations(db, BROKEN).plan(from_export=exported(db, BROKEN, tmp_path / "now"))


def test_a_fill_is_never_needless_by_an_export(db: Database, tmp_path: Path) -> None:
    """An export without items proves nothing of those that were written since: they are filled."""
    empty = export_of(FILLED, str(write_full(tmp_path, FILLED.name, [], at=NOON)))
    plan = Migrations(db, FILLED).plan(from_export=empty)
    Migrations(db, FILLED).apply(plan)
    filled = [item for item in db.run(all_items(db.port, FILLED.name)) if "gsi1pk" in item]
    assert (len(filled), db.check(FILLED)) == (30, [])


def test_what_is_not_counted_is_named(db: Database, tmp_path: Path) -> None:
    plan = Migrations(db, UNIQUE).plan(from_export=exported(db, UNIQUE, tmp_path))
    assert "what items lack outside of themselves is not counted" in " ".join(plan.left)
    assert "is not counted" not in " ".join(Migrations(db, UNIQUE).plan().left)


def test_nothing_of_it_is_kept(db: Database, tmp_path: Path) -> None:
    """Neither taken from a file of counts, nor put there."""
    file = tmp_path / "kept"
    source = exported(db, FILLED, tmp_path / "s3")
    assert Migrations(db, FILLED).plan(from_export=source, keep=file).as_of == NOON
    assert not file.exists()
    live = Migrations(db, FILLED).plan(keep=file)
    assert replace(Migrations(db, FILLED).plan(keep=file), counted_at=None) == live
    assert Migrations(db, FILLED).plan(from_export=source, keep=file).counted_at is None
