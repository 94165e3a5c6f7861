"""A write that took effect says so, whatever is wrong with what it gives back: a caller who repeats it counts twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from singletable import Entity, Key, Unavailable, attr, field
from singletable.errors import Applied, Corrupt
from singletable.operations import GetItem
from tests.faults.actions import ApplyThenCut, Refuse
from tests.faults.rules import Match, Rule
from tests.rules.bench import Bench
from tests.rules.models import shop
from tests.support.raw import put_raw


class Sum(Entity, table=shop, type="sum"):
    """Needs an attribute that an item written by others may lack."""

    id: str
    owner: str
    count: int = 0

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"sum#{id}", "sum"


class Audited(Entity, table=shop, type="audited"):
    """As Sum; counts its writes, and has a rule of its own."""

    id: str
    owner: str
    text: str = ""
    revision: int = field(version=True, default=0)

    def __post_init__(self) -> None:
        if self.text == "wrong":
            raise RuntimeError("a rule of the class does not hold")

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"audited#{id}", "audited"


class Held(Entity, table=shop, type="held"):
    """As Sum; unique, so that its writes are transactions."""

    id: str
    owner: str
    name: str = field(unique=True)
    count: int = 0

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"held#{id}", "held"


PLUS = attr(Sum.count).add(1)
KEY = Sum.by_id("1")


async def place(bench: Bench, kind: Any = Sum, **more: Any) -> None:
    """An item without its owner."""
    model = kind.__model__
    item = {**model.key_item(kind.by_id("1")), "_type": {"S": model.type}, "_v": {"N": "1"}, "id": {"S": "1"}}
    await put_raw(bench.shell.port, kind, {**item, "count": {"N": "1"}, **more})


async def applied(verb: Callable[[], Awaitable[Any]]) -> Applied:
    with pytest.raises(Applied) as caught:
        await verb()
    error = caught.value
    assert "took effect" in str(error)
    assert "repeat" in str(error)
    assert error.table == "shop"
    assert error.key is not None
    assert error.operation is not None
    return error


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_an_update_of_what_lacks_an_attribute(bench: Bench, exactly_once: bool) -> None:
    await place(bench)
    error = await applied(lambda: bench.shell.update(KEY, PLUS, exactly_once=exactly_once))
    assert isinstance(error, Corrupt)
    assert error.attribute == "owner"
    assert error.item is not None
    assert (error.item["id"], error.item["count"]) == ("1", 2)
    item = await bench.raw(KEY)
    assert item is not None
    assert item["count"] == {"N": "2"}
    healed = await bench.shell.update(KEY, attr(Sum.owner).set("ada"), exactly_once=exactly_once)
    assert healed == Sum(id="1", owner="ada", count=2)


async def test_a_delete_of_what_lacks_an_attribute(bench: Bench) -> None:
    await place(bench)
    error = await applied(lambda: bench.shell.delete(KEY))
    assert error.item is not None
    assert error.item["count"] == 1
    assert await bench.raw(KEY) is None
    assert await bench.shell.delete(KEY) is None


async def test_an_upsert_of_what_lacks_an_attribute(bench: Bench) -> None:
    await place(bench)
    error = await applied(lambda: bench.shell.upsert(Sum(id="1", owner="ada"), PLUS))
    assert error.item is not None
    assert error.item["count"] == 2


@pytest.mark.parametrize("lost", [False, True])
async def test_a_class_whose_own_rule_refuses_what_was_written(bench: Bench, lost: bool) -> None:
    """Also where only the write id on the item tells that it was written."""
    await bench.shell.create(Audited(id="1", owner="ada"))
    if lost:
        bench.lose("UpdateItem", ApplyThenCut())
    error = await applied(lambda: bench.shell.update(Audited.by_id("1"), attr(Audited.text).set("wrong")))
    assert isinstance(error.__cause__, Corrupt)
    assert isinstance(error.__cause__.__cause__, RuntimeError)
    assert error.item is not None
    assert (error.item["text"], error.item["revision"]) == ("wrong", 2)
    error = await applied(lambda: bench.shell.delete(Audited.by_id("1")))
    assert error.item is not None
    assert error.item["text"] == "wrong"
    assert await bench.raw(Audited.by_id("1")) is None


async def test_a_transaction_whose_item_can_not_be_read_back(bench: Bench) -> None:
    await bench.shell.create(Sum(id="1", owner="ada"))
    bench.faults.add(Rule(Match("GetItem"), Refuse("ServiceUnavailable", status=503)))
    error = await applied(lambda: bench.shell.update(KEY, PLUS, exactly_once=True))
    assert error.item is None
    assert isinstance(error.__cause__, Unavailable)
    bench.faults.clear()
    assert await bench.shell.get(KEY) == Sum(id="1", owner="ada", count=1)


async def test_a_newer_program_writes_the_item_before_it_is_read_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older program can't read what it has changed; it is told that the change took effect."""
    await bench.shell.create(Sum(id="1", owner="ada"))
    send = bench.shell.port.send

    async def send_later(operation: Any, *rest: Any) -> Any:
        if isinstance(operation, GetItem):
            await place(bench, _v={"N": "2"}, count={"N": "11"})
        return await send(operation, *rest)

    monkeypatch.setattr(bench.shell.port, "send", send_later)
    error = await applied(lambda: bench.shell.update(KEY, PLUS, exactly_once=True))
    assert isinstance(error.__cause__, Corrupt)
    assert error.item is not None
    assert error.item["count"] == 11


async def test_nothing_is_written_where_the_item_is_read_first(bench: Bench) -> None:
    """Corrupt then comes before the write, and nothing says otherwise."""
    await place(bench, Held, name={"S": "n"})
    verbs: list[Callable[[], Awaitable[Any]]] = [
        lambda: bench.shell.update(Held.by_id("1"), attr(Held.name).set("m")),
        lambda: bench.shell.put(Held(id="1", owner="ada", name="m")),
        lambda: bench.shell.upsert(Held(id="1", owner="ada", name="m")),
        lambda: bench.shell.delete(Held.by_id("1")),
    ]
    for verb in verbs:
        before = await bench.raw(Held.by_id("1"))
        with pytest.raises(Corrupt) as caught:
            await verb()
        assert type(caught.value) is Corrupt
        assert await bench.raw(Held.by_id("1")) == before
    assert await bench.guards() == set()
