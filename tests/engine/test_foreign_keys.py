"""Keys as other programs write them: their items are read, written in place, and keep their bytes."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from singletable import ANY, AlreadyExists, Entity, Index, InvalidRequest, Key, Table, after, attr, between
from tests.support.raw import all_items, put_raw
from tests.support.shells import Shell

INDEXES = {"GSI1": Index("GSI1PK", "GSI1SK")}
shop = Table("foreign-keys", key=("PK", "SK"), indexes=INDEXES, foreign=True)


class Order(Entity, table=shop, type="order", ambiguous=True):
    user: str
    number: int
    status: str
    created: datetime

    @shop.key
    @staticmethod
    def of(user: str, number: int = ANY) -> Key:
        return f"$shop#user_{user:lower}", f"$order_1#number_{number:raw}"

    @shop.index("GSI1")
    @staticmethod
    def by_status(status: str, created: datetime = ANY) -> Key:
        return f"STATUS::{status:upper}", f"{created:ms}"


class Reading(Entity, table=shop, type="reading"):
    tenant: int
    day: datetime
    id: str

    @shop.key
    @staticmethod
    def of(tenant: int, day: datetime, id: str = ANY) -> Key:
        return f"tenant-{tenant:raw}/{day:%Y%m}", f"{day:%Y-%m-%dT%H:%M:%S.%f}_{id:ulid}"


NOON = datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc)
ULID = "01KG9ZQ4M0ABCDEFGHJKMNPQRS"


def order_item(number: int, **more: Any) -> dict[str, Any]:
    texts = {
        "PK": "$shop#user_ada",
        "SK": f"$order_1#number_{number}",
        "user": "Ada",
        "status": "open",
        "created": f"2026-01-31T12:30:00.{number:03}000Z",
        "GSI1PK": "STATUS::OPEN",
        "GSI1SK": f"17698626{number:05}",
        "note": "keep",
    }
    return {**{name: {"S": text} for name, text in texts.items()}, "number": {"N": str(number)}, **more}


READING = {
    **{name: {"S": text} for name, text in {"PK": "tenant-7/202601", "id": ULID}.items()},
    "SK": {"S": f"2026-01-31T12:30:00.000000_{ULID}"},
    "tenant": {"N": "7"},
    "day": {"S": "2026-01-31T12:30:00.000000Z"},
}


def by_key(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: item["SK"]["S"])


async def place(shell: Shell) -> list[dict[str, Any]]:
    items = [*(order_item(number) for number in (5, 42, 100)), READING]
    for item in items:
        await put_raw(shell.port, Order, item)
    return by_key(items)


async def test_every_item_is_read_and_put_back_with_its_bytes(shell: Shell) -> None:
    items = await place(shell)
    orders = await shell.all(Order.of("ADA"))
    assert [order.number for order in orders] == [100, 42, 5]
    readings = await shell.all(Reading.of(7, between(NOON, NOON)))
    assert readings == [Reading(tenant=7, day=NOON, id=ULID)]
    for entity in (*orders, *readings):
        await shell.put(entity)
    assert by_key(await all_items(shell.port, shop.name)) == items
    assert await shell.check(shop) == []


async def test_an_update_writes_in_place_and_moves_the_index_key(shell: Shell) -> None:
    await place(shell)
    found = await shell.get(Order.of("ada", 42))
    assert found is not None
    with shell.meter() as meter:
        await shell.update(found, attr(Order.status).set("paid"))
        paid = await shell.all(Order.by_status("PAID", after(NOON)))
    assert meter.requests == 2
    assert [(order.number, order.status) for order in paid] == [(42, "paid")]
    (item,) = [item for item in await all_items(shell.port, shop.name) if item["SK"]["S"].endswith("_42")]
    assert item == order_item(42, status={"S": "paid"}, GSI1PK={"S": "STATUS::PAID"})
    with pytest.raises(AlreadyExists, match="an item of other values"):
        await shell.put(Order(user="ADA", number=42, status="new", created=NOON))


def test_a_range_over_two_periods_of_a_partition_is_refused() -> None:
    month = NOON.replace(day=1)
    assert Reading.of(7, between(month, NOON)).partition == "tenant-7/202601"
    for wanted in (after(NOON), between(NOON, NOON.replace(month=3)), ANY):
        with pytest.raises(
            InvalidRequest,
            match="day is part of the partition key and must be one value, or a range within one of its periods",
        ):
            Reading.of(7, wanted)


async def test_a_deleted_item_is_the_other_programs(shell: Shell) -> None:
    await place(shell)
    gone = await shell.delete(Order.of("Ada", 5))
    assert gone is not None
    assert gone.number == 5
    assert len(await all_items(shell.port, shop.name)) == 3
