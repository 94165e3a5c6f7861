"""The check of a sample on the home page: what each layer of a table has to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from projects.model import projects
from singletable import Database, Table
from singletable.documents import BlobStore
from singletable.operations import TableCall
from singletable.studio import health as health_module, samples
from tests.studio.views.conftest import Boards, boards
from tests.studio.views.work import open_shop
from tests.studio.visitor import Visitor, shown, visiting
from tests.support.engines import awaiting

__all__ = ["boards"]


async def checked(visitor: Visitor) -> dict[str, Any]:
    """What the home page says after a check."""
    (table,) = visitor.studio.site.tables
    await visitor.page("/")
    visitor.sent.clear()
    answer = await visitor.send(f"/check/{table.name}", {"form_token": await visitor.token()})
    assert answer.status_code == 303, shown(answer.text)
    assert not {name for name in visitor.sent if name.startswith(("Put", "Update", "Delete", "Transact"))}
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
        shop.broken = {"bad"}
        shop.db.create(shop.order(id="bad", name="Ada"))
        shop.drain()
        emptied = {
            "TableName": "shop",
            "Key": {"pk": {"S": "_task#b"}, "sk": {"S": "_task"}},
            "UpdateExpression": "SET #0 = :0",
            "ExpressionAttributeNames": {"#0": "arguments"},
            "ExpressionAttributeValues": {":0": {"M": {}}},
        }
        shop.db.run(shop.db.port.send(TableCall("UpdateItem", emptied)))
        async with awaiting(shop.db) as db, visiting(db, shop.table) as visitor:
            health = await checked(visitor)
            assert codes(health) == ["change.dead-letter", "task.arguments"]
            assert len(visitor.sent) <= 30  # tasks in 16 shards, one consumer
            for row in health["rows"]:
                assert "Ada" not in await visitor.page(row["address"])


async def test_what_a_consumer_lacks_keeps_nothing_else_from_being_checked() -> None:
    with open_shop() as shop:
        shop.db.create(shop.order(id="o1", name="Ada"))
        off = {"TableName": "shop", "StreamSpecification": {"StreamEnabled": False}}
        async with awaiting(shop.db) as db, visiting(db, shop.table) as visitor:
            await visitor.page("/")
            await db.port.send(TableCall("UpdateTable", off))
            health = await checked(visitor)
        assert (health["found"], len(health["left_out"])) == (0, 1)
        assert "the state of consumers: the table has no stream" in health["left_out"][0]


async def test_a_sample_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a table with more items than a sample has: here those are 20."""
    for module in (health_module, samples):
        monkeypatch.setattr(module, "MOST_SAMPLED", 20)
    with open_shop() as shop:
        shop.db.write_many(puts=[shop.order(id=f"o{n}", name="Ada") for n in range(60)])
        health = await health_of(shop.db, shop.table)
        assert health["part"] < 0.5
        assert health["found"] == 0
        assert any("task" in each for each in health["left_out"]), health["left_out"]


async def test_documents_are_checked_with_their_contents(boards: Boards, tmp_path: Path) -> None:
    assert (await health_of(boards.db, projects, boards.blobs))["found"] == 0
    for blob in (tmp_path / "blobs").rglob("*"):
        if blob.is_file():
            blob.write_bytes(b"damaged")
    health = await health_of(boards.db, projects, boards.blobs)
    assert "blob.wrong" in codes(health)
    assert {row["address"] for row in health["rows"] if row["code"] == "blob.wrong"} == {""}


async def test_the_page_says_what_was_not_checked(boards: Boards) -> None:
    async with awaiting(boards.db) as db, visiting(db, projects) as visitor:
        await checked(visitor)
        assert len(visitor.sent) <= 40  # two documents
        assert "the contents of Project: no blob store is configured here" in (await checked(visitor))["left_out"]
        assert "Not checked: the contents of Project" in shown(await visitor.page("/"))
