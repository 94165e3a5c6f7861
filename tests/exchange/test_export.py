"""Exports: every item as a row of its class, value by value; what no class explains is in `_unknown`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from singletable import Database, Entity, Key, Table
from singletable.exchange import UNKNOWN, DirectoryStore, Exports, datasets_of, export, read_manifest
from singletable.flow import Rate
from singletable.foundation import is_same_item
from singletable.tables import B, N
from singletable_deploy import Deployment, Role, scans
from singletable_deploy.cloudformation import template
from tests.exchange.models import Customer, order, shop
from tests.support.attempts import attempts_of
from tests.support.engines import fresh
from tests.support.iam import is_allowed
from tests.support.raw import all_items, put_raw
from tests.support.roles import recording
from tests.support.templates import statements_of

COUNT = 60


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(COUNT)])
        for n in range(5):
            made.create(Customer(email=f"c{n}@example.org", name=f"n{n}"))
        yield made


def rows_in(directory: Path, dataset: str) -> list[dict[str, Any]]:
    found = read_manifest(DirectoryStore(directory)).dataset(dataset)
    return [row for file in found.files for row in pq.read_table(directory / file.path).to_pylist()]


def items_in(directory: Path) -> list[dict[str, Any]]:
    """The items that the rows of an export are."""
    by_name = {dataset.name: dataset for dataset in datasets_of(shop)}
    manifest = read_manifest(DirectoryStore(directory))
    return [
        by_name[d.name].item(row) for d in manifest.datasets if d.name != UNKNOWN for row in rows_in(directory, d.name)
    ]


def are_same(one: list[Any], other: list[Any]) -> bool:
    def place(item: Any) -> tuple[str, str]:
        return item["pk"]["S"], item["sk"]["S"]

    pairs = zip(sorted(one, key=place), sorted(other, key=place), strict=True)
    return all(is_same_item(a, b) for a, b in pairs)


def test_each_item_is_a_row_of_its_class(db: Database, tmp_path: Path) -> None:
    done = Exports(db, shop).export(tmp_path)
    assert (done.items, done.unknown) == (COUNT + 10, 0)
    manifest = read_manifest(DirectoryStore(tmp_path))
    assert {d.name: d.rows for d in manifest.datasets} == {"order": COUNT, "customer": 5, "unique_guard": 5}
    assert are_same(items_in(tmp_path), db.run(all_items(db.port, shop.name)))
    for row in rows_in(tmp_path, "order"):
        found = order(row["number"])
        assert (row["customer"], row["total"], row["placed_at"]) == (found.customer, found.total, found.placed_at)
        assert (row["state"], row["rank"], row["weight"]) == (found.state.value, found.rank.value, found.weight)
        assert (set(row["tags"]), row["picture"], row["day"]) == (found.tags, found.picture, found.day)
        assert row["_rest"] is None
    assert db.check(shop) == []


def test_what_no_class_explains_is_unknown(db: Database, tmp_path: Path) -> None:
    db.run(put_raw(db.port, Customer, {"pk": {"S": "x"}, "sk": {"S": "y"}, "_type": {"S": "ghost"}, "n": {"N": "1"}}))
    done = Exports(db, shop).export(tmp_path)
    assert done.unknown == 1
    (row,) = rows_in(tmp_path, UNKNOWN)
    assert (row["partition"], row["sort"], row["type"]) == ("x", "y", "ghost")
    assert row["reason"] == "no class has the type 'ghost'"


def test_it_takes_a_scan_and_nothing_else(db: Database, tmp_path: Path) -> None:
    with db.meter() as meter:
        Exports(db, shop).export(tmp_path / "one", segments=1)
    with db.meter() as consistent:
        Exports(db, shop).export(tmp_path / "two", segments=1, consistent=True)
    assert (meter.requests, meter.write_units, meter.read_units > 0) == (1, 0, True)
    assert (consistent.requests, consistent.read_units) == (1, 2 * meter.read_units)


def test_it_keeps_to_a_rate(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE_ITEMS", 10)
    rate = Rate(read_units=20)
    with db.meter() as meter:
        began = db.port.monotonic()
        Exports(db, shop).export(tmp_path, segments=1, rate=rate)
        seconds = db.port.monotonic() - began
    assert meter.requests == 8
    assert meter.read_units / seconds < 60


class Taken:
    """What a role was refused."""

    def __init__(self, statements: Any, table: Table = shop) -> None:
        self.statements, self.asked, self.refused = statements, list[str](), list[str]()
        self.tables = {table.name: table.definition}

    def take(self, prefix: str, operation: str, body: bytes, frame: FrameType | None) -> None:
        for attempt in attempts_of(prefix, operation, msgspec.json.decode(body), self.tables):
            self.asked.append(attempt.action)
            if not is_allowed(self.statements, attempt):
                self.refused.append(f"{attempt.action} on {attempt.resource}")


def test_a_role_that_may_scan_may_export(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    role = Role("exporter", [scans(shop)])
    made = template(Deployment("exports", [shop], [role], alarms=False))
    taken = Taken(statements_of(made, "Exporter"))
    with monkeypatch.context() as patched:
        recording(patched, taken)
        Exports(db, shop).export(tmp_path)
    assert (set(taken.asked), taken.refused) == ({"dynamodb:Scan"}, [])


def test_keys_of_numbers_and_bytes_are_exported(tmp_path: Path) -> None:
    table = Table("signals", key=("device", N("at")), indexes={"by_digest": ("day", B("digest"))}, foreign=True)

    class Signal(Entity, table=table, type="signal"):
        device: str
        at: int
        day: date
        digest: bytes

        @table.key
        @staticmethod
        def of(device: str, at: int) -> Key:
            return f"{device}", f"{at}"

        @table.index("by_digest")
        @staticmethod
        def by_digest(day: date, digest: bytes) -> Key:
            return f"{day}", f"{digest!r}"

    with fresh() as db:
        db.create_table(table)
        db.put(Signal(device="d", at=7, day=date(2026, 1, 31), digest=b"\xff"))
        done = Exports(db, table).export(tmp_path, format="jsonl", keys=True)
        assert done.manifest is not None
        (file,) = done.manifest.datasets[0].files
        (row,) = map(json.loads, (tmp_path / file.path).read_text().splitlines())
    assert (row["device"], row["at"], row["day"], row["digest"]) == ("d", 7, "2026-01-31", "/w==")
    assert [name for name in row if name.startswith("key_")] == []  # each is an attribute, and has its column
    assert "_rest" not in row
