"""The page of the model: what is declared, where the live table differs, and a page for each class."""

from __future__ import annotations

from typing import Any

import pytest

from goals.model import records
from manhunt.model import manhunt
from organisations.model import organisations
from projects.model import projects
from singletable import AsyncDatabase, Entity, Key, Table
from singletable.studio import studio
from singletable.studio.model import model_view
from tests.studio.hostile_model import hostile
from tests.studio.visitor import Visitor, client_of, shown, visiting
from tests.support.engines import fresh_async
from tests.support.models import Membership, User, app

REQUESTS, READ_UNITS = 3, 1.0
"""Of the page of a table: described twice, and the record of its model read."""


async def test_a_table_as_declared_says_so(visitor: Visitor) -> None:
    page = await visitor.json("/model/app.json")
    assert (page["live"]["differences"], page["live"]["is_missing"]) == ([], False)
    assert [step["kind"] for step in page["live"]["steps"]] == ["fill", "record"]
    assert (page["cost"]["requests"], page["cost"]["read_units"]) == (REQUESTS, READ_UNITS)
    assert "no difference" in shown(await visitor.page("/model/app"))


async def test_a_class_costs_nothing(visitor: Visitor) -> None:
    page = await visitor.json("/model/app/User.json")
    assert page["cost"]["requests"] == 0
    assert page["shown"]["keys"][0]["templates"] == ["user#{email}", "user"]


async def test_a_table_that_differs_says_where_and_what_would_be_done() -> None:
    before, now = Table("differing"), Table("differing", indexes=["gsi1"])
    for table in (before, now):
        _declare(table)
    async with fresh_async() as db:
        await db.create_table(before)
        async with visiting(db, now) as visitor:
            live = (await visitor.json("/model/differing.json"))["live"]
            text = shown(await visitor.page("/model/differing"))
        assert [each["what"] for each in live["differences"]] == ["index gsi1"]
        assert live["steps"][0]["kind"] == "add index"
        assert "make the index" in text


async def test_a_table_that_is_missing_would_be_made() -> None:
    table = Table("missing_so_far")
    _declare(table)
    async with fresh_async() as db, visiting(db, table) as visitor:
        live = (await visitor.json("/model/missing_so_far.json"))["live"]
        assert (live["is_missing"], live["steps"][0]["kind"]) == (True, "create table")
        assert await db.describe_table(table) is None


async def test_a_changed_key_has_no_plan_and_says_why() -> None:
    before, now = Table("rekeyed"), Table("rekeyed", key=("hash", "range"))
    for table in (before, now):
        _declare(table)
    async with fresh_async() as db:
        await db.create_table(before)
        async with visiting(db, now) as visitor:
            live = (await visitor.json("/model/rekeyed.json"))["live"]
        assert "a table keeps its key" in live["refused"]
        assert [each["what"] for each in live["differences"]] == ["key"]


@pytest.mark.parametrize("table", [records, manhunt, organisations, projects, hostile], ids=lambda table: table.name)
async def test_every_class_has_its_page(table: Table) -> None:
    (view,) = model_view([table]).tables
    async with fresh_async() as db:
        await db.create_table(table)
        async with visiting(db, table) as visitor:
            page = await visitor.page(f"/model/{table.name}")
            for each in view.classes:
                address = visitor.client.build_request("GET", f"/model/{table.name}/{each.name}").url
                if "/" not in each.name:
                    text = await visitor.page(str(address))
                    assert all(attribute.name in text for attribute in each.attributes)
            assert "<script>alert" not in page


async def test_a_class_that_is_not_there(visitor: Visitor) -> None:
    assert "has no class" in await visitor.page("/model/app/Nobody", 404)


async def test_who_may_not_read_a_class_does_not_see_that_it_exists(db: AsyncDatabase) -> None:
    def may(user: str, kind: type[Any], right: str) -> bool:
        return kind is Membership

    made = studio(db, app, authenticate=lambda request: "eve", authorise=may)
    async with client_of(made) as client:
        page = await client.get("/model/app.json")
        assert [each["name"] for each in page.json()["table"]["classes"]] == ["Membership"]
        assert "User" not in page.text
        assert page.json()["live"] is None
        assert "Declared and live" not in (await client.get("/model/app")).text
        assert (await client.get("/model/app/User")).status_code == 404
        assert (await client.get("/model/app/Membership")).status_code == 200
        assert (await client.get("/sql")).status_code == 403
    assert User.__name__ == "User"


def _declare(table: Table) -> type[Entity]:
    class Note(Entity, table=table, type="note"):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"note#{id}", "note"

    return Note
