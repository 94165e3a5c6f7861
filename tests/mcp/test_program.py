"""`singletable mcp`: driven over standard input and output by the SDK's own client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from examples_shared.testing.nursery import run_program
from singletable_local import ENGINE_VARIABLE, find_engine
from tools.distributions import PYTHONPATH

if TYPE_CHECKING:
    from mcp import Client

ROOT = Path(__file__).parents[2]
MODEL = '''
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum

from singletable import ANY, Collection, Database, Entity, InvalidRequest, Key, Table, attr, collect, field
from singletable.records import Transaction

shop = Table("shop", indexes=["gsi1"])


class State(Enum):
    OPEN = "open"
    PAID = "paid"


class User(Entity, table=shop, type="user"):
    """Somebody who orders."""

    email: str
    name: str = field(personal=True)
    page_limit: int = 0
    groups: set[str] = field(default_factory=set[str])
    left_at: datetime | None = None

    @shop.key
    @staticmethod
    def by_email(email: str) -> Key:
        """The user of an address."""
        return f"user#{email}", "user"

    @shop.index("gsi1")
    @staticmethod
    def by_limit(page_limit: int, email: str = ANY) -> Key:
        return f"limit#{page_limit}", f"{email}"


class Order(Entity, table=shop, type="order"):
    email: str
    number: int
    state: State = State.OPEN
    total: Decimal = Decimal(0)
    placed_at: datetime = datetime(2026, 1, 1, tzinfo=timezone.utc)

    @shop.key
    @staticmethod
    def of_user(email: str, number: int = ANY) -> Key:
        """The orders of a user, by number."""
        return f"user#{email}", f"order#{number}"

    @shop.index("gsi1")
    @staticmethod
    def by_state(state: State, placed_at: datetime = ANY) -> Key:
        return f"state#{state}", f"{placed_at}"


class Account(Collection):
    """A user with their orders."""

    user: User
    orders: list[Order]

    by_email = collect(User.by_email)


def pay(db: Database, tx: Transaction, email: str, number: int) -> Order:
    """Take an order as paid."""
    print("a function may print")
    order = db.get(Order.of_user(email, number).consistent())
    if order is None:
        raise InvalidRequest("there is no such order")
    tx.update(order, attr(Order.state).set(State.PAID), where=attr(Order.state) == State.OPEN)
    return order


print("a module may print")
'''
FILL = """
from shop import Order, User, shop
from singletable import connect

with connect("local:shop.db") as db:
    db.create(User(email="ada@example.org", name="Ada Lovelace"))
    db.write_many(puts=[Order(email="ada@example.org", number=n) for n in range(1, 8)])
"""
ADA = {"email": "ada@example.org"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mcp")
    (made / "shop.py").write_text(MODEL)
    subprocess.run([sys.executable, "-c", FILL], cwd=made, env=_environ(), check=True, stdout=subprocess.DEVNULL)
    return made


def _environ() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": PYTHONPATH, ENGINE_VARIABLE: str(find_engine(os.environ, ROOT))}


@asynccontextmanager
async def server(folder: Path, *options: str) -> AsyncIterator[Client]:
    from mcp import Client, StdioServerParameters  # it takes a second, in the one worker that runs this file

    arguments = ["-m", "singletable.cli", "mcp", "shop.py", "--db", "local:shop.db", *options]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, cwd=folder, env=_environ())
    async with Client(parameters, read_timeout_seconds=60) as client:
        yield client


async def told(client: Client, tool: str, /, **arguments: Any) -> Any:
    """What a tool answers, or the text of its refusal."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    text: str = getattr(content, "text")  # noqa: B009 of one of several types
    return text if result.is_error else json.loads(text)


@dataclass(frozen=True)
class Asked:
    """What one server, without options, answers to all that only reads."""

    tools: dict[str, Any]
    model: list[Any]
    ada: Any
    refusals: list[str]


@pytest.fixture(scope="module")
def asked(folder: Path) -> Asked:
    async def ask() -> Asked:
        async with server(folder) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            (resource,) = (await client.list_resources()).resources
            (content,) = (await client.read_resource(resource.uri)).contents
            model = json.loads(getattr(content, "text"))  # noqa: B009 of one of several types
            refusals = [await told(client, tool, **given) for tool, given, _ in MISTAKES]
            return Asked(tools, model, await told(client, "User_by_email", **ADA), refusals)

    return anyio.run(ask)


def numbers(found: Any) -> list[int]:
    return [item["number"] for item in found["items"]]


