"""Home: what a table holds, by a sample that is kept."""

from __future__ import annotations

import re

import pytest

from singletable.flow import Meter
from singletable.flow.meter import count_throttle
from singletable.operations import TableCall
from singletable.studio.view import PageCost
from tests.studio.visitor import Visitor, shown


async def test_it_counts_what_a_table_holds(visitor: Visitor) -> None:
    home = await visitor.json("/.json")
    (card,) = home["tables"]
    rows = {row["name"]: row for row in card["rows"]}
    assert (card["items"], card["sample"]["share"]) == (6, 1.0)
    assert {name: row["items"] for name, row in rows.items() if row["items"]} == {"User": 3, "Membership": 3}
    assert [cell and cell["partition"] for cell in rows["User"]["cells"]] == ["user#{email}", "phone#{phone}", None]


async def test_it_costs_nothing_the_second_time(visitor: Visitor) -> None:
    first = (await visitor.json("/.json"))["cost"]
    again = (await visitor.json("/.json"))["cost"]
    assert (first["requests"], again["requests"]) == (3, 0)
    assert 0 < first["read_units"] <= 1


async def test_counting_again_is_asked_for(visitor: Visitor) -> None:
    token = await visitor.token()
    answer = await visitor.send("/sample/app", {"form_token": token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/#app")
    assert visitor.sent.count("Scan") == 2


async def test_the_page_says_what_its_twin_does(visitor: Visitor) -> None:
    text = shown(await visitor.page("/"))
    for said in ("User", "user#{email}", "6 items", "read-only", "3 requests"):
        assert said in text


async def test_health_is_checked_on_request(visitor: Visitor) -> None:
    assert (await visitor.json("/.json"))["tables"][0]["health"] is None
    await visitor.send("/check/app", {"form_token": await visitor.token()})
    health = (await visitor.json("/.json"))["tables"][0]["health"]
    assert (health["part"], health["found"]) == (1.0, 0)
    values = {"pk": {"S": "user#x"}, "sk": {"S": "user"}, "_type": {"S": "user"}, "_v": {"N": "1"}, "email": {"S": "y"}}
    db = visitor.studio.site.db
    await db.port.send(TableCall("PutItem", {"TableName": "app", "Item": values}))
    await visitor.send("/check/app", {"form_token": await visitor.token()})
    (card,) = (await visitor.json("/.json"))["tables"]
    assert [row["code"] for row in card["health"]["rows"]] == ["key.wrong"]
    assert "key.wrong" in shown(await visitor.page("/"))
    item = card["health"]["rows"][0]["address"].replace("?", ".json?")
    assert (await visitor.json(item))["findings"][0].startswith("key.wrong")


async def test_throttles_are_counted_and_shown(visitor: Visitor) -> None:
    with Meter() as meter:
        count_throttle((meter,), "Query")
    visitor.studio.site.totals.add(PageCost.of(meter, 0.0))
    assert (await visitor.json("/.json"))["total"]["throttles"] == 1
    assert "1 throttled" in shown(await visitor.page("/"))


@pytest.mark.parametrize("path", ["/nowhere", "/nowhere.json"])
async def test_a_page_that_is_not_there(visitor: Visitor, path: str) -> None:
    assert "no such page" in await visitor.page(path, 404)


async def test_a_table_that_is_not_there_is_named(visitor: Visitor) -> None:
    page = shown(await visitor.page("/item/nowhere?pk=a&sk=b", 404))
    assert "this studio shows no such table" in page
    assert "nowhere" in page


async def test_the_navigation_marks_the_section_of_the_page(visitor: Visitor) -> None:
    def marked(html: str) -> list[str]:
        return re.findall(r'aria-current="page">([^<]+)</a>', html)

    assert marked(await visitor.page("/")) == ["Home"]
    assert marked(await visitor.page("/patterns")) == ["Patterns"]
    assert marked(await visitor.page("/patterns/app/User/by_email")) == ["Patterns"]
    assert marked(await visitor.page("/model/app")) == ["Model"]
    assert marked(await visitor.page("/no/such/page", 404)) == []
