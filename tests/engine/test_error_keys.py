"""An error of the service is told with the key that was asked for: its pattern and hash, in text, log and span."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import Entity, Key, Table, Unavailable, attr
from singletable.errors import NotConfigured, SingletableError
from singletable.events import RequestEnded
from singletable.otel.attributes import more_of_call
from singletable.wire import RetryPolicy
from tests.support.shells import KINDS, opened

table = Table("orders")


class Order(Entity, table=table, type="order"):
    customer: str
    count: int = 1

    @table.key
    @staticmethod
    def of_customer(customer: str) -> Key:
        return f"customer#{customer}", "order"


KEY = Order.of_customer("the-canary")
VERBS: dict[str, Any] = {
    "GetItem": lambda shell: shell.get(KEY),
    "PutItem": lambda shell: shell.put(Order(customer="the-canary")),
    "UpdateItem": lambda shell: shell.update(KEY, attr(Order.count).add(1)),
    "DeleteItem": lambda shell: shell.delete(KEY),
    "Query": lambda shell: shell.all(KEY),
}


async def refused(shell: Any, verb: str, kind: type[SingletableError]) -> SingletableError:
    with pytest.raises(kind) as caught:
        await VERBS[verb](shell)
    return caught.value


@pytest.mark.unscanned
@pytest.mark.parametrize("kind", KINDS)
async def test_keys_are_shown_where_the_program_says_so(kind: str) -> None:
    async with opened(kind, show_keys=True) as shell:
        shell.port.traits = replace(shell.port.traits, creates_tables=False)
        error = await refused(shell, "GetItem", NotConfigured)
    shown = "Order.of_customer customer#{customer} / order, 'customer#the-canary' 'order'"
    assert f"key {shown}" in str(error)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_missing_table_is_told_with_the_key(kind: str, verb: str) -> None:
    heard: list[Any] = []
    async with opened(kind, listeners=[heard.append]) as shell:
        shell.port.traits = replace(shell.port.traits, creates_tables=False)
        error = await refused(shell, verb, NotConfigured)
        expected = "" if verb == "Query" else shell.port.events.hash_of(*KEY.texts)
    assert "key Order.of_customer customer#{customer} / order" in str(error)
    assert (error.key_hash, f"hash {expected}" in str(error)) == (expected, verb != "Query")
    assert "the-canary" not in str(error)
    if verb != "Query":
        assert error.key.texts == KEY.texts
    ended = [event for event in heard if isinstance(event, RequestEnded)][-1]
    assert ended.key_hash == expected
    assert more_of_call(ended).get("singletable.key_hash", "") == expected


@pytest.mark.parametrize("verb", ["GetItem", "UpdateItem", "PutItem"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_that_gave_up_is_logged_with_the_hash(
    kind: str, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    retry = RetryPolicy(attempts=1)
    async with opened(kind, "http://127.0.0.1:1", retry=retry, region="eu-west-1") as shell:
        shell.port.traits = replace(shell.port.traits, creates_tables=False)
        error = await refused(shell, verb, Unavailable)
        hashed = shell.port.events.hash_of(*KEY.texts)
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert f"{verb} of orders (Order.of_customer, hash {hashed}) in " in record.getMessage()
    assert vars(record)["singletable_key_hash"] == error.key_hash == hashed


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_that_succeeds_has_no_hash(kind: str) -> None:
    heard: list[Any] = []
    async with opened(kind, listeners=[heard.append]) as shell:
        await shell.create_table(table)
        await shell.put(Order(customer="ada"))
    assert {event.key_hash for event in heard if isinstance(event, RequestEnded)} == {""}
