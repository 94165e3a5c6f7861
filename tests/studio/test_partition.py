"""Partition: an item collection in key order, its keys part by part, its pages, and the same items in an index."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from singletable import AsyncDatabase, Entity, Key, Table, field
from tests.studio.test_pattern_forms import Person, people
from tests.studio.visitor import Visitor, shown, visiting
from tests.support.engines import fresh_async
from tests.support.models import EPOCH, Note

ADA = "/partition/app?pk=user%23ada%40example.org"
town = Table("town", indexes=["by_street"])


class House(Entity, table=town, type="house"):
    street: str
    number: int
    owner: str = field(default="", personal=True)

    @town.key
    @staticmethod
    def of_street(street: str, number: int) -> Key:
        return f"street#{street}", f"house#{number}"

    @town.index("by_street")
    @staticmethod
    def of_owner(owner: str, street: str) -> Key:
        return f"owner#{owner}", f"{street}"


def twin(path: str) -> str:
    return path.replace("?", ".json?", 1)


async def test_the_items_of_a_partition_in_key_order(db: AsyncDatabase, visitor: Visitor) -> None:
    await db.create(Note(email="ada@example.org", written_at=EPOCH, text="Hello"))
    page = await visitor.json(twin(ADA))
    (group,) = page["groups"]
    assert [item["kind"] for item in group["items"]] == ["Membership", "Note", "User"]
    assert len({item["colour"] for item in group["items"]}) == 3
    assert [(part["name"], part["text"]) for part in page["parts"]] == [("", "user#"), ("email", "ada@example.org")]
    cells = {cell["name"]: cell for cell in group["items"][0]["cells"]}
    assert [(p["name"], p["text"]) for p in cells["sk"]["parts"]] == [("", "member#"), ("org_id", "o1")]
    assert cells["gsi1pk"]["address"] == "/partition/app?index=gsi1&pk=org%23o1"
    assert (page["cost"]["requests"], page["cost"]["read_units"]) == (1, 0.5)


async def test_each_key_leads_on(visitor: Visitor) -> None:
    index = await visitor.json(twin("/partition/app?index=gsi1&pk=org%23o1"))
    assert index["count"] == 3
    first = index["groups"][0]["items"][0]
    keys = {cell["name"]: cell["address"] for cell in first["cells"]}
    assert keys["pk"] == ADA
    assert keys["gsi1pk"] == ""  # this page
    assert await visitor.json(twin(first["address"]))


async def test_the_same_items_as_they_lie_in_an_index(visitor: Visitor) -> None:
    page = await visitor.json(twin(f"{ADA}&by=gsi1"))
    keys = ["".join(part["text"] for part in group["parts"]) for group in page["groups"]]
    assert keys == ["org#o1", "phone#123"]
    assert page["cost"]["requests"] == 1


async def test_pages_of_fifty(db: AsyncDatabase, visitor: Visitor) -> None:
    notes = [Note(email="ada@example.org", written_at=EPOCH + timedelta(days=n)) for n in range(60)]
    await db.write_many(puts=notes)
    first = await visitor.json(twin(ADA))
    second = await visitor.json(twin(first["next"]))
    assert (first["count"], second["count"], second["next"]) == (50, 12, "")
    assert [(each["kind"], each["count"]) for each in first["classes"]] == [("Membership", 1), ("Note", 49)]
    await visitor.page(f"{ADA}&after=x", 400)
    other = first["next"].replace("ada%40", "bob%40")
    await visitor.page(other, 400)


async def test_a_partition_with_nothing_in_it(visitor: Visitor) -> None:
    assert "No item lies under this key" in shown(await visitor.page("/partition/app?pk=nothing"))


@pytest.mark.parametrize("query", ["index=none&pk=x", "pk=x&by=none"])
async def test_an_index_that_is_not_there(visitor: Visitor, query: str) -> None:
    await visitor.page(f"/partition/app?{query}", 400)


async def test_partitions_to_begin_with(visitor: Visitor) -> None:
    html = await visitor.page("/partition/app")
    assert 'name="pk"' in html
    assert visitor.sent == ["Scan"]
    page = await visitor.json("/partition/app.json")
    found = {"".join(part["text"] for part in each["parts"]): each for each in page["some"]}
    assert found.keys() == {f"user#{name}@example.org" for name in ("ada", "bob", "eve")}
    ada = found["user#ada@example.org"]
    assert sorted((each["kind"], each["count"]) for each in ada["classes"]) == [("Membership", 1), ("User", 1)]
    assert (await visitor.json(ada["address"].replace("?", ".json?")))["count"] == 2
    forms = {(each["index"], each["template"]): [c["kind"] for c in each["classes"]] for each in page["declared"]}
    assert "User" in forms["", "user#{email}"]
    for each in page["declared"]:
        for kind in each["classes"]:
            await visitor.page(kind["address"])


async def test_partitions_of_a_table_without_items(db: AsyncDatabase) -> None:
    await db.create_table(town)
    async with visiting(db, town) as visitor:
        assert (await visitor.json("/partition/town.json"))["some"] == []
        assert "The table has no item here" in shown(await visitor.page("/partition/town"))


async def test_partitions_to_begin_with_cover_what_is_personal(db: AsyncDatabase) -> None:
    await db.create(Person(email="ada@example.org"))
    async with visiting(db, people) as visitor:
        assert "ada@" not in await visitor.page("/partition/people")
        (found,) = (await visitor.json("/partition/people.json"))["some"]
        assert (await visitor.json(found["address"].replace("?", ".json?")))["count"] == 1
        assert "ada@" in await visitor.page("/partition/people?personal=shown")


async def test_personal_parts_of_keys_are_covered(db: AsyncDatabase) -> None:
    await db.create(House(street="High Street", number=7, owner="Ada Lovelace"))
    async with visiting(db, town) as visitor:
        path = f"/partition/town?pk={quote('street#High Street', safe='')}"
        html = await visitor.page(path)
        assert "Lovelace" not in html
        page = await visitor.json(twin(path))
        cell = next(cell for cell in page["groups"][0]["items"][0]["cells"] if cell["name"] == "by_streetpk")
        assert [part["text"] for part in cell["parts"]] == ["owner#", "‹personal›"]
        assert "Lovelace" not in await visitor.page(cell["address"])
        asked = await visitor.page(f"{path}&personal=shown")
        assert "Ada Lovelace" in asked
        assert "owner%23Ada+Lovelace" in asked
        await visitor.page(cell["address"].replace("k=", "k=x"), 400)


async def test_a_table_that_is_not_there_yet_has_no_partitions() -> None:
    async with fresh_async() as db, visiting(db, town) as visitor:
        assert (await visitor.json("/partition/town.json"))["some"] == []
