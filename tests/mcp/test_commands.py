"""Declared commands: an application's functions as tools, each written as a whole or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import click
import pytest

from singletable import AsyncDatabase, Database
from singletable.foundation import COVERED
from singletable.records import Transaction
from tests.mcp import shop_commands
from tests.mcp.serving import serving
from tests.mcp.shop_commands import Order, Stock, depot
from tests.support.engines import fresh_async

pytest.importorskip("mcp_types")
ALL = "tests.mcp.shop_commands"
LINES = [{"sku": "nut", "pieces": 2}, {"sku": "bolt", "pieces": 3}]


@pytest.fixture
async def db() -> AsyncIterator[AsyncDatabase]:
    async with fresh_async() as db:
        await db.create_table(depot)
        await db.write_many(puts=[Stock(sku="nut", left=5), Stock(sku="bolt", left=5)])
        yield db


async def left(db: AsyncDatabase) -> list[int]:
    return [stock.left for stock in await db.get_many([Stock.by_sku("nut"), Stock.by_sku("bolt")])]


async def count(db: AsyncDatabase) -> int:
    return len([item async for item in db.scan(Stock)]) + len([item async for item in db.scan(Order)])


async def test_a_blocking_function_reads_and_its_writes_are_one_transaction(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:place"]) as (tell, tools):
        schema = tools["place"].schema
        assert schema["required"] == ["tenant", "number", "lines"]
        assert set(schema["properties"]) == {"tenant", "number", "lines", "price", "dry_run"}
        assert schema["properties"]["lines"]["items"]["properties"] == {
            "sku": {"type": "string"},
            "pieces": {"type": "integer"},
        }
        assert tools["place"].description.startswith("Place an order, and take its lines from stock.\n")
        answer = await tell("place", tenant="t", number="1", lines=LINES, price="1.50")
    assert [(order["number"], order["sku"], order["price"]) for order in answer["result"]] == [
        (1, "nut", 1.5),
        (2, "bolt", 1.5),
    ]
    assert answer["cost"] == {"requests": 3, "read_units": 2.0, "write_units": 8.0}
    assert await left(db) == [3, 2]
    assert [order.pieces for order in await db.all(Order.of_tenant("t"))] == [2, 3]


async def test_a_condition_that_fails_leaves_all_as_it_was(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:place"]) as (tell, _):
        refusal = await tell("place", tenant="t", number=1, lines=[LINES[0], {"sku": "bolt", "pieces": 6}])
        assert "[conflict.transaction-cancelled]" in refusal or "[conflict" in refusal
        assert not {"nut", "bolt", "6"} & {*refusal.replace(",", " ").split()}
        absent = await tell("place", tenant="t", number=1, lines=[LINES[0], {"sku": "gold", "pieces": 1}])
        assert "there is no such article in stock" in absent
        assert "[mistake.request]" in absent or "[mistake" in absent
    assert (await left(db), await db.all(Order.of_tenant("t"))) == ([5, 5], [])


async def test_an_async_function_covers_what_is_personal(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:restock"]) as (tell, tools):
        assert tools["restock"].schema["properties"]["speed"]["enum"] == ["SLOW", "FAST"]
        assert tools["restock"].schema["required"] == ["sku", "pieces"]
        first = await tell("restock", sku="nut", pieces=1)
        again = await tell("restock", sku="nut", pieces=1, on="2026-01-31", speed="FAST")
    assert first["result"]["before"] == {"stocks": [{"sku": "nut", "left": 5, "supplier_mail": COVERED}]}
    assert again["result"] == {
        "before": {"stocks": [{"sku": "nut", "left": 6, "supplier_mail": COVERED}]},
        "on": "2026-01-31",
        "speed": "fast",
    }
    assert await left(db) == [7, 5]


@pytest.mark.parametrize("shown", [True, "true"])
async def test_a_dry_run_writes_nothing_and_says_what_it_would(db: AsyncDatabase, shown: Any) -> None:
    async with serving(db, depot, command=[f"{ALL}:place"]) as (tell, _):
        answer = await tell("place", tenant="t", number=1, lines=LINES, dry_run=shown)
        assert "dry_run is true or false" in await tell("place", tenant="t", number=1, lines=LINES, dry_run="perhaps")
        many = [{"sku": f"s{n}", "pieces": 1} for n in range(51)]
        await db.write_many(puts=[Stock(sku=f"s{n}", left=5) for n in range(51)])
        refusals = [
            [await tell("place", tenant="t", number=1, lines=lines, dry_run=dry) for dry in (True, False)]
            for lines in ([LINES[0]] * 2, many)
        ]
    assert answer["written"] is False
    assert answer["would_write"] == ["update Stock", "create Order", "update Stock", "create Order"]
    assert (answer["items"], answer["cost"]["write_units"], answer["cost"]["requests"]) == (4, 0, 2)
    assert [dry == wet for dry, wet in refusals] == [True, True], "what can't be planned is refused in both"
    assert "operations 1 and 3 both change Stock.left of one item" in refusals[0][0]
    assert "100" in refusals[1][0]
    assert (await left(db), await db.all(Order.of_tenant("t"))) == ([5, 5], [])


async def test_what_is_too_large_is_refused_in_a_dry_run(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:fill"]) as (tell, _):
        assert (await tell("fill", articles=10, dry_run=True))["items"] == 10
        assert "[mistake.too-large]" in await tell("fill", articles=12, dry_run=True)
    assert await count(db) == 2


async def test_a_result_is_bounded_and_what_is_personal_is_covered_in_any_form(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:long", f"{ALL}:returns_a_struct"]) as (tell, _):
        for dry_run in (True, False):
            refusal = await tell("long", letters=999_999, dry_run=dry_run)
            assert "long returned 1,000,001 bytes of JSON, more than 1,000,000. Nothing was written" in refusal
        assert await count(db) == 2
        assert len((await tell("long", letters=999_998))["result"]) == 999_998
        about = (await tell("returns_a_struct", sku="nut"))["result"]["about"]
    assert about == {"sku": "nut", "left": 1, "supplier_mail": COVERED}


async def test_a_plain_function_reads_in_threads_of_its_own(db: AsyncDatabase) -> None:
    """As documents, graphs and erasures do."""
    async with serving(db, depot, command=[f"{ALL}:reads_in_threads"]) as (tell, _):
        answer = await tell("reads_in_threads", sku="nut")
    assert [stock["left"] for stock in answer["result"]] == [5, 5, 5]
    assert (answer["cost"]["requests"], answer["cost"]["read_units"]) == (3, 1.5)


async def test_a_write_after_the_function_has_returned_is_refused(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:writes_late"]) as (tell, _):
        await tell("writes_late", sku="first")
        assert "would never be sent" in await tell("writes_late", sku="second")
    shop_commands.late.clear()
    assert await count(db) == 3


async def test_a_database_of_a_plain_function_is_refused_in_an_async_one(db: AsyncDatabase) -> None:
    """The loop would wait for itself, for ever."""
    async with serving(db, depot, command=[f"{ALL}:holds", f"{ALL}:reads_by_what_is_held"]) as (tell, _):
        assert (await tell("holds", sku="nut"))["result"]["left"] == 5
        with anyio.fail_after(20):
            assert "is used in an async one" in await tell("reads_by_what_is_held", sku="nut")
    shop_commands.held.clear()


async def test_a_decorated_async_function_is_one(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:decorated"]) as (tell, _):
        assert (await tell("decorated", sku="nut"))["result"] is True


async def test_numbers_that_no_table_holds_are_refused_and_enums_of_numbers_can_be_given(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:grade"]) as (tell, tools):
        properties = tools["grade"].schema["properties"]
        assert properties["grade"] == {"type": "string", "enum": ["LOW", "HIGH"]}
        assert properties["others"]["anyOf"][0]["anyOf"][0]["items"] == {"type": "integer", "enum": [1, 2]}
        for given in ({"weight": "nan", "price": 1}, {"weight": 1, "price": "Infinity"}, {"weight": 1, "price": "NaN"}):
            assert "it is a finite number" in await tell("grade", grade="LOW", **given)
        answer = await tell("grade", grade="HIGH", weight=0.5, price="1.5", others=[1, 2])
    assert answer["result"] == ["HIGH", 0.5, 1.5, [1, 2]]


async def test_what_no_tool_foresees_ends_its_call_alone_and_tells_no_value(db: AsyncDatabase) -> None:
    nested: dict[str, Any] = {}
    for _ in range(3_000):
        nested = {"secret": nested}
    async with serving(db, depot, command=[f"{ALL}:anything"]) as (tell, _):
        refusal = await tell("anything", value=nested)
        assert "anything failed with RecursionError (" in refusal
        assert "secret" not in refusal
        assert (await tell("anything", value=[1]))["result"] == 1


async def test_nothing_is_sent_for_a_command_that_writes_nothing(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:count_only"]) as (tell, _):
        answer = await tell("count_only", sku="nut")
        rehearsed = await tell("count_only", sku="nut", dry_run=True)
    assert (answer["result"], answer["cost"]["requests"]) == (3, 0)
    assert (rehearsed["would_write"], rehearsed["items"]) == ([], 0)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("writes_beside", "by its transaction alone, not by PutItem"),
        ("writes_beside_in_a_thread", "by its transaction alone, not by BatchWriteItem"),
        ("deletes_the_table", "by its transaction alone, not by DeleteTable"),
        ("fails", "fails raised ValueError (shop_commands.py, line "),
        ("returns_what_has_no_json", "returned what JSON has no form for (TypeError). Nothing was written."),
        ("nests_without_end", "returned what JSON has no form for (RecursionError). Nothing was written."),
        ("leaves", "leaves raised SystemExit (shop_commands.py, line "),
        ("leaves_too", "leaves_too raised SystemExit (shop_commands.py, line "),
        ("awaits_what_was_cancelled", "awaits_what_was_cancelled raised CancelledError (shop_commands.py, line "),
    ],
)
async def test_a_function_that_fails_writes_nothing_and_tells_no_value(
    db: AsyncDatabase, command: str, why: str
) -> None:
    async with serving(db, depot, command=[f"{ALL}:{command}"]) as (tell, _):
        for dry_run in (False, True):
            refusal = await tell(command, sku="hidden", dry_run=dry_run)
            assert why in refusal
            assert not [text for text in ("secret", "hidden") if text in refusal]
    assert await count(db) == 2


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "tenant is missing"),
        ({"tenant": None}, "tenant is missing"),
        ({"tenant": "t", "number": 1.5, "lines": []}, "number: it is a whole number"),
        ({"tenant": "t", "number": True, "lines": []}, "number"),
        ({"tenant": "t", "number": 1, "lines": "nut"}, "lines"),
        ({"tenant": "t", "number": 1, "lines": [{"sku": "nut"}]}, "lines.pieces: it is not there"),
        ({"tenant": "t", "number": 1, "lines": [{"sku": "nut", "pieces": 1, "x": 1}]}, "no attribute 'x'"),
        ({"tenant": "t", "number": 1, "lines": [], "tx": {}}, "place has no argument 'tx'"),
        ({"tenant": "t", "number": 1, "lines": [], "db": {}}, "place has no argument 'db'"),
    ],
)
async def test_arguments_are_read_by_the_rule_of_every_tool(db: AsyncDatabase, given: dict[str, Any], why: str) -> None:
    async with serving(db, depot, command=[f"{ALL}:place"]) as (tell, _):
        refusal = await tell("place", **given)
    assert isinstance(refusal, str)
    assert why in refusal
    assert await left(db) == [5, 5]


async def test_what_is_bound_is_given_to_the_function(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[f"{ALL}:place"], bind=["tenant=acme"]) as (tell, tools):
        assert "tenant" not in tools["place"].schema["properties"]
        assert "tenant" not in tools["place"].schema["required"]
        assert "no argument 'tenant'" in await tell("place", tenant="other", number=1, lines=LINES)
        await tell("place", number=1, lines=LINES)
    assert len(await db.all(Order.of_tenant("acme"))) == 2


async def test_commands_come_one_after_the_other_and_keep_to_the_budget(db: AsyncDatabase) -> None:
    answers: list[Any] = []
    async with serving(db, depot, command=[f"{ALL}:restock"], units=5.0) as (tell, _):

        async def one() -> None:
            answers.append(await tell("restock", sku="nut", pieces=1))

        async with anyio.create_task_group() as together:
            for _ in range(20):
                together.start_soon(one)
    done = [answer for answer in answers if isinstance(answer, dict)]
    assert len(done) == 2  # 2.5 units each, and the budget is used up
    assert await left(db) == [7, 5]


async def test_a_module_offers_what_takes_a_transaction(db: AsyncDatabase) -> None:
    async with serving(db, depot, command=[ALL, f"{ALL}:place"]) as (_, tools):
        commands = {name for name, tool in tools.items() if tool.writes}
    assert commands >= {"place", "restock", "count_only"}
    assert not commands & {"helper", "_private", "attr", "field"}
    async with serving(db, depot) as (_, tools):
        assert not [tool for tool in tools.values() if tool.writes]


def no_transaction(db: Database, sku: str) -> None:
    """One."""


def two_transactions(tx: Transaction, ty: Transaction) -> None:
    """One."""


def wrong_shell(db: AsyncDatabase, tx: Transaction) -> None:
    """One."""


async def wrong_shell_too(db: Database, tx: Transaction) -> None:
    """One."""


def no_docstring(tx: Transaction, sku: str) -> None: ...


def no_type(tx: Transaction, sku) -> None:  # type: ignore[no-untyped-def]
    """One."""


def many(tx: Transaction, *skus: str) -> None:
    """One."""


def only_by_place(tx: Transaction, sku: str, /) -> None:
    """One."""


def of_no_stored_type(tx: Transaction, sku: complex) -> None:
    """One."""


def unknown_name(tx: Transaction, sku: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
    """One."""


def yields(tx: Transaction, sku: str) -> Iterator[str]:
    """One."""
    yield sku


async def yields_too(tx: Transaction, sku: str) -> AsyncIterator[str]:
    """One."""
    yield sku


def größe(tx: Transaction, sku: str) -> None:
    """One."""


def own_dry_run(tx: Transaction, dry_run: bool) -> None:
    """One."""


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (no_transaction, "it takes one Transaction"),
        (two_transactions, "it takes one Transaction"),
        (wrong_shell, "db is a Database in a plain function"),
        (wrong_shell_too, "db is a Database in a plain function"),
        (no_docstring, "it has no docstring"),
        (no_type, "sku has no type"),
        (many, "skus can't be given by its name"),
        (only_by_place, "sku can't be given by its name"),
        (of_no_stored_type, "sku: complex has no form"),
        (unknown_name, "its annotations can't be read: name 'Missing'"),
        (yields, "it yields, and a tool has one answer"),
        (yields_too, "it yields, and a tool has one answer"),
        (größe, "clients take names of ASCII letters"),
        (own_dry_run, "dry_run is the argument of every command"),
    ],
)
def test_a_function_that_no_agent_could_call_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], why: str
) -> None:
    from singletable_mcp.commands import command_tools
    from singletable_mcp.tools import CallLimits

    monkeypatch.setattr(shop_commands, function.__name__, function, raising=False)
    with pytest.raises(click.UsageError, match=f"{function.__name__}: ") as refused:
        command_tools([f"{ALL}:{function.__name__}"], CallLimits(100, 1000.0))
    assert why in refused.value.message


@pytest.mark.parametrize(
    ("named", "bound", "why"),
    [
        (f"{ALL}:plaice", {}, "has no function 'plaice'; it has place, "),
        ("tests.mcp.serving", {}, "no function of tests.mcp.serving takes a Transaction"),
        (f"{ALL}:restock", {"tenant": "acme"}, "it does not take tenant, which is bound"),
    ],
)
def test_a_name_of_nothing_is_refused_at_the_start(named: str, bound: dict[str, str], why: str) -> None:
    from singletable_mcp.commands import command_tools
    from singletable_mcp.tools import CallLimits

    with pytest.raises(click.UsageError) as refused:
        command_tools([named], CallLimits(100, 1000.0, bound=bound))
    assert why in refused.value.message
