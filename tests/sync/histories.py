"""Histories of one table: it is kept as it is, put back, and goes on; a fork is put back in turns."""

from __future__ import annotations

from typing import Any

from singletable import AsyncDatabase
from singletable.operations import batch_write
from tests.support.raw import all_items

Items = list[dict[str, Any]]
_AT_ONCE = 25


def _key(item: dict[str, Any]) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


async def kept(db: AsyncDatabase, table: str) -> Items:
    """The items of a table, as a backup has them."""
    return await all_items(db.port, table)


async def put_back(db: AsyncDatabase, table: str, items: Items) -> None:
    """Make a table hold these items and no others. Nobody else works on it meanwhile."""
    wanted = {_key(item) for item in items}
    gone = [item for item in await all_items(db.port, table) if _key(item) not in wanted]
    deletes = [{"pk": item["pk"], "sk": item["sk"]} for item in gone]
    for first in range(0, len(deletes), _AT_ONCE):
        await db.port.send(batch_write(table, deletes=deletes[first : first + _AT_ONCE]))
    for first in range(0, len(items), _AT_ONCE):
        await db.port.send(batch_write(table, puts=items[first : first + _AT_ONCE]))
