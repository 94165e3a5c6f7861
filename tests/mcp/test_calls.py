"""What the tools of `singletable mcp` promise: one rule for arguments, the budget, one page, what is bound."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from singletable import ANY, AsyncDatabase, Collection, Entity, Index, Key, Table, collect, field
from singletable.foundation import COVERED
from singletable.release import AsyncHold
from tests.mcp.serving import serving
from tests.support.alike import is_alike
from tests.support.engines import fresh_async

mcp_types = pytest.importorskip("mcp_types")

shop = Table("shop", indexes=["gsi1"])
offices = Table("offices")


class Order(Entity, table=shop, type="order"):
    customer: str
    number: int
    note: str = ""
    total: Decimal = Decimal(0)
    paid: bool = False
    pieces: int = 1
    reviewer: str | None = "nobody"
    phone: str = field(default="", personal=True)

    @shop.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        return f"orders#{customer}", f"{number}"


class Visit(Entity, table=shop, type="visit"):
    customer: str
    number: int

    @shop.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        return f"orders#{customer}", f"visit#{number}"


class Account(Collection):
    orders: list[Order]

    of_customer = collect(Order.of_customer)


class Colour(Enum):
    RED = "r"
    BLUE = "b"


class Room(Entity, table=offices, type="room"):
    tenant: str
    name: str
    seats: int = 0
    version: int = field(version=True, default=0)

    @offices.key
    @staticmethod
    def of_tenant(tenant: str, name: str = ANY) -> Key:
        return f"tenant#{tenant}", f"room#{name}"


class Country(Entity, table=offices, type="country"):
    code: str
    tenant: str = ""

    @offices.key
    @staticmethod
    def by_code(code: str) -> Key:
        return f"country#{code}", "country"


@dataclass
class Reading:
    at: datetime
    exact: Decimal
    more: Any = None


class Sensor(Entity, table=shop, type="sensor"):
    name: str
    data: bytes = b""
    price: Decimal = Decimal(0)
    free: Any = None
    readings: list[Reading] = field(default_factory=list[Reading])
    tags: set[str] = field(default_factory=set[str])
    blobs: list[bytes] = field(default_factory=list[bytes])

    @shop.key
    @staticmethod
    def by_name(name: str) -> Key:
        """One sensor."""
        return f"sensor#{name}", "sensor"


async def test_the_model_says_that_a_table_is_held() -> None:
    from singletable_mcp.server import MODEL_URI, server_of
    from singletable_mcp.tools import CallLimits

    theirs = Table("theirs", foreign=True)
    async with fresh_async() as db:

        async def held(units: float = 1000.0) -> list[str]:
            handler: Any = server_of([shop, offices, theirs], [], CallLimits(100, units), db)
            handler = handler.get_request_handler("resources/read")
            read = getattr(handler, "handler", handler)
            (content,) = (await read(None, mcp_types.ReadResourceRequestParams(uri=MODEL_URI))).contents
            return [table["held"] for table in json.loads(content.text)]

        for table in (shop, offices):
            await db.create_table(table)
        assert await held() == ["", "", ""]
        await AsyncHold(db, shop).begin("copied from prod", in_use=False)
        why, *others = await held()
        assert why.startswith("copied from prod, since 20")
        assert others == ["", ""]
        assert [text.partition(":")[0] for text in await held(units=0.5)] == [why.partition(":")[0], *["not known"] * 2]


shelf = Table("shelf", indexes={"small": Index("gsi1pk", "gsi1sk", projection="keys")})


class Book(Entity, table=shelf, type="book"):
    id: str
    topic: str
    title: str = ""

    @shelf.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"book#{id}", "book"

    @shelf.index("small")
    @staticmethod
    def of_topic(topic: str, id: str = ANY) -> Key:
        return f"topic#{topic}", f"{id}"


async def test_an_index_that_holds_less_answers_whole_items() -> None:
    async with fresh_async() as db:
        await db.write_many(puts=[Book(id=str(n), topic="sea", title=f"Waves {n}") for n in range(3)])
        async with serving(db, shelf) as (tell, tools):
            found = await tell("Book_of_topic", topic="sea", page_limit=2)
        assert [item["title"] for item in found["items"]] == ["Waves 0", "Waves 1"]
        assert "Costs 1 request a page; hydrated, 2," in tools["Book_of_topic"].description


@pytest.fixture
async def db() -> AsyncIterator[AsyncDatabase]:
    async with fresh_async() as db:
        await db.create_table(shop)
        await db.create_table(offices)
        yield db


async def ordered(db: AsyncDatabase, count: int = 3, note: str = "") -> None:
    await db.write_many(puts=[Order(customer="a", number=n, note=note) for n in range(1, count + 1)])


def numbers(found: Any) -> Any:
    return [item["number"] for item in found["items"]] if isinstance(found, dict) else found


# --- arguments --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("one", [1, 1.0, "1"])
async def test_a_whole_number_is_read_by_one_rule(db: AsyncDatabase, one: Any) -> None:
    await ordered(db)
    async with serving(db, shop, write=["Order"]) as (tell, _):
        assert (await tell("Order_of_customer", customer="a", number=one))["item"]["number"] == 1
        assert numbers(await tell("Order_of_customer", customer="a", number={"at_most": one})) == [1]
        assert numbers(await tell("Order_of_customer", customer="a", page_limit=one)) == [1]
        assert (await tell("Order_update", customer="a", number=one, set={"pieces": one}))["item"]["pieces"] == 1
        assert (await tell("Order_create", customer="b", number=one, pieces=one))["created"]
        assert await db.get(Order.of_customer("b", 1)) == Order(customer="b", number=1)


@pytest.mark.parametrize("other", [True, 1.5, "one", "1.5", [1], {}, ""])
async def test_what_is_no_whole_number_is_refused_everywhere(db: AsyncDatabase, other: Any) -> None:
    await ordered(db)
    async with serving(db, shop, write=["Order"]) as (tell, _):
        for tool, arguments in (
            ("Order_of_customer", {"number": other}),
            ("Order_of_customer", {"number": {"at_least": other}}),
            ("Order_of_customer", {"page_limit": other}),
            ("Order_update", {"number": 1, "set": {"pieces": other}}),
            ("Order_create", {"number": 9, "pieces": other}),
        ):
            said = await tell(tool, customer="a", **arguments)
            assert isinstance(said, str), (tool, arguments)
            assert any(each in said for each in ("number", "integer", "one value", "one range")), said
        assert (await db.get(Order.of_customer("a", 1))) == Order(customer="a", number=1)
        assert await db.get(Order.of_customer("a", 9)) is None


async def test_null_counts_as_left_out(db: AsyncDatabase) -> None:
    await ordered(db)
    async with serving(db, shop, write=["Order"]) as (tell, _):
        nulls = {"number": None, "page_limit": None, "page_after": None, "newest_first": None}
        assert numbers(await tell("Order_of_customer", customer="a", **nulls)) == [1, 2, 3]
        assert "customer is missing" in await tell("Order_of_customer", customer=None)
        assert "number takes one value" in await tell("Order_of_customer", customer="a", number={"at_least": None})
        assert (await tell("Order_create", customer="b", number=1, note=None, total=None, reviewer=None))["created"]
        assert await db.get(Order.of_customer("b", 1)) == Order(customer="b", number=1, reviewer=None)
        changed = await tell("Order_update", customer="a", number=1, set={"note": None, "pieces": 3, "reviewer": None})
        assert [changed["item"].get(name) for name in ("note", "pieces", "reviewer")] == ["", 3, None]


async def test_truth_and_text_are_read_by_the_same_rule(db: AsyncDatabase) -> None:
    await ordered(db)
    async with serving(db, shop, write=["Order"]) as (tell, _):
        for true in (True, "true"):
            assert numbers(await tell("Order_of_customer", customer="a", newest_first=true)) == [3, 2, 1]
            assert (await tell("Order_update", customer="a", number=1, set={"paid": true}))["item"]["paid"] is True
        for false in (False, "false"):
            assert numbers(await tell("Order_of_customer", customer="a", newest_first=false)) == [1, 2, 3]
            assert (await tell("Order_update", customer="a", number=1, set={"paid": false}))["item"]["paid"] is False
        others: tuple[Any, ...] = ("no", 1, 0.0, [])
        for other in others:
            assert "newest_first" in await tell("Order_of_customer", customer="a", newest_first=other)
            assert "paid" in await tell("Order_update", customer="a", number=1, set={"paid": other})
        assert "[mistake.cursor]" in await tell("Order_of_customer", customer="a", page_after=123)
        assert (await tell("Order_create", customer=7, number=1, note=1.0, total=12.5))["created"]
        kept = await db.get(Order.of_customer("7", 1))
        assert kept == Order(customer="7", number=1, note="1", total=Decimal("12.5"))


# --- the budget -------------------------------------------------------------------------------------------------------
async def test_calls_that_come_together_keep_to_the_budget(db: AsyncDatabase) -> None:
    await ordered(db)
    answers: list[Any] = []
    async with serving(db, shop, units=1.0) as (tell, _):

        async def one() -> None:
            answers.append(await tell("Order_of_customer", customer="a", number=1))

        async with anyio.create_task_group() as together:
            for _ in range(200):
                together.start_soon(one)
    refused = [each for each in answers if isinstance(each, str)]
    assert (len(answers) - len(refused), len(refused)) == (2, 198)
    assert all("the budget of 1 units is used up" in each for each in refused)


async def test_calls_that_fit_run_at_the_same_time(db: AsyncDatabase) -> None:
    from singletable_mcp.server import UnitBudget

    budget, inside, most = UnitBudget(300.0), 0, 0

    async def one() -> None:
        nonlocal inside, most
        async with budget.spend(128.0):
            inside += 1
            most = max(most, inside)
            await anyio.lowlevel.checkpoint()
            inside -= 1

    async with anyio.create_task_group() as together:
        for _ in range(20):
            together.start_soon(one)
    assert most == 2


async def test_a_call_that_fails_counts_what_it_took(db: AsyncDatabase) -> None:
    """A refused write, whose answer tells no units; and what was read before a read is refused."""
    await ordered(db, count=40, note="x" * 60_000)
    async with serving(db, shop, write=["Order"], units=1.0) as (tell, _):
        for _ in range(2):
            assert "[conflict.already-exists]" in await tell("Order_create", customer="a", number=1)
        assert "the budget of 1 units is used up" in await tell("Order_create", customer="a", number=1)
    async with serving(db, shop, units=100.0) as (tell, _):
        assert "[mistake" in await tell("Account_of_customer", customer="a")
        assert "the budget of 100 units is used up" in await tell("Order_of_customer", customer="a", number=1)


async def test_a_call_that_was_cancelled_gives_back_what_was_reserved() -> None:
    from singletable_mcp.server import UnitBudget

    budget = UnitBudget(1.0)
    with anyio.move_on_after(0):
        async with budget.spend(128.0):
            await anyio.sleep_forever()
    with anyio.fail_after(5):
        async with budget.spend(128.0) as meter:
            assert meter.requests == 0


async def test_a_cancelled_call_counts_what_it_took(db: AsyncDatabase) -> None:
    await ordered(db, count=40, note="x" * 60_000)
    async with serving(db, shop, units=50.0) as (tell, _):
        with anyio.move_on_after(0):
            await tell("Order_of_customer", customer="a", page_limit=25)
        assert "the budget of 50 units is used up" in await tell("Order_of_customer", customer="a", number=1)


# --- one page ---------------------------------------------------------------------------------------------------------
async def test_a_call_reads_one_page(db: AsyncDatabase) -> None:
    """Also where a filter leaves out what was read, and of a collection."""
    await db.write_many(puts=[Visit(customer="a", number=n) for n in range(40)])
    await ordered(db, count=40, note="x" * 60_000)
    async with serving(db, shop) as (tell, _):
        found = await tell("Order_of_customer", customer="a", page_limit=100)
        assert (found["cost"]["requests"], 0 < len(found["items"]) < 40) == (1, True)
        assert found["cost"]["read_units"] <= 130
        with db.meter() as meter:
            assert isinstance(await tell("Account_of_customer", customer="a"), str)
        assert meter.requests == 1


# --- writes -----------------------------------------------------------------------------------------------------------
async def test_a_written_item_is_told_with_what_is_personal_covered(db: AsyncDatabase) -> None:
    await db.create(Order(customer="a", number=1, phone="555"))
    async with serving(db, shop, write=["Order"]) as (tell, _):
        changed = await tell("Order_update", customer="a", number=1, set={"note": "x"})
        assert (changed["item"]["phone"], changed["item"]["note"]) == (COVERED, "x")
        changed = await tell("Order_update", customer="a", number=1, set={"phone": "556"})
        assert changed["item"]["phone"] == COVERED
        assert (await tell("Order_delete", customer="a", number=1))["deleted"]["phone"] == COVERED


async def test_who_writes_over_what_was_not_read_is_refused(db: AsyncDatabase) -> None:
    await db.create(Room(tenant="acme", name="r1"))
    place = {"tenant": "acme", "name": "r1"}
    async with serving(db, offices, write=["Room"]) as (tell, tools):
        for tool in ("Room_update", "Room_delete"):
            assert "expected" in tools[tool].schema["required"]
        for missing in ({}, {"expected": None}):
            assert "expected is missing" in await tell("Room_update", **place, set={"seats": 4}, **missing)
            assert "expected is missing" in await tell("Room_delete", **place, **missing)
        read = (await tell("Room_of_tenant", **place))["item"]["version"]
        assert (await tell("Room_update", **place, set={"seats": 4}, expected=read))["item"]["seats"] == 4
        assert "[conflict." in await tell("Room_update", **place, set={"seats": 5}, expected=float(read))
        assert "[conflict." in await tell("Room_delete", **place, expected=str(read))
        assert "expected is a whole number" in await tell("Room_delete", **place, expected=True)
        assert (await tell("Room_delete", **place, expected=read + 1))["deleted"]["seats"] == 4
    assert await db.get(Room.of_tenant("acme", "r1")) is None


async def test_only_what_was_named_is_written(db: AsyncDatabase) -> None:
    async with serving(db, shop, offices, write=["Order.update", "Country"]) as (tell, tools):
        writing = {name for name, tool in tools.items() if tool.writes}
        assert writing == {"Order_update", "Country_create", "Country_update", "Country_delete"}
        assert "unknown tool" in await tell("Order_create", customer="a", number=1)


NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


async def test_what_an_agent_reads_it_can_write_back(db: AsyncDatabase) -> None:
    """Bytes, and in `Any` bytes, sets and numbers of many digits, are the same values again."""
    many = Decimal("1." + "9" * 30)
    free: Any = {"bytes": b"\xff", "set": {"a"}, "number": many, "B": 1, "odd": {"B": "no bytes"}}
    held = Sensor(
        name="s",
        data=b"\xff",
        price=many,
        free=free,
        readings=[Reading(NOON, many, {b"x"})],
        tags={"a", "b"},
        blobs=[b"\xff"],
    )
    await db.create(held)
    async with serving(db, shop, write=["Sensor"]) as (tell, tools):
        read = (await tell("Sensor_by_name", name="s"))["item"]
        assert read["data"] == "/w=="
        assert read["free"]["bytes"] == {"B": "/w=="}
        given = {name: value for name, value in read.items() if name not in ("name", "price")}
        given["free"]["number"] = {"N": str(many)}  # the test's own reader of JSON has rounded it
        given["readings"][0]["exact"] = str(many)
        await tell("Sensor_update", name="s", set={name: value for name, value in given.items() if name != "type"})
        assert is_alike(await db.get(Sensor.by_name("s")), held, numbers=True)
        assert (await tell("Sensor_create", name="t", **given))["created"]
        assert is_alike(await db.get(Sensor.by_name("t")), replace(held, name="t", price=Decimal(0)), numbers=True)
        assert tools["Sensor_create"].schema["required"] == ["name"]


@pytest.mark.parametrize(
    ("attribute", "given", "why"),
    [
        ("data", "no base64", "it is bytes as base64"),
        ("price", 0.12345678901234567, 'more than 15 digits as a text, as in "0.1"'),
        ("free", {"a": 0.12345678901234567}, "more than 15 digits"),
        ("free", {"B": "no base64"}, r'a map is {"M": {"B": ...}}'),
        ("readings", [{"at": "2026-01-31T12:00:00", "exact": 1}], "at: it|readings.at"),
        ("readings", [{"exact": 1}], "readings.at: it is not there"),
        ("readings", [{"at": "2026-01-31T12:00:00Z", "exact": 1, "other": 1}], "no attribute 'other'"),
        ("tags", ["a", "a"], "stands twice"),
        ("tags", "a", "tags"),
        ("blobs", ["!"], "base64"),
    ],
)
async def test_what_would_be_another_value_is_refused(db: AsyncDatabase, attribute: str, given: Any, why: str) -> None:
    await db.create(Sensor(name="s"))
    async with serving(db, shop, write=["Sensor"]) as (tell, _):
        for tool, arguments in (
            ("Sensor_update", {"name": "s", "set": {attribute: given}}),
            ("Sensor_create", {"name": "t", attribute: given}),
        ):
            said = await tell(tool, **arguments)
            assert isinstance(said, str), said
            assert any(one in said for one in why.split("|")), said
    assert await db.get(Sensor.by_name("s")) == Sensor(name="s")
    assert await db.get(Sensor.by_name("t")) is None


# --- what is bound ----------------------------------------------------------------------------------------------------
async def test_what_is_bound_is_neither_offered_nor_overridden(db: AsyncDatabase) -> None:
    for tenant in ("acme", "other"):
        await db.create(Room(tenant=tenant, name="r1"))
    await db.create(Country(code="ch"))
    async with serving(db, offices, write=["Room", "Country.create"], bind=["tenant=acme"]) as (tell, tools):
        assert set(tools) == {"Room_of_tenant", "Room_create", "Room_update", "Room_delete", "Country_create"}
        for tool in tools.values():
            assert "tenant" not in tool.schema["properties"]
            assert "tenant" not in tool.schema["required"]
            assert "tenant" not in tool.schema["properties"].get("set", {}).get("properties", {})
        assert [each["tenant"] for each in (await tell("Room_of_tenant"))["items"]] == ["acme"]
        for tool, arguments in (
            ("Room_of_tenant", {}),
            ("Room_create", {"name": "r2"}),
            ("Room_update", {"name": "r1", "set": {"seats": 1}, "expected": 1}),
            ("Room_delete", {"name": "r1", "expected": 1}),
            ("Country_create", {"code": "fr"}),
        ):
            assert "'tenant'" in await tell(tool, tenant="other", **arguments)
        assert "can't be changed" in await tell("Room_update", name="r1", expected=1, set={"tenant": "other"})
        assert (await tell("Room_create", name="r2"))["created"]
        assert (await tell("Country_create", code="fr"))["created"]
        assert (await tell("Room_delete", name="r1", expected=1))["deleted"]["tenant"] == "acme"
    assert [room.tenant for room in await db.all(Room.of_tenant("acme"))] == ["acme"]
    assert await db.get(Room.of_tenant("other", "r1")) is not None
    assert (await db.get(Country.by_code("fr"))) == Country(code="fr", tenant="acme")
