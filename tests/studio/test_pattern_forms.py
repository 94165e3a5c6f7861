"""A pattern as a form: ranges, mistakes, pages, what is personal, and calls to copy."""

from __future__ import annotations

import ast
import json
import shlex

import pytest

from singletable import ANY, AsyncDatabase, Entity, Key, Table, field
from singletable.records import Explained
from singletable.studio.calls import _aws, _boto3
from tests.studio.visitor import Visitor, shown, visiting
from tests.support.models import User

USER = "/patterns/app/User/by_phone"
people = Table("people")


class Person(Entity, table=people, type="person"):
    email: str = field(personal=True)
    name: str = field(default="", personal=True)
    town: str = ""

    @people.key
    @staticmethod
    def by_email(email: str) -> Key:
        return f"person#{email}", "person"


async def found(visitor: Visitor, path: str, **query: str) -> list[str]:
    page = (await visitor.client.get(f"{path}.json", params=query)).json()
    return [row["values"][page["results"][0]["columns"].index("email")] for row in page["results"][0]["rows"]]


@pytest.fixture
async def aged(db: AsyncDatabase) -> None:
    for name, age in (("ada", 10), ("bob", 20), ("eve", 30)):
        await db.put(User(email=f"{name}@example.org", phone="123", age=age))


@pytest.mark.parametrize(
    ("how", "value", "to", "names"),
    [
        ("exactly", "20", "", "bob"),
        ("before", "20", "", "ada"),
        ("after", "20", "", "eve"),
        ("at-least", "20", "", "bob eve"),
        ("at-most", "20", "", "ada bob"),
        ("between", "10", "20", "ada bob"),
    ],
)
async def test_ranges(aged: None, visitor: Visitor, how: str, value: str, to: str, names: str) -> None:
    query = {"phone": "123", "age": value, "age.how": how, "age.to": to}
    assert await found(visitor, USER, **query) == [f"{name}@example.org" for name in names.split()]


async def test_the_form_keeps_what_was_asked(visitor: Visitor) -> None:
    page = await visitor.json(f"{USER}.json?phone=123&age=10&age.how=between&age.to=20")
    phone, age = ({name: field[name] for name in ("how", "value", "to")} for field in page["fields"])
    assert phone == {"how": "exactly", "value": "123", "to": ""}
    assert age == {"how": "between", "value": "10", "to": "20"}


async def test_order_and_pages(aged: None, visitor: Visitor) -> None:
    first = await visitor.json(f"{USER}.json?phone=123&limit=2&order=newest")
    assert [row["values"][2] for row in first["results"][0]["rows"]] == [30, 20]
    path, _, query = first["next"].partition("?")
    second = await visitor.json(f"{path}.json?{query}")
    assert [row["values"][2] for row in second["results"][0]["rows"]] == [10]
    assert second["next"] == ""


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("phone=123&age=x", "a whole number"),
        ("age=3", "It is needed"),
        ("phone=123&age=1&age.how=between&age.to=y", "a whole number"),
    ],
)
async def test_what_is_wrong_stands_beside_its_field(visitor: Visitor, query: str, wanted: str) -> None:
    html = await visitor.page(f"{USER}?{query}&run=1")
    assert wanted in shown(html)
    assert 'aria-invalid="true"' in html
    assert visitor.sent == []


@pytest.mark.parametrize(
    "query", ["phone=1&age=1&age.how=sideways", "phone=1&limit=0", "phone=1&limit=501", "phone=1&limit=x"]
)
async def test_a_wrong_address_is_refused(visitor: Visitor, query: str) -> None:
    await visitor.page(f"{USER}?{query}", 400)
    assert visitor.sent == []


@pytest.mark.parametrize(
    "path", ["/patterns/app/User/nothing", "/patterns/app/Nobody/by_email", "/patterns/none/User/by_email"]
)
async def test_a_pattern_that_is_not_there(visitor: Visitor, path: str) -> None:
    await visitor.page(path, 404)
    assert visitor.sent == []