def test_each_pattern_is_a_tool_with_types(asked: Asked) -> None:
    tools = asked.tools
    assert set(tools) == {
        *("User_by_email", "User_by_limit", "Order_of_user", "Order_by_state", "Account_by_email"),
    }
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools.values())
    orders = tools["Order_of_user"]
    assert "The orders of a user, by number." in (orders.description or "")
    assert "0.5 read units for each 4 KB" in (orders.description or "")
    assert orders.input_schema["required"] == ["email"]
    one, ranges = orders.input_schema["properties"]["number"]["anyOf"]
    assert one == {"type": "integer"}
    assert set(ranges["properties"]) == {"before", "after", "at_least", "at_most", "between"}
    assert tools["Order_by_state"].input_schema["properties"]["state"]["enum"] == ["OPEN", "PAID"]
    assert tools["User_by_limit"].input_schema["properties"]["page_limit"] == {"type": "integer"}


async def test_a_page_and_the_next_one(folder: Path) -> None:
    async with server(folder, "--most-items", "3") as client:
        first = await told(client, "Order_of_user", **ADA, number={"at_least": 3}, page_limit=2)
        assert (numbers(first), first["cost"]["requests"]) == ([3, 4], 1)
        after = await told(client, "Order_of_user", **ADA, number={"at_least": 3}, page_after=first["cursor"])
        assert numbers(after) == [5, 6, 7]
        newest = await told(client, "Order_of_user", **ADA, number={"between": [2, 6]}, newest_first=True)
        assert numbers(newest) == [6, 5, 4]
        opened = {"state": "OPEN", "placed_at": {"before": "2027-01-01T00:00:00Z"}}
        assert numbers(await told(client, "Order_by_state", **opened, page_limit=1)) == [1]
        assert (await told(client, "Order_of_user", **ADA, number=7))["item"]["number"] == 7
        assert (await told(client, "User_by_email", email="eve@example.org"))["item"] is None
        account = await told(client, "Account_by_email", **ADA)
        assert len(account["item"]["orders"]) == 7


async def test_personal_attributes_are_covered_unless_told(asked: Asked, folder: Path) -> None:
    async with server(folder, "--personal") as client:
        open_ = await told(client, "User_by_email", **ADA)
    assert (asked.ada["item"]["name"], open_["item"]["name"]) == ("‹personal›", "Ada Lovelace")


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("Order_of_user", {}, "Order.of_user: email is missing"),
    ("Order_of_user", {**ADA, "nombre": 1}, "Order.of_user has no argument 'nombre'; it has "),
    ("Order_of_user", {**ADA, "number": "many"}, "number: it is a whole number"),
    ("Order_of_user", {**ADA, "number": '{"before": 2}'}, 'A range is an object, as {"before": ...}.'),
    ("Order_of_user", {**ADA, "number": True}, "number: it is a whole number"),
    ("Order_of_user", {**ADA, "number": [1]}, "number takes one value: a text or a number"),
    (
        "Order_of_user",
        {**ADA, "number": {"starting_with": "1"}},
        "number has no range 'starting-with'; it has before, ",
    ),
    ("Order_of_user", {**ADA, "number": {"between": [1]}}, "between takes two values"),
    ("Order_of_user", {"email": {"before": "x"}}, "email takes one value"),
    ("Order_of_user", {**ADA, "page_limit": 101}, "page_limit is a whole number from 1 to 100"),
    ("Order_of_user", {**ADA, "page_after": "forged"}, "[mistake.cursor]"),
    ("Order_by_state", {"state": "LOST"}, "it is one of OPEN, PAID"),
    ("User_create", {**ADA, "name": "Eve"}, "unknown tool 'User_create'; the tools are "),
]


def test_what_is_wrong_is_said_to_the_agent(asked: Asked) -> None:
    assert len(asked.refusals) == len(MISTAKES)
    wrong = [(said, text) for (*_, said), text in zip(MISTAKES, asked.refusals, strict=True) if said not in text]
    assert wrong == []


async def test_the_budget_of_a_session_ends_it(folder: Path) -> None:
    async with server(folder, "--most-units", "1") as client:
        for _ in range(2):
            assert (await told(client, "User_by_email", **ADA))["cost"]["read_units"] == 0.5
        assert "the budget of 1 units is used up" in await told(client, "User_by_email", **ADA)


def test_the_model_is_a_resource(asked: Asked) -> None:
    (table,) = asked.model
    assert (table["table"], [each["name"] for each in table["entities"]]) == ("shop", ["User", "Order"])
    user, order = table["entities"]
    assert order["description"] == ""  # not the one that dataclass makes of the signature
    assert (user["description"], user["personal"]) == ("Somebody who orders.", ["name"])
    assert user["attributes"] == {
        "email": "str",
        "name": "str",
        "page_limit": "int",
        "groups": "set[str]",
        "left_at": "datetime | None",
    }
    assert "of_user" in {pattern["name"] for pattern in table["patterns"]}


