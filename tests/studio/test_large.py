"""Items and partitions as large as DynamoDB takes them: a page of them is bounded, in HTML, requests and units."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from singletable import AsyncDatabase
from singletable.operations import TableCall
from tests.studio.visitor import Visitor, shown, visiting
from tests.support.models import EPOCH, Note, User, app

MOST_HTML = {
    "item of 400 KB": 3_000_000,
    "item of 10,000 attributes": 1_500_000,
    "edit": 6_000_000,
    "partition": 300_000,
}
"""Bytes, as docs/how-to/studio.md says them."""
MANY, FEW = 5_000, 60
LARGE = "pk=user%23big%40example.org&sk=user"


async def put_raw(db: AsyncDatabase, item: dict[str, Any]) -> None:
    await db.port.send(TableCall("PutItem", {"TableName": "app", "Item": item}))


def user_item(email: str, name: str = "Ada") -> dict[str, Any]:
    texts = {"pk": f"user#{email}", "sk": "user", "_type": "user", "email": email, "name": name}
    return {key: {"S": text} for key, text in texts.items()} | {"_v": {"N": "1"}}


@pytest.fixture
async def writer(db: AsyncDatabase) -> AsyncIterator[Visitor]:
    await db.create_table(app)
    async with visiting(db, app, write=True) as visitor:
        yield visitor


# --- items ------------------------------------------------------------------------------------------------------------
async def test_an_item_of_ten_thousand_attributes(db: AsyncDatabase, writer: Visitor) -> None:
    more = {f"attribute_{n:05}": {"S": f"<value {n}>"} for n in range(10_000)}
    await put_raw(db, user_item("big@example.org") | more)
    html = await writer.page(f"/item/app?{LARGE}")
    assert len(html) < MOST_HTML["item of 10,000 attributes"]
    assert "9,502 more" in shown(html)  # after 500
    assert "attribute_09999" in html  # as it is stored
    assert "it has 10,006 attributes, and the condition of a write compares up to 150" in shown(html)
    listed = await writer.page("/partition/app?pk=user%23big%40example.org")
    assert len(listed) < MOST_HTML["partition"]
    assert "more" in shown(listed)
    await writer.page(f"/item/app/edit?{LARGE}", 400)


@pytest.mark.parametrize("text", ["n", "<", "\N{SNOWMAN}", "\x01", '"', "\u202e"])
async def test_an_item_of_400_kb(db: AsyncDatabase, writer: Visitor, text: str) -> None:
    await db.put(User(email="big@example.org", name=text * (400_000 // len(text.encode()))))
    assert len((await writer.page(f"/item/app?{LARGE}")).encode()) < MOST_HTML["item of 400 KB"]
    assert len((await writer.page(f"/item/app/edit?{LARGE}")).encode()) < MOST_HTML["edit"]
    listed = await writer.page("/partition/app?pk=user%23big%40example.org")
    assert len(listed) < MOST_HTML["partition"]


async def test_an_item_of_400_kb_is_edited(db: AsyncDatabase, writer: Visitor) -> None:
    """Of the character whose form is longest."""
    user = User(email="big@example.org", name="\x01" * 400_000)
    await db.put(user)
    path = f"/item/app/edit?{LARGE}"
    page = await writer.json(path.replace("?", ".json?"))
    form = {f"value.{each['name']}": each["text"] for each in page["fields"] if not each["is_none"]}
    form |= {"value.age": "7", "confirmed": "1"}
    form |= {"seen": page["seen"], "seen_values": page["seen_values"], "form_token": await writer.token(path)}
    answer = await writer.send(path, form)
    assert answer.status_code == 303, shown(answer.text)[:1000]
    found = await db.get(User.by_email("big@example.org").consistent())
    assert found is not None
    assert (found.age, found.name) == (7, user.name)


# --- partitions -------------------------------------------------------------------------------------------------------
async def test_a_partition_of_very_many_items_costs_what_a_page_does(db: AsyncDatabase) -> None:
    for email, count in (("few@example.org", FEW), ("many@example.org", MANY)):
        await db.write_many(puts=[Note(email=email, written_at=EPOCH + timedelta(minutes=n)) for n in range(count)])
    async with visiting(db, app) as visitor:
        costs: dict[str, list[tuple[int, float]]] = {}
        for name in ("few", "many"):
            pk = f"user%23{name}%40example.org"
            for path in (f"/partition/app.json?pk={pk}", f"/patterns/app/Note/of_user.json?email={name}%40example.org"):
                visitor.sent.clear()
                cost = (await visitor.json(path))["cost"]
                assert visitor.sent == ["Query"]
                costs.setdefault(name, []).append((cost["requests"], cost["read_units"]))
            html = await visitor.page(f"/partition/app?pk={pk}")
            assert len(html) < MOST_HTML["partition"]
        assert costs["many"] == costs["few"]
        assert costs["many"][0] == (1, 1.0)
        first = await visitor.json("/partition/app.json?pk=user%23many%40example.org")
        second = await visitor.json(first["next"].replace("?", ".json?"))
        assert (second["count"], second["cost"]["requests"], second["cost"]["read_units"]) == (50, 1, 1.0)
        home = (await visitor.json("/.json"))["cost"]
        assert (home["requests"], home["read_units"] <= 128) == (3, True)
