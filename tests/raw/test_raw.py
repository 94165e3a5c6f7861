"""Plain items over the database's own wire, in both shells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from singletable import InvalidCursor, InvalidRequest, Meter, Table
from singletable.errors import (
    AlreadyExists,
    ConditionFailed,
    Incomplete,
    InvalidValue,
    NotConfigured,
    NotSupported,
    OutcomeUnknown,
    TransactionCancelled,
)
from singletable.flow import Operation, WrappedPort
from singletable.operations import RAW, GetItem, TableCall
from singletable.raw import AsyncRaw, RawQuery, flows
from singletable.raw.items import RawTable
from singletable.wire import RetryPolicy
from tests.faults.actions import ApplyThenCut
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.raw.shells import raw_of
from tests.support.engines import fresh_url
from tests.support.shells import Shell, opened

KEY = {"pk": "ORDER#42", "sk": "order"}
EVERYTHING: dict[str, Any] = {
    **KEY,
    "whole": 10**37,
    "exact": Decimal("0.1000000000000000000000000000000000001"),
    "small": Decimal("1E-130"),
    "bytes": b"\x00\xff",
    "empty": "",
    "yes": True,
    "nothing": None,
    "texts": {"a", "b"},
    "numbers": {1, Decimal("2.5")},
    "many": {b"1", b"2"},
    "list": [1, "1", [b"", {"deep": None}]],
    "map": {"a b": {"c": []}},
}


@pytest.fixture
def raw(shell: Shell) -> AsyncRaw:
    return raw_of(shell, Table("app", indexes=["gsi1"]))


async def stored(shell: Shell, key: dict[str, str]) -> Any:
    operation = GetItem("app", {name: {"S": text} for name, text in key.items()}, RAW, consistent=True)
    return await shell.run(shell.port.send(operation))


async def test_a_value_of_each_type_comes_back_and_is_written_byte_for_byte(shell: Shell, raw: AsyncRaw) -> None:
    await raw.put(EVERYTHING)
    read = await raw.get(KEY, consistent=True)
    assert read == EVERYTHING
    assert {name: type(value) for name, value in read.items()} == {n: type(v) for n, v in EVERYTHING.items()}
    before = await stored(shell, KEY)
    await raw.put(read)
    assert await stored(shell, KEY) == before


async def test_a_missing_item_is_none_and_a_part_of_one_is_read(raw: AsyncRaw) -> None:
    assert await raw.get(KEY) is None
    await raw.put({**KEY, "status": "open", "total": 1})
    assert await raw.get(KEY, only="#s", names={"#s": "status"}) == {"status": "open"}


async def test_conditions_are_text_with_values_beside(raw: AsyncRaw) -> None:
    await raw.put({**KEY, "n": 1}, where="attribute_not_exists(pk)")
    with pytest.raises(ConditionFailed) as caught:
        await raw.put({**KEY, "n": 2}, where="attribute_not_exists(pk)")
    assert (caught.value.stored, caught.value.condition) == ({**KEY, "n": 1}, "attribute_not_exists(pk)")
    assert await raw.update(KEY, "SET #m = :m ADD n :one", names={"#m": "m"}, values={":m": "x", ":one": 1}) == {
        **KEY,
        "n": 2,
        "m": "x",
    }
    with pytest.raises(ConditionFailed):
        await raw.delete(KEY, where="n = :n", values={":n": 9})
    assert await raw.delete(KEY, where="n = :n", values={":n": 2}) == {**KEY, "n": 2, "m": "x"}
    assert await raw.delete(KEY) is None


async def test_queries_pages_and_scans(raw: AsyncRaw) -> None:
    items = [{"pk": "c1", "sk": f"{n:02}", "n": n, "gsi1pk": "g", "gsi1sk": f"{9 - n}"} for n in range(10)]
    await raw.write_many(puts=[*items, {"pk": "c2", "sk": "0"}])
    mine = RawQuery("pk = :pk", {":pk": "c1"})
    with Meter() as meter:
        page = await raw.page(mine, limit=4)
    assert (list(page), meter.requests) == (items[:4], 1)
    rest = await raw.page(mine, limit=100, after=page.cursor)
    assert (list(rest), rest.cursor) == (items[4:], None)
    for other in (RawQuery("pk = :pk", {":pk": "c2"}), RawQuery("pk = :pk", {":pk": "c1"}, descending=True)):
        with pytest.raises(InvalidCursor):
            await raw.page(other, after=page.cursor)
    assert await raw.all(RawQuery("pk = :pk AND sk < :sk", {":pk": "c1", ":sk": "02"}, descending=True)) == [
        items[1],
        items[0],
    ]
    odd = RawQuery("pk = :pk", {":pk": "c1", ":n": 7}, where="n > :n", only="n")
    assert await raw.all(odd) == [{"n": 8}, {"n": 9}]
    assert list(await raw.page(odd, limit=1)) == [{"n": 8}]
    some = RawQuery("pk = :pk", {":pk": "c1", ":a": 1, ":b": 3}, where="n BETWEEN :a AND :b", only="n")
    page = await raw.page(some, limit=2)
    assert list(page) == [{"n": 1}, {"n": 2}], "it is filled up by a second request, and no more"
    assert list(await raw.page(some, after=page.cursor)) == [{"n": 3}]
    assert [i["n"] async for i in raw.iter(RawQuery("gsi1pk = :g", {":g": "g"}, index="gsi1"))] == [*range(9, -1, -1)]
    assert len(await raw.all(RawQuery(consistent=True))) == 11
    assert [i async for i in raw.iter(RawQuery(where="attribute_not_exists(n)"))] == [{"pk": "c2", "sk": "0"}]


async def test_batches_keep_the_order_of_keys(raw: AsyncRaw) -> None:
    keys = [{"pk": "c", "sk": f"{n:03}"} for n in range(120)]
    with Meter() as meter:
        await raw.write_many(puts=[{**key, "n": 1} for key in keys])
    assert (meter.requests, meter.round_trips) == (5, 1)
    wanted = [*reversed(keys), {"pk": "c", "sk": "missing"}, keys[0]]
    with Meter() as meter:
        found = await raw.get_many(wanted, consistent=True)
    assert ([item["sk"] for item in found], meter.round_trips) == ([key["sk"] for key in reversed(keys)], 1)
    with Meter() as meter:
        found = await raw.get_many(keys[:2], at_once=True)
    assert ([item["sk"] for item in found], meter.read_units) == (["000", "001"], 4.0)
    await raw.write_many(deletes=keys)
    assert await raw.get_many(keys[:3]) == []


class Reversing(WrappedPort):
    """A port whose service returns a batch in another order than that of its keys, as DynamoDB may."""

    async def send_all(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        answers = await self._port.send_all(operations)
        return [msgspec.structs.replace(answer, items=answer.items[::-1]) for answer in answers]


async def test_a_batch_may_come_in_any_order(shell: Shell) -> None:
    keys = [{"pk": "c", "sk": str(n)} for n in range(3)]
    await raw_of(shell, Table("app")).write_many(puts=keys)
    port: Any = Reversing(shell.port)
    assert await shell.run(flows.get_many(port, RawTable("app"), keys, consistent=True, at_once=False)) == keys


async def test_a_transaction_is_all_or_nothing(raw: AsyncRaw) -> None:
    async with raw.transaction() as tx:
        tx.put({**KEY, "n": 1}, where="attribute_not_exists(pk)")
        tx.put({"pk": "x", "sk": "x"})
    async with raw.transaction() as tx:
        tx.update(KEY, "ADD n :one", values={":one": 1})
        tx.delete({"pk": "x", "sk": "x"})
        tx.check({"pk": "y", "sk": "y"}, "attribute_not_exists(pk)")
    assert await raw.get(KEY, consistent=True) == {**KEY, "n": 2}
    with pytest.raises(TransactionCancelled) as caught:
        await refused(raw)
    (failure,) = caught.value.failures
    assert isinstance(failure.error, ConditionFailed)
    assert (failure.number, failure.verb, failure.error.stored) == (2, "check", {**KEY, "n": 2})
    assert await raw.get({"pk": "z", "sk": "z"}, consistent=True) is None


async def refused(raw: AsyncRaw) -> None:
    async with raw.transaction() as tx:
        tx.put({"pk": "z", "sk": "z"})
        tx.check(KEY, "n > :n", values={":n": 5})


async def test_what_has_no_form_is_refused_by_name(raw: AsyncRaw) -> None:
    for bad, name in (({**KEY, "n": object()}, "n"), ({**KEY, "s": set()}, "s"), ({**KEY, "f": float("nan")}, "f")):
        with pytest.raises(InvalidValue) as caught:
            await raw.put(bad)
        assert (caught.value.attribute, caught.value.operation) == (name, "put")
    with pytest.raises(InvalidRequest):
        await raw.page(RawQuery(), limit=0)


async def test_a_name_alone_is_enough_and_creates_nothing(shell: Shell) -> None:
    await raw_of(shell, Table("app")).put(KEY)
    assert await raw_of(shell, "app").get(KEY) == KEY
    with pytest.raises(NotConfigured, match="table nowhere"):
        await raw_of(shell, "nowhere").get(KEY)


async def test_statements(raw: AsyncRaw) -> None:
    await raw.execute("INSERT INTO {table} VALUE {'pk': ?, 'sk': ?, 'n': ?}", "c1", "a", Decimal("1.5"))
    await raw.write_many(puts=[{"pk": "c1", "sk": f"{n}"} for n in range(3)])
    with Meter() as meter:
        found = await raw.execute("SELECT * FROM {table} WHERE pk = ? AND sk = ?", "c1", "a")
    assert (found, meter.requests, meter.read_units > 0) == ([{"pk": "c1", "sk": "a", "n": Decimal("1.5")}], 1, True)
    every = [item["sk"] async for item in raw.select("SELECT sk FROM {table} WHERE pk = ?", "c1", consistent=True)]
    assert every == ["0", "1", "2", "a"]
    await raw.execute("DELETE FROM {table} WHERE pk = ? AND sk = ?", "c1", "a")
    assert await raw.get({"pk": "c1", "sk": "a"}) is None
    await raw.execute("INSERT INTO {table} VALUE {'pk': 'c1', 'sk': 'it''s {table}', 'n': 1}")
    quoted = await raw.execute("SELECT sk FROM {table} WHERE pk = 'c1' AND sk = 'it''s {table}'")
    assert quoted == [{"sk": "it's {table}"}]
    with pytest.raises(InvalidRequest, match=r"names its table as \{table\}, outside of quotes"):
        await raw.execute("SELECT * FROM \"{table}\" WHERE pk = '{table}'")
    with pytest.raises(InvalidRequest, match=r"names its table as \{table\}"):
        await raw.execute("SELECT * FROM app")
    with pytest.raises(InvalidRequest, match="does not begin with SELECT"):
        await anext(raw.select("DELETE FROM {table} WHERE pk = ? AND sk = ?", "c1", "0"))


async def test_several_statements_and_a_transaction_of_them(raw: AsyncRaw) -> None:
    insert = "INSERT INTO {table} VALUE {'pk': ?, 'sk': ?, 'n': ?}"
    with Meter() as meter:
        await raw.execute_many([(insert, ["c1", f"{n}", n]) for n in range(30)])
    assert (meter.requests, meter.round_trips, meter.write_units) == (2, 1, 30.0)
    select = "SELECT * FROM {table} WHERE pk = ? AND sk = ?"
    assert await raw.execute_many([(select, ["c1", "7"]), (select, ["c1", "x"])]) == [
        {"pk": "c1", "sk": "7", "n": 7},
        None,
    ]
    with pytest.raises(AlreadyExists):
        await raw.execute(insert, "c1", "7", 0)
    with pytest.raises(Incomplete) as left:
        await raw.execute_many([(insert, ["c1", "7", 0]), (insert, ["c1", "new", 0])])
    assert left.value.rest == ((insert, ["c1", "7", 0]),)
    change = "UPDATE {table} SET n = ? WHERE pk = ? AND sk = ?"
    await raw.execute_together([(change, [70, "c1", "7"]), (insert, ["c1", "also", 1])])
    with pytest.raises(TransactionCancelled, match="statement 2"):
        await raw.execute_together([(change, [700, "c1", "7"]), (insert, ["c1", "also", 2])])
    assert await raw.get({"pk": "c1", "sk": "7"}, consistent=True) == {"pk": "c1", "sk": "7", "n": 70}
    assert await raw.execute_together([]) == []


async def test_names_in_the_account_are_in_every_request(kind: str) -> None:
    with fresh_url() as url:
        async with opened(kind, url, tables={"app": "prod-app"}) as shell, opened(kind, url) as plain:
            raw, there = raw_of(shell, Table("app")), raw_of(plain, "prod-app")
            await raw.put(KEY)
            await raw.write_many(puts=[{"pk": "c", "sk": "1"}])
            async with raw.transaction() as tx:
                tx.update(KEY, "ADD n :one", values={":one": 1})
            assert await raw.get_many([KEY], at_once=True) == [{**KEY, "n": 1}]
            assert await raw.get_many([KEY]) == [{**KEY, "n": 1}]
            assert await raw.execute("SELECT * FROM {table} WHERE pk = ?", "c") == [{"pk": "c", "sk": "1"}]
            assert len(await there.all(RawQuery())) == 2


async def test_a_lost_answer_is_unknown_or_settled(kind: str) -> None:
    faults = Faults()
    with fresh_url() as url, FaultProxy(url, faults) as proxy:
        async with opened(kind, proxy.url, retry=RetryPolicy(base_seconds=0.001, cap_seconds=0.002)) as shell:
            raw = raw_of(shell, Table("app"))
            await raw.put(KEY)
            for verb, operation in (
                (raw.update(KEY, "ADD n :one", values={":one": 1}), "UpdateItem"),
                (raw.put({"pk": "a", "sk": "a"}, where="attribute_not_exists(pk)"), "PutItem"),
                (raw.delete(KEY, where="attribute_exists(pk)"), "DeleteItem"),
            ):
                faults.add(Rule(Match(operation, nth=1), ApplyThenCut()))
                with pytest.raises(OutcomeUnknown):
                    await verb
            for statement, is_read in (
                ("UPDATE {table} SET m = 1 WHERE pk = ? AND sk = ?", False),
                ("SELECT sk FROM {table} WHERE pk = ? AND sk = ?", True),
            ):
                faults.add(Rule(Match("ExecuteStatement", nth=1), ApplyThenCut()))
                with nullcontext() if is_read else pytest.raises(OutcomeUnknown):
                    assert await raw.execute(statement, "a", "a") == [{"sk": "a"}]
            faults.add(Rule(Match("TransactWriteItems", nth=1), ApplyThenCut()))
            async with raw.transaction() as tx:
                tx.update({"pk": "a", "sk": "a"}, "ADD n :one", values={":one": 1})
            assert await raw.get({"pk": "a", "sk": "a"}, consistent=True) == {"pk": "a", "sk": "a", "n": 1, "m": 1}


async def test_an_engine_without_statements_says_so(kind: str) -> None:
    async with opened(kind) as shell:
        shell.port.traits = msgspec.structs.replace(shell.port.traits, lacks=frozenset({"statements"}))
        raw = raw_of(shell, "app")
        with Meter() as meter, pytest.raises(NotSupported, match="the engine has no statements"):
            await raw.execute("SELECT * FROM {table} WHERE pk = ?", "c")
        assert meter.requests == 0


async def test_a_table_whose_key_is_a_number_and_has_no_sort_key(shell: Shell) -> None:
    made = {
        "TableName": "readings",
        "KeySchema": [{"AttributeName": "at", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "at", "AttributeType": "N"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    await shell.run(shell.port.send(TableCall("CreateTable", made)))
    raw = raw_of(shell, "readings")
    items: list[dict[str, Any]] = [{"at": Decimal("0.1"), "v": 1}, {"at": 2, "v": 2}]
    await raw.write_many(puts=items)
    assert await raw.get_many([{"at": 2}, {"at": 0.1}]) == items[::-1]
    page = await raw.page(RawQuery(), limit=1)
    assert [*page, *(await raw.page(RawQuery(), after=page.cursor))] in (items, items[::-1])
    assert await raw.delete({"at": 0.1}) == items[0]


async def test_a_batch_has_one_write_of_an_item(shell: Shell, raw: AsyncRaw) -> None:
    """Refused before any is sent, also 25 writes apart; of a table by its name where a key shows its attributes."""
    others = [{"pk": f"p{number}", "sk": "s"} for number in range(30)]
    await raw.write_many(puts=others)
    by_name = raw_of(shell, "app")
    batches: tuple[tuple[AsyncRaw, list[dict[str, Any]], list[dict[str, Any]]], ...] = (
        (raw, [*others, {**others[0], "n": 1}], []),
        (raw, others, others[29:]),
        (by_name, others, others[29:]),
        (by_name, [], [*others, others[0]]),
    )
    for twice, puts, deletes in batches:
        with shell.meter() as meter, pytest.raises(InvalidRequest, match="two writes of the same item in one batch"):
            await twice.write_many(puts=puts, deletes=deletes)
        assert meter.requests == 0


@pytest.mark.parametrize(
    "puts", [[{"pk": ["a"], "sk": "s"}], [{"pk": {"a"}, "sk": "s"}], [{"pk": "a", "n": 1}, {"pk": "a"}]]
)
async def test_an_item_without_a_valid_key_is_refused_by_the_service(raw: AsyncRaw, puts: list[dict[str, Any]]) -> None:
    """None of them is taken for another one, and none is compared."""
    with pytest.raises(InvalidRequest, match="DynamoDB refused the request: ValidationException"):
        await raw.write_many(puts=puts)


async def test_an_iterator_is_sent_while_it_is_read(shell: Shell, raw: AsyncRaw) -> None:
    """As entities are; of a table by its name a key among the deletes shows its attributes, before puts are read."""
    items = [{"pk": f"p{number}", "sk": "s"} for number in range(450)]
    await raw.write_many(puts=items[:1])
    sent: list[int] = []

    def read() -> Iterator[dict[str, Any]]:
        for item in items:
            sent.append(meter.requests)
            yield item

    with shell.meter() as meter:
        await raw.write_many(puts=read())
    assert sent == [0] * 25 + [1] * 400 + [17] * 25
    assert (meter.requests, meter.round_trips) == (18, 3)
    with pytest.raises(InvalidRequest, match="two writes of the same item in one batch") as caught:
        await raw_of(shell, "app").write_many(puts=iter([{**items[0], "n": 1}]), deletes=iter([items[30], items[0]]))
    assert caught.value.__notes__ == ["write_many had read 3 of its iterator, and written 0 of them."]
    await raw_of(shell, "app").write_many(deletes=iter(items))
    assert await raw.get_many(items) == []
    await raw_of(shell, "app").write_many(puts=iter(items[:2]))
    assert await raw.get_many(items) == items[:2]