async def test_calls_to_copy(visitor: Visitor) -> None:
    page = await visitor.json(f"{USER}.json?phone=1%2023&age=5&age.how=at-least&limit=25")
    calls = {call["name"]: call["text"] for call in page["calls"]}
    assert "db.page(User.by_phone('1 23', age=at_least(5)), limit=25)" in calls["Python"]
    ast.parse(calls["Python"])
    *words, option, target = shlex.split(calls["singletable"])
    assert (option, target) == ("--db", visitor.studio.site.place.target)
    assert words == [
        "singletable",
        "query",
        "shop.model",
        "User.by_phone",
        "phone=1 23",
        "age=at-least:5",
        "--limit",
        "25",
    ]
    body = json.loads(shlex.split(calls["AWS CLI"])[-1])
    assert body["Limit"] == 25
    assert body == page["sent"][0]["body"]
    ast.parse(calls["boto3"])


@pytest.mark.parametrize(
    ("region", "cli", "client"), [("eu-west-1", " --region eu-west-1 ", ', region_name="eu-west-1"'), ("", " ", "")]
)
def test_a_call_names_the_region_where_there_is_one(region: str, cli: str, client: str) -> None:
    request = Explained("Query", "shop", None, {"TableName": "shop"}, "")
    assert f"aws dynamodb query{cli}--cli-input-json" in _aws(request, region)
    assert f'boto3.client("dynamodb"{client})'.replace('"', "'") in _boto3(request, region).replace('"', "'")


async def test_a_prediction_needs_a_sample(visitor: Visitor) -> None:
    assert (await visitor.json(f"{USER}.json"))["predicted"] is None
    await visitor.json("/.json")
    assert (await visitor.json(f"{USER}.json"))["predicted"] == 0.5


async def test_a_personal_value_is_in_no_address(db: AsyncDatabase) -> None:
    await db.create(Person(email="ada@example.org", name="Ada", town="London"))
    path = "/patterns/people/Person/by_email"
    async with visiting(db, people) as visitor:
        assert 'method="post"' in await visitor.page(path)
        answer = await visitor.send(path, {"form_token": await visitor.token(path), "email": "ada@example.org"})
        address = answer.headers["location"]
        assert "ada" not in address
        html = await visitor.page(address)
        assert "London" in html
        assert "ada@example.org" not in html
        twin = address.replace("?", ".json?")
        page = await visitor.json(twin)
        assert page["results"][0]["rows"][0]["values"] == ["‹personal›", "‹personal›", "London"]
        item = page["results"][0]["rows"][0]["address"]
        assert "ada" not in item
        assert "London" in await visitor.page(item)
        again = {"email": "", "sealed.email": page["fields"][0]["sealed"]}
        answer = await visitor.send(path, {"form_token": await visitor.token(path), **again})
        assert "London" in await visitor.page(answer.headers["location"])
        assert "ada@example.org" in await visitor.page(f"{address}&personal=shown")


async def test_a_sealed_value_of_another_pattern_is_refused(db: AsyncDatabase, visitor: Visitor) -> None:
    async with visiting(db, people) as other:
        path = "/patterns/people/Person/by_email"
        answer = await other.send(path, {"form_token": await other.token(path), "email": "ada@example.org"})
        sealed = answer.headers["location"].partition("sealed.email=")[2].partition("&")[0]
        await visitor.page(f"{USER}?sealed.phone={sealed}", 400)


registry = Table("registry")


class Visit(Entity, table=registry, type="visit"):
    name: str = field(personal=True)
    number: int

    @registry.key
    @staticmethod
    def of_name(name: str, number: int = ANY) -> Key:
        """The visits of a person."""
        return f"person#{name}", f"visit#{number}"


@pytest.mark.parametrize(("how", "numbers"), [("", [2]), ("at-least", [2, 3, 4]), ("between", [2, 3])])
async def test_a_form_that_is_sent_keeps_its_range(db: AsyncDatabase, how: str, numbers: list[int]) -> None:
    for number in range(5):
        await db.put(Visit(name="Ada", number=number))
    path, form = "/patterns/registry/Visit/of_name", {"name": "Ada", "number": "2", "number.to": "3"}
    async with visiting(db, registry) as visitor:
        form |= {"form_token": await visitor.token(path)} | ({"number.how": how} if how else {})
        address = (await visitor.send(path, form)).headers["location"]
        page = await visitor.json(address.replace("?", ".json?"))
        assert [row["values"][1] for row in page["results"][0]["rows"]] == numbers
