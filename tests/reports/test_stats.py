"""The shape of a table: every number is that of its items, counted apart."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from singletable import AsyncDatabase, Database, InvalidRequest, Table
from singletable.errors import NotConfigured
from singletable.flow import Rate
from singletable.reports import AsyncStats, Stats, TableShape
from singletable.reports.tally import Tally
from singletable.values import item_size
from tests.reports.models import Customer, Order, shop
from tests.support.raw import all_items
from tests.support.shells import KINDS, Disguised, Shell, opened


async def fill(db: Shell) -> None:
    await db.create_table(shop)
    for n in range(30):
        city = ("Bern", "Oslo", None)[n % 3]
        await db.create(Customer(email=f"c{n:02}@example.org", city=city, note="x" * 90 * n))
    for n in range(40):
        await db.create(Order(email="c07@example.org", number=n, note="y" * 300))


async def read(db: Shell, **options: Any) -> TableShape:
    blocking: Any = db
    if isinstance(blocking, Disguised):
        return Stats(blocking.db, shop).read(**options)
    return await AsyncStats(db, shop).read(**options)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_numbers_are_those_of_the_items(kind: str) -> None:
    async with opened(kind) as db:
        await fill(db)
        with db.meter() as meter:
            shape = await read(db)
        items = await all_items(db.port, shop.name)
        sizes = [item_size(item) for item in items]
        assert (shape.items, shape.bytes, shape.seen) == (70, sum(sizes), 70)
        assert {c.name: (c.items, c.type) for c in shape.classes} == {
            "Order": (40, "order"),
            "Customer": (30, "customer"),
        }
        assert sum(each.bytes for each in shape.classes) == sum(sizes)
        assert max(each.largest for each in shape.classes) == max(sizes)
        by_partition: Counter[str] = Counter()
        for item in items:
            by_partition[item["pk"]["S"]] += item_size(item)
        assert shape.partitions == len(by_partition)
        assert shape.collections[0].partition == "customer#c07@example.org"
        assert shape.collections[0].items == 41
        assert [c.bytes for c in shape.collections] == [size for _, size in by_partition.most_common(20)]
        assert [item.bytes for item in shape.large_items] == sorted(sizes, reverse=True)[:20]
        assert sum(bar.count for bar in shape.item_sizes) == 70
        assert sum(bar.count for bar in shape.collection_sizes) == len(by_partition)
        assert meter.by_operation["Scan"].read_units >= shape.read_units
        assert await db.check(shop) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_an_index_has_what_it_holds(kind: str) -> None:
    async with opened(kind) as db:
        await fill(db)
        (index,) = (await read(db)).indexes
        held = {"pk", "sk", "gsi1pk", "gsi1sk", "_type", "_v"}
        entries = [
            item_size({name: value for name, value in item.items() if name in held})
            for item in await all_items(db.port, shop.name)
            if "gsi1pk" in item
        ]
        assert (index.items, index.bytes, index.partitions, index.is_least) == (20, sum(entries), 2, False)
        assert {(each.partition, each.items) for each in index.largest} == {("city#Oslo", 10), ("city#Bern", 10)}


@pytest.mark.parametrize("kind", KINDS)
async def test_the_hottest_keys_are_those_that_change_most(kind: str) -> None:
    async with opened(kind) as db:
        await fill(db)
        for n in range(25):
            await db.put(Customer(email="c03@example.org", note=f"{n}"))
        shape = await read(db)
        assert shape.changes == 95
        first, second = shape.hot_keys[:2]
        assert (first.key[0], first.changes) == ("customer#c07@example.org", 41)
        assert (second.key[0], second.changes, second.type) == ("customer#c03@example.org", 26, "customer")
        assert first.share == 41 / 95
        bounded = await read(db, changes=0)
        assert (bounded.hot_keys, bounded.changes) == ((), 0)


async def test_a_sample_is_scaled_to_the_whole() -> None:
    async with opened("awaiting") as db:
        await db.create_table(shop)
        assert isinstance(db, AsyncDatabase)
        await db.write_many(puts=[Order(email=f"c{n}@example.org", number=n, note="x" * 100) for n in range(3000)])
        whole, part = await read(db), await read(db, sample=0.1, seed=3)
        assert whole.items == 3000
        assert 150 < part.seen < 600
        assert 0.5 < part.items / whole.items < 2
        assert 0.5 < part.bytes / whole.bytes < 2
        assert part == await read(db, sample=0.1, seed=3)


async def test_it_keeps_to_a_rate_and_tells_how_far_it_is() -> None:
    async with opened("awaiting") as db:
        await fill(db)
        seen: list[int] = []
        await read(db, rate=Rate(read_units=1_000_000), segments=2, progress=seen.append)
        assert seen[-1] == 70


def test_memory_is_bounded_and_forgotten_partitions_are_counted() -> None:
    """With room for 50, 1,000 collections that come one after the other are told as they are."""
    tally = Tally(Table("bounded", indexes=["gsi1"]), most=50)
    for n in range(1000):
        items = [
            {"pk": {"S": f"p{n}"}, "sk": {"S": f"{m}"}, "gsi1pk": {"S": f"{m}"}, "gsi1sk": {"S": "x"}}
            for m in range(1 + n % 7)
        ]
        tally.add(items)
    shape = tally.shape(None, 1.0)
    assert shape.partitions == 1000
    assert not shape.is_least
    assert {each.items for each in shape.collections} == {7}


async def test_what_it_cannot_read_is_refused(any_db: Database) -> None:
    stats = Stats(any_db, Table("missing"))
    with pytest.raises(NotConfigured, match="the table is missing"):
        stats.predict()
    with pytest.raises(InvalidRequest, match="part of the table"):
        stats.read(sample=1.5)
    with pytest.raises(InvalidRequest, match="1 to 16 segments"):
        stats.read(segments=17)
