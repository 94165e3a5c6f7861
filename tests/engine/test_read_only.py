"""A foreign table that is read only: reads find its items, each write of its classes is refused before it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from singletable import ANY, Entity, Index, InvalidRequest, Key, Table, attr
from singletable.errors import DeclarationError
from singletable.records import flows
from tests.support.raw import all_items, put_raw
from tests.support.shells import Shell

shop = Table("looked-at", key=("PK", "SK"), indexes={"GSI1": Index("GPK", "GSK")}, foreign=True, read_only=True)


class Order(Entity, table=shop, type="order"):
    user: str
    number: int
    state: str = "open"

    @shop.key
    @staticmethod
    def of(user: str, number: int = ANY) -> Key:
        return f"USER#{user:raw}", f"ORDER#{number:raw}"

    @shop.index("GSI1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"STATE#{state:raw}", f"{number:raw}"


STORED: dict[str, Any] = {
    "PK": {"S": "USER#ada"},
    "SK": {"S": "ORDER#7"},
    "user": {"S": "ada"},
    "number": {"N": "7"},
    "state": {"S": "open"},
    "GPK": {"S": "STATE#stale"},
    "GSK": {"S": "7"},
}
ORDER = Order(user="ada", number=7)
KEY = Order.of("ada", 7)
WRITES: dict[str, Callable[[Shell], Awaitable[Any]]] = {
    "create": lambda shell: shell.create(Order(user="bob", number=1)),
    "put": lambda shell: shell.put(ORDER),
    "update": lambda shell: shell.update(KEY, attr(Order.state).set("paid")),
    "upsert": lambda shell: shell.upsert(ORDER, attr(Order.state).set("paid")),
    "delete": lambda shell: shell.delete(KEY),
    "write_many": lambda shell: shell.write_many(puts=[ORDER]),
}


@pytest.mark.parametrize("verb", WRITES)
async def test_each_write_is_refused_and_none_is_sent(shell: Shell, verb: str) -> None:
    await put_raw(shell.port, Order, STORED)
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="is refused: the table is read only"):
        await WRITES[verb](shell)
    assert meter.requests == 0
    assert await all_items(shell.port, "looked-at") == [STORED]


async def test_reads_find_what_is_there_and_a_repair_writes_nothing(shell: Shell) -> None:
    await put_raw(shell.port, Order, STORED)
    assert await shell.get(KEY) == ORDER
    assert await shell.all(Order.of("ada")) == [ORDER]
    (finding,) = await shell.check(shop)
    assert finding.code == "index-key.stale"
    (outcome,) = await shell.run(flows.repair(shell.port, shop, [finding]))
    assert outcome.outcome == "kept"
    assert await all_items(shell.port, "looked-at") == [STORED]


def test_a_table_of_ones_own_is_not_read_only() -> None:
    with pytest.raises(DeclarationError, match="read_only= is for a table that another program writes"):
        Table("own", read_only=True)
