"""Exports: every item as a row of its class, value by value; what no class explains is in `_unknown`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from singletable import Database, connect
from singletable.exchange import UNKNOWN, DirectoryStore, Exports, datasets_of, read_manifest
from singletable.foundation import is_same_item
from tests.exchange.models import Customer, order, shop
from tests.support.raw import all_items, put_raw

COUNT = 60


@pytest.fixture
def db() -> Iterator[Database]:
    with connect("local") as made:
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
