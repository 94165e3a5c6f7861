"""The check of a sample on the home page: what each layer of a table has to say."""

from __future__ import annotations

from typing import Any

from examples.projects.model import projects
from singletable import Database, Table
from singletable.documents import BlobStore
from singletable.operations import TableCall
from tests.studio.views.conftest import Boards, boards
from tests.studio.views.work import open_shop
from tests.studio.visitor import Visitor, shown, visiting
from tests.support.engines import awaiting

__all__ = ["boards"]


async def checked(visitor: Visitor) -> dict[str, Any]:
    """What the home page says after a check."""
    (table,) = visitor.studio.site.tables
    answer = await visitor.send(f"/check/{table.name}", {"form_token": await visitor.token()})
    assert answer.status_code == 303, shown(answer.text)
    health: dict[str, Any] = (await visitor.json("/.json"))["tables"][0]["health"]
    return health


async def health_of(db: Database, table: Table, blobs: BlobStore | None = None) -> dict[str, Any]:
    async with awaiting(db) as opened, visiting(opened, table, blobs=blobs) as visitor:
        return await checked(visitor)


def codes(health: dict[str, Any]) -> list[str]:
    return sorted(row["code"] for row in health["rows"])


async def test_tasks_and_consumers_are_checked() -> None:
    with open_shop() as shop:
        shop.schedule("b", 10)
        assert codes(await health_of(shop.db, shop.table)) == []
        (task,) = [item for item in items(shop.db, "shop") if item["_type"]["S"].startswith("_task")]
        shop.broken = {"bad"}
        shop.db.create(shop.order(id="bad", name="Ada"))
        shop.drain()
        shop.db.port.run(put(shop.db, "shop", {**task, "shard": {"N": "63"}}))
        async with awaiting(shop.db) as db, visiting(db, shop.table) as visitor:
            health = await checked(visitor)
            assert codes(health) == ["change.dead-letter", "task.shard"]
            for row in health["rows"]:
                page = await visitor.page(row["address"])
                assert "Ada" not in page


async def test_documents_are_checked_with_their_contents(boards: Boards) -> None:
    assert (await health_of(boards.db, projects, boards.blobs))["found"] == 0