async def test_it_writes_when_told(folder: Path) -> None:
    async with server(folder, "--write", "Order") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        create = tools["Order_create"]
        assert create.annotations is not None
        assert create.annotations.destructive_hint
        assert not [name for name in tools if name.startswith("User") and "by_" not in name]
        assert create.input_schema["properties"]["number"]["type"] == "integer"
        bob = {"email": "bob@example.org", "number": 1}
        assert (await told(client, "Order_create", **bob, total="12.5"))["created"]
        assert "[conflict.already-exists]" in await told(client, "Order_create", **bob)
        assert "number: " in await told(client, "Order_create", email="bob@example.org", number="one")
        assert "Order has no attribute 'sum'" in await told(client, "Order_create", **bob, sum=1)
        changed = await told(client, "Order_update", **bob, set={"state": "paid"})
        assert (changed["item"]["state"], changed["item"]["total"]) == ("paid", 12.5)
        assert "Order.number can't be changed" in await told(client, "Order_update", **bob, set={"number": 2})
        assert (await told(client, "Order_delete", **bob))["deleted"]["number"] == 1
        assert (await told(client, "Order_delete", **bob))["deleted"] is None


async def test_a_command_of_the_module_is_a_tool(folder: Path) -> None:
    order = {**ADA, "number": 7}
    async with server(folder, "--command", "shop.py:pay") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        pay = tools["pay"]
        assert pay.annotations is not None
        assert (pay.annotations.read_only_hint, pay.annotations.destructive_hint) == (False, True)
        assert pay.input_schema["required"] == ["email", "number"]
        assert "Order_create" not in tools
        assert (await told(client, "pay", **order, dry_run=True))["would_write"] == ["update Order"]
        assert (await told(client, "Order_of_user", **order))["item"]["state"] == "open"
        assert (await told(client, "pay", **order))["cost"]["write_units"] > 0
        assert (await told(client, "Order_of_user", **order))["item"]["state"] == "paid"
        assert "[conflict." in await told(client, "pay", **order)
        assert "there is no such order" in await told(client, "pay", email="eve@example.org", number=1)


def ended(folder: Path, *options: str) -> tuple[int, str]:
    """How the command ended, and what it said, in a process that has imported it already."""
    with TemporaryFile() as out, TemporaryFile() as err:
        code = run_program(
            *("tests.support.installed_program", str(folder), "mcp", "shop.py", *options),
            warm=(
                "singletable.cli.app",
                "singletable_mcp.commands",
                "singletable_mcp.server",
                "singletable_mcp.tools",
                "singletable_mcp.writes",
            ),
            environ=_environ(),
            timeout=60,
            stdout=out,
            stderr=err,
        )
        out.seek(0)
        err.seek(0)
        assert out.read() == b""
        return code, err.read().decode()


def test_a_data_file_that_is_missing_is_named(folder: Path) -> None:
    code, said = ended(folder, "--db", "local:nowhere.db")
    assert (code, "the data file nowhere.db is missing" in said) == (1, True)


def test_what_is_bound_and_written_is_checked_at_the_start(folder: Path) -> None:
    for options, said in (
        (("--write", "Ordre"), "no class of that name"),
        (("--write", "Order.drop"), "no class of that name"),
        (("--write", "User", "--bind", "number=1"), "it does not take number, which is bound"),
        (("--command", "shop.py:buy"), "has no function 'buy'; it has pay"),
        (("--bind", "tenant=acme"), "no access pattern takes tenant"),
        (("--bind", "number=many"), "number: it is a whole number"),
        (("--bind", "number"), "say NAME=VALUE"),
        (("--bind", "number=1", "--bind", "number=2"), "once for each name"),
    ):
        code, text = ended(folder, "--db", "local:shop.db", *options)
        assert (code, said in text) == (2, True), text


SECOND = '''
other = Table("shop-x")


def second() -> type:
    class User(Entity, table=other, type="user"):
        email: str

        @other.key
        @staticmethod
        def by_email(email: str) -> Key:
            """One."""
            return f"user#{email}", "user"

    return User


Second = second()
'''


def test_two_tools_of_one_name_are_refused(folder: Path, tmp_path: Path) -> None:
    """An agent that asks the one would be answered by the other table."""
    (tmp_path / "shop.py").write_text(MODEL + SECOND)
    shutil.copy(folder / "shop.db", tmp_path)
    code, said = ended(tmp_path, "--db", "local:shop.db")
    assert (code, "two tools would be named User_by_email" in said) == (2, True)
