"""DynamoDB's own exports as datasets: the rows are those of a scan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest

from singletable import Database, InvalidRequest
from singletable.errors import Corrupt
from singletable.exchange import AsyncExports, Exports, export as module, read_manifest, store_at
from tests.exchange.models import Customer, order, shop
from tests.exchange.table_export_layout import change, write_full, write_incremental
from tests.exchange.test_export import rows_in
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items, put_raw

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
GHOST: Mapping[str, Any] = {"pk": {"S": "x"}, "sk": {"S": "y"}, "_type": {"S": "ghost"}, "n": {"N": "1"}}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(60)])
        for n in range(5):
            made.create(Customer(email=f"c{n}@example.org", name=f"n{n}"))
        made.run(put_raw(made.port, Customer, GHOST))
        yield made


def rows_of(folder: Path) -> dict[str, list[Any]]:
    """The rows of each dataset, in an order of their own."""
    names = [dataset.name for dataset in read_manifest(store_at(folder)).datasets]
    return {name: sorted(_canonical(row) for row in rows_in(folder, name)) for name in names}


def _canonical(value: Any) -> str:
    """A value as text, with what a scan gives in no order, sets and maps, in one."""
    if isinstance(value, str) and value.startswith("{"):
        return _canonical(json.loads(value))
    if isinstance(value, dict):
        return repr(sorted((name, _canonical(each)) for name, each in cast("dict[str, Any]", value).items()))
    return repr(sorted(map(_canonical, cast("list[Any]", value))) if isinstance(value, (list, tuple)) else value)


@pytest.mark.parametrize("keys", [False, True])
def test_the_rows_are_those_of_a_scan(db: Database, tmp_path: Path, keys: bool) -> None:
    place = write_full(tmp_path / "s3", shop.name, db.run(all_items(db.port, shop.name)), at=NOON)
    scanned = Exports(db, shop).export(tmp_path / "scan", keys=keys)
    with db.meter() as meter:
        done = Exports(db, shop).export_from([str(place)], tmp_path / "read", keys=keys)
    assert (meter.requests, meter.read_units) == (0, 0)
    assert (done.items, done.unknown) == (scanned.items, 1)
    assert rows_of(tmp_path / "read") == rows_of(tmp_path / "scan")
    manifest = read_manifest(store_at(tmp_path / "read"))
    assert (manifest.complete_at, manifest.source) == (NOON, {"kind": "table export", "place": str(place)})


def test_a_full_export_and_what_changed_since(db: Database, tmp_path: Path) -> None:
    before: Sequence[Any] = db.run(all_items(db.port, shop.name))
    base = write_full(tmp_path, shop.name, before, at=NOON)
    db.delete(Customer.by_email("c1@example.org"))
    db.put(order(3))
    db.put(order(100))
    after: Sequence[Any] = db.run(all_items(db.port, shop.name))
    old, new = by_key(before), by_key(after)
    changed = [change(("pk", "sk"), old.get(p), new.get(p), NOON) for p in {*old, *new} if old.get(p) != new.get(p)]
    more = write_incremental(tmp_path, shop.name, changed, since=NOON, until=NOON + HOUR)
    done = Exports(db, shop).export_from([str(base), str(more)], tmp_path / "read")
    Exports(db, shop).export(tmp_path / "scan")
    assert rows_of(tmp_path / "read") == rows_of(tmp_path / "scan")
    assert done.manifest is not None
    assert done.manifest.complete_at == NOON + HOUR


def by_key(items: Sequence[Any]) -> dict[tuple[str, str], Any]:
    return {(item["pk"]["S"], item["sk"]["S"]): item for item in items}


def test_a_run_that_was_ended_goes_on(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the same sections, so that the files are the same ones."""
    monkeypatch.setattr(module, "SECTION_ITEMS", 20)
    monkeypatch.setattr(module, "PAGE", 10)
    place = write_full(tmp_path / "s3", shop.name, db.run(all_items(db.port, shop.name)), at=NOON)
    whole = Exports(db, shop).export_from([str(place)], tmp_path / "whole")

    def end(done: Any) -> None:
        if done.items == 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Exports(db, shop).export_from([str(place)], tmp_path / "read", progress=end)
    done = Exports(db, shop).export_from([str(place)], tmp_path / "read")
    assert (done.resumed, done.items, done.bytes) == (True, whole.items, whole.bytes)
    assert rows_of(tmp_path / "read") == rows_of(tmp_path / "whole")


def test_a_damaged_export_replaces_nothing(db: Database, tmp_path: Path) -> None:
    items = db.run(all_items(db.port, shop.name))
    place = write_full(tmp_path / "s3", shop.name, items, at=NOON)
    Exports(db, shop).export_from([str(place)], tmp_path / "read")
    before = (tmp_path / "read" / "manifest.json").read_bytes()
    other = write_full(tmp_path / "other", shop.name, items, at=NOON + HOUR)
    file = next(other.glob("data/*.gz"))
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(Corrupt, match="ends too early"):
        Exports(db, shop).export_from([str(other)], tmp_path / "read")
    assert (tmp_path / "read" / "manifest.json").read_bytes() == before


def test_an_export_of_another_table_is_refused(db: Database, tmp_path: Path) -> None:
    place = write_full(tmp_path, "else", [{"id": {"S": "1"}}], at=NOON)
    with pytest.raises(InvalidRequest, match="another table"):
        Exports(db, shop).export_from([str(place)], tmp_path / "read")
    with pytest.raises(InvalidRequest, match="of one table"):
        Exports(db).export_from([str(place)], tmp_path / "read")


async def test_the_awaiting_shell_reads_the_same(db: Database, tmp_path: Path) -> None:
    place = write_full(tmp_path / "s3", shop.name, db.run(all_items(db.port, shop.name)), at=NOON)
    Exports(db, shop).export_from([str(place)], tmp_path / "blocking")
    async with fresh_async() as other:
        done = await AsyncExports(other, shop).export_from([str(place)], tmp_path / "awaiting")
    assert done.items == 71
    assert rows_of(tmp_path / "awaiting") == rows_of(tmp_path / "blocking")
