"""A partition of very many items beside one of 100: a page of either takes the same."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from benchmarks.exports.data import data_file
from benchmarks.libraries.ours import Order, table as orders
from benchmarks.studio.asked import Asked, Case, Result, ask, studio_of
from singletable import AsyncDatabase, connect_async
from singletable.studio import Studio

FEW = 100
MOST_TIMES = 1.5
"""How many times the CPU time of a page of few items one of many may take: it is the same work."""
CUSTOMER = "customer-0000"
_PARTITION = f"customer#{CUSTOMER}"


@asynccontextmanager
async def partition_of(items: int) -> AsyncGenerator[Asked]:
    """One customer's orders: all items of a data file, which is made once."""
    async with connect_async(f"local:{data_file(items, a_customer=items)}") as db:
        app = studio_of(db, orders)
        yield Asked(app, db, await _cases(app, items))


async def _cases(app: Studio, items: int) -> list[Case]:
    async def read(db: AsyncDatabase) -> Any:
        return await db.page(Order.of_customer(CUSTOMER), limit=50)

    path, key = f"/partition/{orders.name}", f"pk={quote(_PARTITION)}"
    pattern, asked = f"/patterns/{orders.name}/Order/of_customer", f"customer={CUSTOMER}&limit=25"
    first = json.loads(await ask(app, f"{path}.json", key))
    middle = f"{asked}&number={items // 2}&number.how=at-least"
    return [
        Case("partition", path, key, items, read),
        Case("its next page", path, first["next"].partition("?")[2], items),
        Case("pattern", pattern, asked, items),
        Case("pattern, from the middle", pattern, middle, items),
        Case("item in the middle", f"/item/{orders.name}", f"{key}&sk={quote(f'order#{items // 2:06}')}", items),
    ]


def differences(few: Sequence[Result], many: Sequence[Result]) -> Iterator[str]:
    """What a page of the large partition takes that one of the small partition does not."""
    for one, other in zip(few, many, strict=True):
        if (one.requests, one.read_units) != (other.requests, other.read_units):
            costs = [f"{each.requests} requests and {each.read_units:g} units" for each in (one, other)]
            yield f"{one.page}: {costs[0]} of {one.items:,} items, {costs[1]} of {other.items:,}"
        if other.milliseconds > MOST_TIMES * one.milliseconds:
            yield f"{one.page}: {one.milliseconds} ms of {one.items:,}, {other.milliseconds} ms of {other.items:,}"
